"""Equal systems in results that were not run here: false positives by law and shared noise.

A report has thirteen cells. The cells of one run share a part of its noise: the part of the
variance that is common to them is the correlation ρ. Judged is by the functions that judge real
imports; beside them stands a rule that was in use: cells taken as independent.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.laws import LAWS
from simulation.scenarios import SCENARIOS
from simulation.section import Line, Section, percent, span, table
from tiltyard.analysis.dataset import Replicates, Sample, together
from tiltyard.analysis.estimators import LEVEL, Evidence, of_pairs, unpaired
from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import Moments, welch

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

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]


@dataclass(frozen=True)
class SharedRates:
    """Equal systems under one law and one correlation: shares of headlines that name a winner."""

    reports: int
    """Of each kind; a fourth of that where only means are kept."""
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
    return SharedRates(paths, law, shared, values, paired, summarised, as_independent)


def _winners(found: list[Evidence]) -> float:
    return float(np.mean([one.p is not None and one.p <= LEVEL for one in found]))


def _averaged(side: FloatArray) -> list[Sample]:
    """Cells averaged within each replicate; one sample a report."""
    exact = np.zeros(side.shape[2])
    return [Sample.of(Replicates(row, exact)) for row in side.mean(axis=1)]


def _summarised(side: FloatArray) -> list[Sample]:
    """Every cell's mean and error, and the bound for full dependence; one sample a report."""
    n = side.shape[2]
    means, errors = side.mean(axis=2), side.std(axis=2, ddof=1) / math.sqrt(n)
    return [
        together([Sample(mean, error, n) for mean, error in zip(*row, strict=True)])
        for row in zip(means.tolist(), errors.tolist(), strict=True)
    ]


def _as_independent(first: FloatArray, second: FloatArray) -> float:
    """Share of winners if the variance of the mean were that of independent cells."""

    def whole(side: FloatArray) -> Moments:
        n = np.full(len(side), float(side.shape[2]))
        variance = side.var(axis=2, ddof=1).mean(axis=1) / CELLS
        return Moments(n, side.mean(axis=(1, 2)), variance)

    return float(np.mean(welch(whole(first), whole(second)).p <= LEVEL))


def _simulate(paths: int, seed: int) -> tuple[SharedRates, ...]:
    return shared_rates(max(1, paths // 10), seed)


def _lines(found: tuple[SharedRates, ...]) -> list[Line]:
    shares = [
        share
        for one in found
        for share in (*one.values.values(), *one.summarised.values(), one.paired)
    ]
    what = "imports of equal systems whose headline names a winner, over all laws and ρ"
    return [Line(what, "6.5 %", span(shares))]


def _told(found: tuple[SharedRates, ...]) -> str:
    first = found[0]
    head = (
        "values of each side",
        "ρ",
        *(f"{n} values" for n in first.values),
        f"{PAIRS} paired",
        *(f"{n}, means only" for n in first.summarised),
        *(f"{n}, cells taken as independent" for n in first.as_independent),
    )
    rows = [
        (
            one.law,
            f"{one.shared:g}",
            *map(percent, one.values.values()),
            percent(one.paired),
            *map(percent, one.summarised.values()),
            *(percent(share, 0) for share in one.as_independent.values()),
        )
        for one in found
    ]
    return f"""
## Results of other tools

Imports of equal systems: thirteen cells, a part ρ of the variance shared by the cells of a run.
Share of headlines that name a winner, %; each of {first.reports} reports (of means only: a fourth
of that).

{table(head, rows)}

A headline averages the cells within each run first and judges those few means: by Welch's t, or by
signed ranks where runs are paired. Where only means and errors are kept, the errors of the cells
are taken as fully dependent, which costs power where they are not. Cells taken as independent
count one run thirteen times.

Welch's t assumes normal means, and the law of two equal modes is the worst for it: with 5–7 values
of each side it claims a little more than 5 %. Two values of each side decide nothing: of such a
law they would lie apart by chance in one of eight comparisons. Of unequally many values the error
is not taken below that of pooled variances; three values against ten would otherwise name a winner
in up to a fifth of comparisons.
"""


SECTION: Final = Section("imports", _simulate, _told, _lines)
