"""Everything that is simulated, and the document of it; each section tells its own findings."""

import re
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from simulation.section import Line, Section, percent, table
from simulation.sections import SECTIONS

PATHS: Final = 20_000
"""Comparisons of each kind in the full form: some minutes."""
SEED: Final = 20_261_120


@dataclass(frozen=True)
class Results:
    """What was simulated and what came out; all rates are shares between 0 and 1."""

    paths: int
    seed: int
    found: Mapping[str, Any]
    """By the name of the section."""


def simulate(paths: int = PATHS, seed: int = SEED, jobs: int = 1) -> Results:
    """Error rates of our designs and of the rules of others; the same seed gives the same results.

    Args:
        paths: comparisons of each kind; a section whose kind takes long makes fewer, and says so.
        seed: of every section; each has a stream of its own.
        jobs: sections that are simulated at the same time; no figure depends on it.
    """
    names = [section.name for section in SECTIONS]
    if jobs == 1:
        found = [_run(name, paths, seed) for name in names]
    else:
        with ProcessPoolExecutor(jobs) as pool:
            found = list(pool.map(_run, names, [paths] * len(names), [seed] * len(names)))
    return Results(paths, seed, dict(zip(names, found, strict=True)))


def _run(name: str, paths: int, seed: int) -> object:
    return next(one for one in SECTIONS if one.name == name).run(paths, seed)


def document(results: Results) -> str:
    """The document in Markdown; a function of the results and of nothing else."""
    told = [section.told(results.found[section.name]).strip() for section in SECTIONS]
    lines = [line for one in SECTIONS for line in one.lines(results.found[one.name])]
    ours, rivals = ([one for one in lines if one.rival is rival] for rival in (False, True))
    summary = table(
        ("", "held to", "here"), [(one.what, one.bound, one.here) for one in (*ours, *rivals)]
    )
    error = 2 * (0.05 * 0.95 / results.paths) ** 0.5
    head = f"""<!-- Written by `make error-rates`; do not edit. -->

# Error rates

How often is a comparison wrong? Simulation knows the truth, so it can tell. Each figure below
comes from {results.paths:,} comparisons of two systems on a host whose noise is known, judged by
the functions that judge real studies (seed {results.seed}); where there are fewer, it says so.
Shares near 5 % are known to ±{percent(error)} points.

## In one table

{summary}"""
    return "\n\n".join((head, *told, _END))


def renewed(text: str, section: Section[Any], paths: int, seed: int) -> str:
    """A document with one section simulated again: what a run of all makes of it, of this seed.

    Args:
        text: the document.
        section: one with a heading of its own.
        paths: as the others of the document were made, like the seed.
        seed: of the document.
    """
    found = section.run(paths, seed)
    told = section.told(found).strip()
    own = {line for line in told.splitlines() if line.startswith("## ")}
    head, *parts = re.split(r"\n\n(?=## )", text.rstrip())
    of_section = [place for place, part in enumerate(parts) if part.splitlines()[0] in own]
    first = of_section[0] if of_section else len(parts) - 1
    parts[first : first + len(of_section)] = [told]
    rows = head.splitlines()
    for rival in (False, True):
        lines = [line for line in section.lines(found) if line.rival is rival]
        rows = _with_lines(rows, [(f"| {line.what} |", line) for line in lines])
    return "\n\n".join(("\n".join(rows), *parts)) + "\n"


def _with_lines(rows: list[str], lines: list[tuple[str, Line]]) -> list[str]:
    """The summary with the lines of a section: where those are that it has already, or last."""
    places = [
        place for place, row in enumerate(rows) if any(row.startswith(what) for what, _ in lines)
    ]
    at = places[0] if places else len(rows)
    kept = [row for place, row in enumerate(rows) if place not in places]
    new = [f"{what} {line.bound} | {line.here} |" for what, line in lines]
    return [*kept[:at], *new, *kept[at:]]


_END: Final = """\
## What it does not say

A difference of 2 % under a noise of 10 % is a seventh of the deviation of one block: there hardly
anything is claimed, and of what is claimed a part has the wrong sign, as it must at a level of 5 %.

All of this is about systems that are *equal*, where ranks are exact whatever the noise, or that
differ by a shift. Systems of the same typical block but of another shape are no such case:
differences that are not symmetric have a pseudo-median of their own, and the claim is about that.
One that only has rare stalls more differs in its mean, and hardly in its typical block.

Simulation shows that the method does what it says under noise that somebody thought of. What your
host does is another question; `tiltyard calibrate` asks it there.

`make error-rates` writes this document again, in some minutes. The same seed gives the same
figures.
"""
