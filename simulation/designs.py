"""Our designs on many paths at once: at which look each comparison stops, and what it says.

Intervals move with the data: those of ``differences + effect`` are those of ``differences``, moved
by the effect. So the bounds at the looks are computed once a scenario, by the functions that judge
real studies, and read for every effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.confidence_sequence import confidence_sequence
from tiltyard.stats.looks import looks
from tiltyard.stats.sequential import Spending
from tiltyard.stats.types import BoolArray, FloatArray, IntArray


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


def bounds_of(profile: str, strict: bool = False) -> Callable[[FloatArray], Bounds]:
    """The repeated intervals of a profile."""
    spending = Spending(profile, strict, looks(profile, strict, None))

    def bounds(differences: FloatArray) -> Bounds:
        found = [
            spending.evidence(place, differences[:, :n])
            for place, (n, _) in enumerate(spending.looks)
        ]
        return Bounds(
            np.array([n for n, _ in spending.looks]),
            np.stack([one.low for one in found], axis=1),
            np.stack([one.high for one in found], axis=1),
        )

    return bounds


def watching_bounds(differences: FloatArray) -> Bounds:
    """Lai's confidence sequence, looked at after every block from the fifth on."""
    found = confidence_sequence(differences)
    return Bounds(found.blocks, found.low, found.high)


STANDARD: Final = Design("standard", bounds_of("standard"))
STRICT: Final = Design("standard, strict", bounds_of("standard", strict=True))
DESIGNS: Final = (
    Design("quick", bounds_of("quick")),
    Design("fast, retired", bounds_of("fast")),
    STANDARD,
    STRICT,
    Design("rigorous", bounds_of("rigorous")),
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
