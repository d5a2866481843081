"""A long series of paired blocks, cut into comparisons that stop by the standard rules.

Blocks are drawn independently, so pieces of one series are as independent as studies of their own;
and a comparison that stops at a look is its first blocks, whatever was measured after.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tiltyard.stats.planning import FOUND_HALF_WIDTHS
from tiltyard.stats.sequential import looks
from tiltyard.stats.signed_rank import SignedRank, largest_c, signed_rank
from tiltyard.stats.types import FloatArray

LOOKS: Final = looks("standard", strict=False, blocks=None)
EACH: Final = LOOKS[-1][0]
"""Blocks of one comparison."""
RARE: Final = 0.025
"""A sound instrument fails a check of counts in this share of calibrations at most (C4, C7)."""
_UNIFORM_FROM: Final = 5
"""P-values that a Kolmogorov–Smirnov test needs to mean anything."""


@dataclass(frozen=True)
class Compared:
    """One comparison of two systems on the log scale, stopped at the first look that decides."""

    verdict: Literal["less", "more", "equivalent", "undecided"]
    """What the values of the first system are, relative to those of the second."""
    found: SignedRank
    """At the look at which it stopped."""
    c: int
    """Walsh averages that its interval cuts off at either end."""
    whole: SignedRank
    """Over all its blocks, whether or not it stopped before."""


def compared(differences: FloatArray, rope: float) -> Compared:
    """One comparison by the standard rules (method D4, D5).

    Args:
        differences: paired differences of logarithms, shape (EACH,), in the order of the blocks.
        rope: what counts as equivalent, on the log scale.
    """
    at_looks = [(signed_rank(differences[:n], c), c) for n, c in LOOKS]
    whole = at_looks[-1][0]
    for found, c in at_looks:
        if found.low > 0 or found.high < 0:
            return Compared("more" if found.low > 0 else "less", found, c, whole)
        if -rope < found.low and found.high < rope:
            return Compared("equivalent", found, c, whole)
    return Compared("undecided", *at_looks[-1], whole)


def pieces(series: FloatArray) -> Iterator[FloatArray]:
    """A series of shape (blocks, …) in pieces of EACH blocks; what is left over is dropped.

    Rows with a value that is not finite are left out before: a pair needs both its members.
    """
    rows = series.reshape(len(series), -1)
    whole = series[np.isfinite(rows).all(axis=1)]
    for start in range(0, len(whole) - EACH + 1, EACH):
        yield whole[start : start + EACH]


def allowed(trials: int, chance: float) -> int:
    """How many events of that chance may happen in so many trials of a sound instrument.

    The smallest k with ``P(more than k) <= RARE``: 16 of 200 and 7 of 60 at 5 %.
    """
    from scipy.stats import binom

    return int(binom.isf(RARE, trials, chance))


def uniform_p(p_values: list[float]) -> float | None:
    """Kolmogorov–Smirnov test of p-values against the uniform law; ``None`` for a handful.

    Exact p-values are discrete, which makes the test conservative.
    """
    from scipy.stats import kstest

    if len(p_values) < _UNIFORM_FROM:
        return None
    return float(kstest(p_values, "uniform").pvalue)


def resolution_percent(found: list[Compared]) -> float:
    """The smallest difference that 80 % of comparisons find, in percent.

    From the median half-width of the interval at EACH blocks.
    """
    widths = [(one.whole.high - one.whole.low) / 2 for one in found]
    return 100 * math.expm1(FOUND_HALF_WIDTHS * float(np.median(widths)))


def interval_of(differences: FloatArray) -> SignedRank:
    """Estimate and 95 % interval of a series that is looked at once, with all its blocks."""
    return signed_rank(differences, largest_c(len(differences), 0.05))
