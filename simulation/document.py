"""Everything that is simulated, and the document of it; each section tells its own findings."""

import re
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from simulation.section import percent, table
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


def with_section(written: str, name: str, paths: int = PATHS, seed: int = SEED) -> str:
    """A document in which one section is simulated again, or for the first time.

    All other lines are those that were written. Which they are is seen from a document of few
    comparisons, which has the same lines but for the figures.

    Args:
        written: the document.
        name: of the section.
        paths: comparisons of each kind in that section.
        seed: as :func:`simulate` takes it.

    Raises:
        ValueError: if another section is not in the document as it is told now.
    """
    few = simulate(_FEW, seed)
    section = next(one for one in SECTIONS if one.name == name)
    found = section.run(paths, seed)
    rows = {line.what: line for line in section.lines(found)}
    old = iter(written.splitlines())

    def kept(line: str) -> str:
        """The line as it was written, or a row of the summary as it is now."""
        if row := rows.get(line.strip("| ").partition(" | ")[0]):
            return f"| {row.what} | {row.bound} | {row.here} |"
        masked = _FIGURE.sub("#", line)
        for each in old if line else ():
            if _FIGURE.sub("#", each) == masked:
                return each
        if line:
            raise ValueError(f"not in the document: {line}")
        return ""

    before, _, after = document(few).partition(section.told(few.found[name]).strip())
    parts = ("\n".join(map(kept, part.split("\n"))) for part in (before, after))
    return section.told(found).strip().join(parts)


_FEW: Final = 200
"""Comparisons: with fewer some shares are of nothing."""
_FIGURE: Final = re.compile(r"\d[\d,.]*")
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
