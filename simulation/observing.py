"""What is said of the order of blocks, where it means nothing and noise lasts from one to the next.

Series are stationary: an autoregression, each block a share of the one before and noise. Nothing
moves in them, so each step, drift or growth of noise that is told is false.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from tiltyard.analysis.statements.evidence import ALPHA
from tiltyard.analysis.statements.notices import NOISE_LEVEL, growth
from tiltyard.analysis.statements.over_time import Series, drift_in, step_in
from tiltyard.stats.permutation import largest_cusum, permutation_p
from tiltyard.stats.trend import trend
from tiltyard.stats.types import FloatArray

BLOCKS: Final = (12, 20, 40)
MEMORIES: Final = (0.0, 0.3, 0.5, 0.8, 0.9)
SHARE: Final = 80
"""One series for so many comparisons of other sections."""
NOISE: Final = 0.05
"""Standard deviation of a block, on the log scale; of a planted step or drift a fifth of that."""
STEP: Final = 0.05
GROWTH: Final = 10.0


@dataclass(frozen=True)
class Told:
    """Shares of series in which each is told: a step, a drift, noise that grew or shrank."""

    blocks: int
    memory: float
    told: tuple[float, float, float]
    by_order: tuple[float, float, float]
    """By permutation of blocks alone, as if all their orders were equally likely."""


@dataclass(frozen=True)
class Observed:
    """What came out."""

    series: int
    """Of each kind."""
    still: tuple[Told, ...]
    planted: dict[int, tuple[float, float, float]]
    """Blocks → the same where there is a step of 5 %, a drift of 5 % (at 1 % noise, without
    memory), and where noise grows tenfold."""


def observed(paths: int, seed: int) -> Observed:
    """Every length and memory.

    Args:
        paths: an eightieth of it are the series of each kind.
        seed: the same seed gives the same rates.
    """
    rng, series = np.random.default_rng(seed), max(2, paths // SHARE)
    still = []
    for blocks in BLOCKS:
        for memory in MEMORIES:
            rows = NOISE * lasting(rng, memory, (series, blocks))
            by_order, told = np.mean([_of(row) for row in rows], axis=0)
            still.append(Told(blocks, memory, tuple(told.tolist()), tuple(by_order.tolist())))
    return Observed(series, tuple(still), {n: _planted(rng, series, n) for n in BLOCKS})


def lasting(rng: np.random.Generator, memory: float, shape: tuple[int, int]) -> FloatArray:
    """Normal series of deviation 1, stationary from the first block on; shape (series, blocks)."""
    found = rng.normal(size=shape)
    found[:, 1:] *= (1 - memory**2) ** 0.5
    for block in range(1, shape[1]):
        found[:, block] += memory * found[:, block - 1]
    return found


def _of(values: FloatArray) -> tuple[list[bool], list[bool]]:
    """By permutation alone, and as told: step, drift, growth of noise."""
    slots = np.arange(len(values), dtype=np.float64)
    series = Series(slots, values, 2 * len(values), len(values), ("a", "b"), ())
    sizes = np.abs(values - np.median(values))
    drift, grown = drift_in("a", series), growth(slots, sizes)
    step, at_random = step_in("a", series, 0), trend(slots, sizes)
    alone = permutation_p(largest_cusum, values, seed=0)
    return (
        [
            alone < ALPHA,
            drift is not None and drift.p < ALPHA,
            at_random is not None and at_random.p < NOISE_LEVEL,
        ],
        [
            step.claim is not None,
            drift is not None and drift.claim is not None,
            grown is not None and grown[1] < NOISE_LEVEL,
        ],
    )


def _planted(rng: np.random.Generator, series: int, blocks: int) -> tuple[float, float, float]:
    noise = rng.normal(0, NOISE / 5, (series, blocks))
    after = np.arange(blocks) >= blocks // 2
    made: tuple[Callable[[FloatArray], FloatArray], ...] = (
        lambda rows: rows + STEP * after,
        lambda rows: rows + STEP * np.linspace(0, 1, blocks),
        lambda rows: rows * np.geomspace(1, GROWTH, blocks),
    )
    step, drift, growing = (
        float(np.mean([_of(row)[1][place] for row in plant(noise)]))
        for place, plant in enumerate(made)
    )
    return step, drift, growing


_KINDS: Final = ("step", "drift", "noise")


def _told(found: Observed) -> str:
    still = [
        (
            f"{one.blocks} blocks, autocorrelation {one.memory:g}",
            *(
                percent(share)
                for pair in zip(one.by_order, one.told, strict=True)
                for share in pair
            ),
        )
        for one in found.still
    ]
    head = [f"{kind}{how}" for kind in _KINDS for how in (", by permutation alone", "")]
    planted = [
        (f"{blocks} blocks", *map(percent, shares)) for blocks, shares in found.planted.items()
    ]
    return f"""
## What is said of the order

A session says of its blocks that there was a step, that values drifted, and that the noise grew or
shrank. In {found.series:,} stationary series of each kind nothing of it is true, and it says so in
so many (%; before the correction over all findings of a report, which can only make it fewer).
Beside it what a permutation of the blocks alone would say, as if noise did not last:

{table(("stationary series", *head), still)}

And where it is true, at a noise of 1 % (growth: tenfold over the session):

{table(("", "step of 5 %", "drift of 5 %", "noise grows"), planted)}
"""


def _lines(found: Observed) -> list[Line]:
    alone = [share for one in found.still if one.memory for share in one.by_order]
    kinds = zip(_KINDS, zip(*(one.told for one in found.still), strict=True), strict=True)
    said = {"step": "a step", "drift": "a drift", "noise": "noise that grew or shrank"}
    return [
        *(
            Line(f"Stationary blocks, autocorrelation 0–0.9: {said[kind]} told", "5 %", span(own))
            for kind, own in kinds
        ),
        Line("The same by permutation of blocks alone, 0.3–0.9", "–", span(alone), rival=True),
    ]


SECTION: Final = Section("observing", observed, _told, _lines)
