"""Percentiles that are read from the buckets of a histogram: what the width of a bucket hides.

Times are put into the engine's buckets and judged by the functions that judge real studies, with
what a bucket leaves open and, as a rule that was in use, without.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from tiltyard.analysis.quantity import log_width
from tiltyard.run.samples import BIN_WIDTH
from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import EQUIVALENT, FamilyRules, judge_family
from tiltyard.stats.sequential import Spending, looks
from tiltyard.stats.types import FloatArray

NOISES: Final = (0.001, 0.002, 0.005, 0.01, 0.03)
PLACES: Final = 16
"""Of the smaller time in its bucket."""
BLOCKS: Final = 20
_MARGIN: Final = float(np.log(1.02))
_FIRST_NS: Final = 2.0**20
_SPENDING: Final = Spending("standard", False, looks("standard", False, None))
_ALONE: Final = FamilyRules(_MARGIN, lambda p: p, 1.0, False, False, 0.2)
"""Nothing is corrected: each row is a study of its own."""


@dataclass(frozen=True)
class BinRates:
    """Times 2 % apart, wherever they lie in a bucket of 1/64, under one noise."""

    noise: float
    paths: int
    """At each place in the bucket."""
    misses: float
    """Intervals that do not hold the true ratio, at the worst place."""
    misses_as_exact: float
    """The same, were the times exact."""
    equivalent: float
    """Called equivalent within 2 %, at the worst place: at the margin itself at most 2.5 %."""
    equivalent_as_exact: float


def bin_rates(paths: int, seed: int) -> tuple[BinRates, ...]:
    """What is said of percentiles 2 % apart.

    Args:
        paths: comparisons at each place in the bucket.
        seed: the same seed gives the same rates.
    """
    streams = np.random.SeedSequence(seed).spawn(len(NOISES))
    return tuple(
        _rates(noise, paths, np.random.default_rng(stream))
        for noise, stream in zip(NOISES, streams, strict=True)
    )


def _rates(noise: float, paths: int, rng: np.random.Generator) -> BinRates:
    found = np.array([_at(place / PLACES, noise, paths, rng) for place in range(PLACES)])
    return BinRates(noise, paths, *found.max(axis=0).tolist())


def _at(place: float, noise: float, paths: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Misses with and without what a bucket leaves open, then what is called equivalent."""
    middle = np.log(_FIRST_NS * (1 + BIN_WIDTH * place)) + np.array([0.0, _MARGIN])
    times = np.exp(middle[:, np.newaxis, np.newaxis] + rng.normal(0, noise, (2, paths, BLOCKS)))
    first, second = np.log(_in_buckets(times))
    differences = second - first
    both = [
        judge_family(
            PairedBlocks(_SPENDING, differences, rounding=np.full(paths, width)), _ALONE, 0
        )
        for width in (log_width(BIN_WIDTH), 0.0)
    ]
    misses = [float(((own.low > _MARGIN) | (own.high < _MARGIN)).mean()) for own in both]
    return (*misses, *(float((own.outcome == EQUIVALENT).mean()) for own in both))


def _in_buckets(times_ns: FloatArray) -> FloatArray:
    """The upper edge of each one's bucket, as the engine reads a percentile."""
    width = BIN_WIDTH * 2.0 ** np.floor(np.log2(times_ns))
    edges: FloatArray = (np.floor(times_ns / width) + 1) * width - 1
    return edges


def _simulate(paths: int, seed: int) -> tuple[BinRates, ...]:
    """At each of sixteen places."""
    return bin_rates(max(1, paths // 20), seed)


def _told(found: tuple[BinRates, ...]) -> str:
    head = ("noise of a block, %", "intervals that miss, %", "were they exact, %",
            "called equivalent, %", "were they exact, %")  # fmt: skip
    rows = [
        (
            percent(one.noise),
            percent(one.misses),
            percent(one.misses_as_exact, 0),
            percent(one.equivalent),
            percent(one.equivalent_as_exact, 0),
        )
        for one in found
    ]
    return f"""
## Percentiles from a histogram

A percentile of single operations is known to its bucket, which is up to 1/64 wide: times that lie
in one bucket are one number. Two systems whose times are 2 % apart, at {PLACES} places in a bucket,
{found[0].paths} comparisons at each; the worst place counts:

{table(head, rows)}

What a bucket leaves open widens the interval of a ratio on both sides, by as much as one of the two
buckets is wide, whatever the number of blocks. So an equivalence within 2 % is hardly ever shown of
percentiles, and a difference is claimed where it is beyond a bucket.
"""


def _lines(found: tuple[BinRates, ...]) -> list[Line]:
    return [
        Line("percentiles from buckets: intervals that miss the true ratio, at the worst place",
             "≤ 5 %", span(one.misses for one in found)),
        Line("percentiles 2 % apart called equivalent within 2 %, at the worst place", "≤ 2.5 %",
             span(one.equivalent for one in found)),
        Line("percentiles from buckets, taken as exact: intervals that miss", "–",
             span(one.misses_as_exact for one in found), rival=True),
    ]  # fmt: skip


SECTION: Final = Section("bins", _simulate, _told, _lines)
