"""Equal systems in results that were not run here: false winners by law, shared noise and rounding.

A report has thirteen cells. The cells of one run share a part of its noise: the part of the
variance that is common to them is the correlation ρ. Judged is by the functions that judge real
imports; beside them stand two rules that were in use: cells taken as independent, and kept numbers
taken as exact.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.collected.evidence import (
    LEVEL,
    Evidence,
    Location,
    Replicates,
    of_pairs,
    of_replicates,
    together,
    unpaired,
)
from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Origin,
    PrintedAs,
    Reading,
)
from tiltyard.simulation.laws import LAWS
from tiltyard.simulation.scenarios import SCENARIOS
from tiltyard.stats.multiple import benjamini_hochberg
from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import Moments, moments, welch

CELLS: Final = 13
SHARED: Final = (0.0, 0.5, 0.9)
VALUES: Final[tuple[int, ...]] = (3, 5, 7, 10)
SUMMARISED: Final[tuple[int, ...]] = (3, 10)
"""Values behind a mean, where only means with errors are kept."""
PAIRS: Final[int] = 10
_INDEPENDENT: Final = tuple(
    scenario
    for scenario in SCENARIOS
    if scenario.name.startswith(("normal, CV 3", "bimodal", "stalls", "heavy"))
)
TWO_POINTS: Final = "two points and 1 %"

ROUNDED_CELLS: Final = 36
ROUNDED_VALUES: Final[tuple[int, ...]] = (3, 5, PAIRS)
CV: Final = 0.01
APART: Final = math.log(1.04)
"""Of the systems that are not equivalent within 2 %, on the log scale."""
_WHOLE: Final = PrintedAs(unit="/s", factor=1, decimals=0)

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]


@dataclass(frozen=True)
class SharedRates:
    """Equal systems under one law and one correlation: shares of headlines that name a winner."""

    law: str
    shared: float
    """ρ."""
    values: dict[int, float]
    """Values of each side → share."""
    paired: float
    """Of ten blocks."""
    summarised: dict[int, float]
    """The same where only means and errors were kept."""
    as_independent: dict[int, float]
    """The same values, with the cells taken as independent."""


@dataclass(frozen=True)
class RoundedRates:
    """Whole numbers from 20 to 50 under a noise of 1 %, in 36 cells."""

    values: int
    paired: bool
    as_exact: float
    """Equal systems: reports with any false claim, were the numbers exact (Welch)."""
    false: float
    """The same by the functions of imports."""
    equivalent: float
    """Systems 4 % apart: cells that are called equivalent within 2 %."""


def draws() -> dict[str, Draw]:
    """The laws of single values, each as log values of any shape."""

    def of(slots: Callable[[np.random.Generator, int], FloatArray]) -> Draw:
        def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
            size = math.prod(shape)
            columns = slots(rng, 1).shape[1]
            return slots(rng, -(-size // columns)).ravel()[:size].reshape(shape)

        return draw

    found: dict[str, Draw] = {one.name: of(one.draw) for one in _INDEPENDENT}
    points = LAWS[TWO_POINTS]
    found[TWO_POINTS] = lambda rng, shape: 0.05 * points(rng, (1, math.prod(shape))).reshape(shape)
    return found


def shared_rates(paths: int, seed: int) -> tuple[SharedRates, ...]:
    """False winners of the headline over all cells.

    Args:
        paths: reports of each kind; a fourth of that where only means are kept.
        seed: the same seed gives the same rates.
    """
    laws = [(law, draw, shared) for law, draw in draws().items() for shared in SHARED]
    streams = np.random.SeedSequence(seed).spawn(len(laws))
    return tuple(
        _of_law(law, draw, shared, paths, np.random.default_rng(stream))
        for (law, draw, shared), stream in zip(laws, streams, strict=True)
    )


def runs(
    rng: np.random.Generator, draw: Draw, shared: float, reports: int, n: int
) -> tuple[FloatArray, FloatArray]:
    """Log values of two equal systems, each of shape (reports, cells, n)."""

    def side() -> FloatArray:
        common, own = draw(rng, (reports, 1, n)), draw(rng, (reports, CELLS, n))
        return math.sqrt(shared) * common + math.sqrt(1 - shared) * own

    return side(), side()


def _of_law(
    law: str, draw: Draw, shared: float, paths: int, rng: np.random.Generator
) -> SharedRates:
    values, summarised, as_independent = {}, {}, {}
    for n in VALUES:
        sides = runs(rng, draw, shared, paths, n)
        values[n] = _winners(unpaired(list(zip(*map(_averaged, sides), strict=True))))
        as_independent[n] = _as_independent(*sides)
        if n in SUMMARISED:
            few = (side[: max(1, paths // 4)] for side in sides)
            summarised[n] = _winners(unpaired(list(zip(*map(_summarised, few), strict=True))))
    first, second = runs(rng, draw, shared, paths, PAIRS)
    exact = np.zeros(PAIRS)
    paired = _winners([of_pairs(row, exact) for row in (first - second).mean(axis=1)])
    return SharedRates(law, shared, values, paired, summarised, as_independent)


def _winners(found: list[Evidence]) -> float:
    return float(np.mean([one.p is not None and one.p <= LEVEL for one in found]))


def _averaged(side: FloatArray) -> list[Location]:
    """Cells averaged within each replicate; one location a report."""
    exact = np.zeros(side.shape[2])
    return [of_replicates(Replicates(row, exact)) for row in side.mean(axis=1)]


def _summarised(side: FloatArray) -> list[Location]:
    """Every cell's mean and error, and the bound for full dependence; one location a report."""
    n = side.shape[2]
    means, errors = side.mean(axis=2), side.std(axis=2, ddof=1) / math.sqrt(n)
    return [
        together([Location(mean, error, n) for mean, error in zip(*row, strict=True)])
        for row in zip(means.tolist(), errors.tolist(), strict=True)
    ]


