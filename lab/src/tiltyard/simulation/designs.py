"""Our designs on many paths at once: at which look each comparison stops, and what it says.

Intervals move with the data: those of ``differences + effect`` are those of ``differences``, moved
by the effect. So the bounds at the looks are computed once a scenario, by the functions that judge
real studies, and read for every effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.confidence_sequence import confidence_sequence
from tiltyard.stats.sequential import LOOKS, STRICT_LOOKS, Looks
from tiltyard.stats.signed_rank import signed_ranks
from tiltyard.stats.types import BoolArray, FloatArray, IntArray

FAST_BLOCKS: Final = 5
FAST_CRITICAL: Final = 4.604
"""Student's t with 4 degrees of freedom at a two-sided level of 1 %."""
FAST_LOOKS: Final[Looks] = ((8, 1), (12, 9), (18, 33))
"""The looks of the fast profile after its first one, which rests on normal noise."""


@dataclass(frozen=True)
class Bounds:
    """Intervals of A/A comparisons at their looks, on the log scale."""

    blocks: IntArray
    """Shape (looks,)."""
    low: FloatArray
    """Shape (paths, looks)."""
    high: FloatArray


@dataclass(frozen=True)
class Outcome:
    """How comparisons ended, each of shape (paths,)."""

    claim: IntArray
    """1: the second system was called faster; −1: slower; 0: no difference was claimed."""
    equivalent: BoolArray
    covered: BoolArray
    """Whether the interval at stopping holds the truth."""
    blocks: FloatArray
    """Trials of each system."""


@dataclass(frozen=True)
class Design:
    """A way to stop and to judge."""

    name: str
    bounds: Callable[[FloatArray], Bounds]
    """From the paired differences of equal systems, shape (paths, 30 blocks)."""


def rank_bounds(looks: Looks) -> Callable[[FloatArray], Bounds]:
    """Signed-rank intervals at fixed looks."""

    def bounds(differences: FloatArray) -> Bounds:
        found = [signed_ranks(differences[:, :n], c) for n, c in looks]
        return Bounds(
            np.array([n for n, _ in looks]),
            np.stack([one.low for one in found], axis=1),
            np.stack([one.high for one in found], axis=1),
        )

    return bounds


def fast_bounds(differences: FloatArray) -> Bounds:
    """Student's t at five blocks, then signed ranks."""
    first = differences[:, :FAST_BLOCKS]
    mean = first.mean(axis=1, keepdims=True)
    reach = FAST_CRITICAL * first.std(axis=1, ddof=1, keepdims=True) / np.sqrt(FAST_BLOCKS)
    later = rank_bounds(FAST_LOOKS)(differences)
    return Bounds(
        np.array([FAST_BLOCKS, *later.blocks]),
        np.hstack([mean - reach, later.low]),
        np.hstack([mean + reach, later.high]),
    )


def watching_bounds(differences: FloatArray) -> Bounds:
    """Lai's confidence sequence, looked at after every block from the fifth on."""
    found = confidence_sequence(differences)
    return Bounds(found.blocks, found.low, found.high)


STANDARD: Final = Design("standard", rank_bounds(LOOKS["standard"]))
STRICT: Final = Design("standard, strict", rank_bounds(STRICT_LOOKS["standard"]))
DESIGNS: Final = (
    Design("quick", rank_bounds(LOOKS["quick"])),
    Design("fast", fast_bounds),
    STANDARD,
    STRICT,
    Design("rigorous", rank_bounds(LOOKS["rigorous"])),
    Design("every block from the 5th (Lai)", watching_bounds),
)
"""In the order of the tables."""


def outcome(bounds: Bounds, effect: float, rope: float) -> Outcome:
    """What becomes of comparisons whose true log ratio is ``effect``.

    Each stops at the first look whose interval lies within ``±rope`` (equivalent) or excludes zero
    (a difference), else at the last.
    """
    low, high = bounds.low + effect, bounds.high + effect
    inside = (low > -rope) & (high < rope)
    done = inside | (low > 0) | (high < 0)
    done[:, -1] = True
    look = np.argmax(done, axis=1)
    at = np.arange(len(look)), look
    claim = np.where(inside[at], 0, (low[at] > 0).astype(np.int64) - (high[at] < 0))
    covered = (low[at] <= effect) & (effect <= high[at])
    return Outcome(claim, inside[at], covered, bounds.blocks[look].astype(np.float64))
