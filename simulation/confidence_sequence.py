"""Intervals that hold at every block at once, for watching without an end.

The looks of :mod:`tiltyard.stats.sequential` are about a fifth narrower, but they end. This
sequence may be looked at after each block for ever, and rests on normal differences.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from tiltyard.stats.types import FloatArray, IntArray


@dataclass(frozen=True)
class ConfidenceSequence:
    """Running estimates with intervals that cover all together, each of shape (m, looks)."""

    blocks: IntArray
    """How many blocks each look has, shape (looks,)."""
    estimate: FloatArray
    low: FloatArray
    high: FloatArray


def confidence_sequence(
    differences: FloatArray, first: int = 5, alpha: float = 0.05
) -> ConfidenceSequence:
    """Lai's t confidence sequence of the mean, from block ``first`` on.

    Args:
        differences: paired differences in the order in which they were made, shape (m, n).
        first: blocks of the first look, at least 2: the later, the narrower all others become.
        alpha: chance that any of the intervals misses the mean.

    Raises:
        ValueError: if there are fewer blocks than the first look has.

    Source: Lai, "On confidence sequences", Ann. Stat. 4 (1976).
    """
    if not 2 <= first <= differences.shape[1]:
        raise ValueError(f"no look at {first} of {differences.shape[1]} blocks")
    n = np.arange(1, differences.shape[1] + 1)
    mean = np.cumsum(differences, axis=1) / n
    variance = np.maximum(0.0, np.cumsum(differences**2, axis=1) / n - mean**2)
    with np.errstate(over="ignore"):
        reach = np.sqrt(variance * ((_lai_constant(first, alpha) * n) ** (1 / n) - 1))
    seen = np.s_[:, first - 1 :]
    return ConfidenceSequence(
        n[first - 1 :], mean[seen], (mean - reach)[seen], (mean + reach)[seen]
    )


@cache
def _lai_constant(first: int, alpha: float) -> float:
    """Lai's b, for which the chance of ever missing is alpha."""
    from scipy.optimize import brentq
    from scipy.stats import t

    def excess(a: float) -> float:
        return float(2 * (t.sf(a, first - 1) + a * t.pdf(a, first - 1)) - alpha)

    a = float(brentq(excess, 0.1, 1e6))
    return float((1 + a**2 / (first - 1)) ** first / first)
