"""Wilcoxon's signed-rank statistic for paired differences: estimate, exact test and interval.

Everything is expressed through the Walsh averages ``(d_i + d_j) / 2``, ``i <= j``: the statistic is
the number of positive ones (Tukey), the Hodges–Lehmann estimate is their median, and the interval
cuts off ``c`` of them at either end. Test and interval are therefore exactly dual.

Under the null hypothesis that labels do not matter, a coin flip inside every block makes each sign
fair, whatever produced the magnitudes. So the null distribution needs no assumption on the noise.

Sources: Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., 3.1–3.3;
Hodges and Lehmann, "Estimates of location based on rank tests", Ann. Math. Stat. 34 (1963).
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tiltyard.stats.types import FloatArray


@dataclass(frozen=True)
class SignedRank:
    """Estimate, interval and exact p-value of one sample of paired differences."""

    n: int
    estimate: float
    """Hodges–Lehmann estimate of the pseudo-median, in the unit of the differences."""
    low: float
    high: float
    p: float
    """Exact two-sided p-value of the hypothesis that the pseudo-median is zero."""


def walsh_averages(differences: FloatArray) -> FloatArray:
    """The n(n+1)/2 pairwise averages of n differences, each with itself included, ascending."""
    first, second = _pairs(len(differences))
    averages: FloatArray = (differences[first] + differences[second]) / 2
    averages.sort()
    return averages


@cache
def _pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Places of the two members of each pair."""
    return np.triu_indices(n)


@cache
def null_cumulative(n: int) -> FloatArray:
    """``P(W <= w)`` for ``w = 0 … n(n+1)/2`` when each of n signs is a fair coin.

    Exact in binary floating point up to n = 53; each rank is added to the sum with probability ½.
    """
    mass = np.zeros(n * (n + 1) // 2 + 1)
    mass[0] = 1.0
    for rank in range(1, n + 1):
        with_rank = np.zeros_like(mass)
        with_rank[rank:] = mass[:-rank]
        mass = (mass + with_rank) / 2
    cumulative = np.cumsum(mass)
    cumulative.flags.writeable = False
    return cumulative


@cache
def attainable_p(n: int) -> FloatArray:
    """Two-sided p-value for each value ``w = 0 … n(n+1)/2`` of the smaller of the two counts."""
    return np.minimum(1.0, 2 * null_cumulative(n))


def nominal_p(n: int, c: int) -> float:
    """Error rate of the interval that cuts off ``c`` Walsh averages at either end."""
    return float(attainable_p(n)[c])


def largest_c(n: int, alpha: float) -> int:
    """The largest ``c`` whose exact two-sided error rate is at most ``alpha``.

    Raises:
        ValueError: if n blocks cannot reach that level; 6 can reach 5 %.
    """
    count = int(np.searchsorted(attainable_p(n), alpha, side="right"))
    if count == 0:
        raise ValueError(f"{n} blocks cannot reach a two-sided level of {alpha:g}")
    return count - 1


@dataclass(frozen=True)
class SignedRanks:
    """Estimates, intervals and exact p-values of many samples of one size, each of shape (m,)."""

    n: int
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray


_CHUNK_VALUES: Final = 4_000_000
"""Walsh averages that are held at once: 32 MB."""


def signed_ranks(differences: FloatArray, c: int) -> SignedRanks:
    """:func:`signed_rank` of every row of an array of shape (m, n), without a loop over rows.

    Raises:
        ValueError: as :func:`signed_rank` does.
    """
    m, n = differences.shape
    count = n * (n + 1) // 2
    if not 0 <= c < (count + 1) // 2:
        raise ValueError(f"c = {c} leaves no interval of {count} Walsh averages")
    first, second = _pairs(n)
    found = np.empty((4, m))
    rows = max(1, _CHUNK_VALUES // count)
    for start in range(0, m, rows):
        part = differences[start : start + rows]
        averages = (part[:, first] + part[:, second]) / 2
        averages.sort(axis=1)
        not_negative = np.count_nonzero(averages >= 0, axis=1)
        not_positive = np.count_nonzero(averages <= 0, axis=1)
        found[:, start : start + rows] = (
            (averages[:, (count - 1) // 2] + averages[:, count // 2]) / 2,
            averages[:, c],
            averages[:, count - 1 - c],
            attainable_p(n)[np.minimum(not_negative, not_positive)],
        )
    return SignedRanks(n, *found)


def signed_rank(differences: FloatArray, c: int) -> SignedRank:
    """Estimate, interval ``[W_(c+1), W_(M-c)]`` and exact p-value of paired differences.

    Ties among magnitudes and zero differences are kept. A Walsh average of exactly zero counts
    for both signs, which can only enlarge the p-value: the test stays conservative, and rejects
    at ``nominal_p(n, c)`` exactly when the interval excludes zero.

    Raises:
        ValueError: if ``c`` leaves nothing of the interval.
    """
    averages = walsh_averages(differences)
    if not 0 <= c < (len(averages) + 1) // 2:
        raise ValueError(f"c = {c} leaves no interval of {len(averages)} Walsh averages")
    middle = (len(averages) - 1) // 2, len(averages) // 2
    not_negative = len(averages) - int(np.searchsorted(averages, 0.0, side="left"))
    not_positive = int(np.searchsorted(averages, 0.0, side="right"))
    return SignedRank(
        n=len(differences),
        estimate=float(averages[middle[0]] + averages[middle[1]]) / 2,
        low=float(averages[c]),
        high=float(averages[len(averages) - 1 - c]),
        p=float(attainable_p(len(differences))[min(not_negative, not_positive)]),
    )