def _as_independent(first: FloatArray, second: FloatArray) -> float:
    """Share of winners if the variance of the mean were that of independent cells."""

    def whole(side: FloatArray) -> Moments:
        n = np.full(len(side), float(side.shape[2]))
        variance = side.var(axis=2, ddof=1).mean(axis=1) / CELLS
        return Moments(n, side.mean(axis=(1, 2)), variance)

    return float(np.mean(welch(whole(first), whole(second)).p <= LEVEL))


def rounded_rates(reports: int, seed: int) -> tuple[RoundedRates, ...]:
    """Whole reports of numbers without decimals.

    Args:
        reports: of each kind.
        seed: the same seed gives the same rates.
    """
    streams = np.random.SeedSequence(seed).spawn(len(ROUNDED_VALUES))
    return tuple(
        _rounded(n, n >= PAIRS, reports, np.random.default_rng(stream))
        for n, stream in zip(ROUNDED_VALUES, streams, strict=True)
    )


def _rounded(n: int, blocks: bool, reports: int, rng: np.random.Generator) -> RoundedRates:
    exact = false = equivalent = 0
    for _ in range(reports):
        first, second = _whole_numbers(rng, n, 0.0)
        p_values = welch(moments(np.log(first)), moments(np.log(second))).p
        exact += bool((benjamini_hochberg(p_values) <= LEVEL).any())
        false += any(one in ("faster", "slower") for one in _verdicts(first, second, blocks))
        apart = _verdicts(*_whole_numbers(rng, n, APART), blocks)
        equivalent += sum(one == "equivalent" for one in apart)
    return RoundedRates(
        n, blocks, exact / reports, false / reports, equivalent / (reports * ROUNDED_CELLS)
    )


def _whole_numbers(rng: np.random.Generator, n: int, apart: float) -> tuple[FloatArray, FloatArray]:
    """Two systems, each of shape (cells, n)."""
    level = rng.uniform(20, 50, (ROUNDED_CELLS, 1))
    noise = rng.normal(0, CV, (2, ROUNDED_CELLS, n))
    noise[1] += apart
    first, second = np.round(level * np.exp(noise))
    return first, second


def _verdicts(first: FloatArray, second: FloatArray, blocks: bool) -> list[str]:
    """Of every cell of a report."""
    names = ("a", "b")
    metric = CollectedMetric(
        name="rate", label="rate", unit="1/s", direction="higher", printed=_WHOLE
    )
    readings = tuple(
        Reading(
            metric="rate",
            system=name,
            at={"cell": cell},
            values=tuple(row),
            blocks=tuple(range(1, len(row) + 1)) if blocks else (),
        )
        for name, side in zip(names, (first, second), strict=True)
        for cell, row in enumerate(side.tolist())
    )
    found = analyse_collection(
        Collection(
            question="Which is faster?",
            origin=Origin(title="A simulation"),
            systems=tuple(CollectedSystem(name=name, levels={"system": name}) for name in names),
            baseline="a",
            workloads=(
                CollectedWorkload(
                    name="w", use="w", grid=("cell",), metrics=(metric,), readings=readings
                ),
            ),
        )
    )
    return [one.comparisons[0].verdict for one in found.workloads[0].cells]
