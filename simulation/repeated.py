"""Equal programs whose result files repeat themselves: how many name a winner?

A file holds ten repetitions: of one process, which has a layout of its own, or of ten processes one
after the other, while the host drifts, wanders or takes a step. Each report goes the way of every
import: read is what a reader hands on, then comes what makes a collection of files, then the
analysis. Beside it stand repetitions that are taken as independent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from tiltyard.analysis.collected import analyse_collection
from tiltyard.importers.assemble import ImportOptions, ReadFile, assemble
from tiltyard.importers.importer import Measured, single
from tiltyard.importers.quantities import SECONDS, metric
from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import moments, welch

LEVEL: Final = 0.05
REPETITIONS: Final = 10
FILES: Final = (1, 3, 5, 10)
PAIRED: Final = 10
_TIME: Final = (metric("time", SECONDS, None),)

Draw = Callable[[np.random.Generator, int], FloatArray]


def _layout(sd: float) -> Draw:
    """What a process has by its layout, and a noise of 1 % of each repetition."""

    def draw(rng: np.random.Generator, files: int) -> FloatArray:
        own = rng.normal(0, sd, (files, 1))
        return np.asarray(own + rng.normal(0, 0.01, (files, REPETITIONS)))

    return draw


def _wander(rng: np.random.Generator, files: int) -> FloatArray:
    noise = rng.normal(0, 1, files * REPETITIONS)
    for place in range(1, len(noise)):
        noise[place] = 0.9 * noise[place - 1] + np.sqrt(1 - 0.9**2) * noise[place]
    return np.asarray(0.03 * noise.reshape(files, REPETITIONS))


def _drift(rng: np.random.Generator, files: int) -> FloatArray:
    runs = files * REPETITIONS
    return np.asarray(
        (0.002 * np.arange(runs) + rng.normal(0, 0.01, runs)).reshape(files, REPETITIONS)
    )


def _step(rng: np.random.Generator, files: int) -> FloatArray:
    runs = files * REPETITIONS
    stepped = 0.05 * (np.arange(runs) >= rng.integers(1, runs))
    return np.asarray((stepped + rng.normal(0, 0.01, runs)).reshape(files, REPETITIONS))


LAWS: Final[dict[str, Draw]] = {
    "layout of a process, 0.5 %": _layout(0.005),
    "layout of a process, 1 %": _layout(0.01),
    "layout of a process, 2 %": _layout(0.02),
    "wander, AR(1) 3 %": _wander,
    "drift, 0.2 % each run": _drift,
    "one step of 5 %": _step,
}


@dataclass(frozen=True)
class RepeatedRates:
    """Equal programs under one law: shares of reports that name a winner."""

    reports: int
    """Of each kind."""
    law: str
    files: dict[int, float]
    """Files of each side → share; the two sides took turns, the first of each by lot."""
    paired: float
    """Of ten rounds, in the order given."""
    as_independent: dict[int, float]
    """Files of each side → the same with all repetitions taken as independent, by Welch's t."""


def repeated_rates(paths: int, seed: int) -> tuple[RepeatedRates, ...]:
    """False winners of reports of two equal programs.

    Args:
        paths: reports of each kind.
        seed: the same seed gives the same rates.
    """
    rng = np.random.default_rng(seed)
    return tuple(_of_law(rng, law, draw, paths) for law, draw in LAWS.items())


def _of_law(rng: np.random.Generator, law: str, draw: Draw, paths: int) -> RepeatedRates:
    files, as_independent = {}, {}
    for n in FILES:
        sides = [_sides(rng, draw, n) for _ in range(paths)]
        files[n] = float(np.mean([names_a_winner(*one, ImportOptions()) for one in sides]))
        first, second = (np.array([own[side].ravel() for own in sides]) for side in (0, 1))
        as_independent[n] = float(np.mean(welch(moments(first), moments(second)).p <= LEVEL))
    rounds = (_sides(rng, draw, PAIRED) for _ in range(paths))
    in_order = ImportOptions(order_given=True)
    paired = float(np.mean([names_a_winner(*one, in_order) for one in rounds]))
    return RepeatedRates(paths, law, files, paired, as_independent)


def _sides(rng: np.random.Generator, draw: Draw, files: int) -> tuple[FloatArray, FloatArray]:
    """Logarithms, each of shape (files, repetitions); who is first in a round is drawn."""
    rounds = draw(rng, 2 * files).reshape(files, 2, REPETITIONS)
    first = rng.integers(0, 2, files)
    at = np.arange(files)
    return rounds[at, first], rounds[at, 1 - first]


def names_a_winner(first: FloatArray, second: FloatArray, options: ImportOptions) -> bool:
    """Whether the report on two systems does, each row being the logarithms of one file."""
    files = [
        ReadFile(name, name.encode(), name[0], "any", single("any", _TIME, (measured,)))
        for place, pair in enumerate(zip(np.exp(first), np.exp(second), strict=True))
        for name, row in zip((f"a{place}", f"b{place}"), pair, strict=True)
        for measured in (Measured("time", values=tuple(row.tolist())),)
    ]
    (workload,) = analyse_collection(assemble(files, options)).workloads
    return any(pair.verdict in ("faster", "slower") for pair in workload.index.comparisons)


def _simulate(paths: int, seed: int) -> tuple[RepeatedRates, ...]:
    return repeated_rates(max(1, paths // 50), seed)


def _lines(found: tuple[RepeatedRates, ...]) -> tuple[Line, ...]:
    here = [share for one in found for share in (*one.files.values(), one.paired)]
    theirs = [share for one in found for share in one.as_independent.values()]
    what = "equal programs whose files repeat themselves"
    return (
        Line(f"{what}: a winner is named", "6.5 %", span(here)),
        Line(f"{what}, repetitions taken as independent", "–", span(theirs), rival=True),
    )


def _told(found: tuple[RepeatedRates, ...]) -> str:
    first = found[0]
    head = (
        "what repetitions share",
        *(f"{n} a side" for n in first.files),
        f"{PAIRED} rounds",
        *(f"{n} a side, as independent" for n in first.as_independent),
    )
    rows = [
        (
            one.law,
            *map(percent, one.files.values()),
            percent(one.paired),
            *(percent(share, 0) for share in one.as_independent.values()),
        )
        for one in found
    ]
    return f"""
## Repetitions in one file

Two equal programs, {REPETITIONS} repetitions in each file: `go test -count`, repetitions of Google
Benchmark, runs of hyperfine, forks of JMH, workers of pyperf. Share of reports that name a winner,
%, of {first.reports} reports each, by the number of files; the two took turns, and who was first in
a round was drawn by lot:

{table(head, rows)}

Repetitions of one process share its layout in memory, and runs one after the other the host as it
was just then; taken as independent they are sure of that, and more of them are surer. So what a
file repeats is one value. One file a side decides nothing, and nothing else could be told from it.

Files of one program, then those of the other, are one sequence a side again, and a drift between
them is a difference: no count of files helps. Only who made them knows; the report says so.
"""


SECTION: Final = Section("repeated", _simulate, _told, _lines)
