"""Wilcoxon's signed-rank statistic for paired differences: estimate, exact test and interval.

Everything is expressed through the Walsh averages ``(d_i + d_j) / 2``, ``i <= j``: the statistic is
the number of positive ones (Tukey), the Hodges–Lehmann estimate is their median, and the interval
cuts off ``c`` of them at either end. Test and interval are therefore exactly dual.

Under the null hypothesis that labels do not matter, a coin flip inside every block makes each sign
fair, whatever produced the magnitudes. So the null distribution needs no assumption on the noise.
Its table grows with the cube of the blocks; beyond :data:`EXACT_MOST` it is the normal one.

Sources: Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., 3.1–3.3;
Hodges and Lehmann, "Estimates of location based on rank tests", Ann. Math. Stat. 34 (1963).
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tiltyard.stats.types import Evidence, FloatArray
from tiltyard.stats.walsh import walsh_average, walsh_signs

EXACT_MOST: Final = 500
"""Blocks up to which p-values are exact. Beyond, with the correction for continuity, they are too
large by less than 0.2 % of 0.05 and 3 % of 0.001: on the safe side, less than a digit shows."""

TABLE_MOST: Final = 1000
"""The same of many comparisons at once: no study has more blocks. A table of 10,000 is 400 MB."""


@dataclass(frozen=True)
class SignedRank:
    """Estimate, interval and p-value of one sample of paired differences."""

    n: int
    estimate: float
    """Hodges–Lehmann estimate of the pseudo-median, in the unit of the differences."""
    low: float
    high: float
    p: float
    """Two-sided p-value of the hypothesis that the pseudo-median is zero."""


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
    if n <= EXACT_MOST:
        return float(attainable_p(n)[c])
    from scipy.special import ndtr

    mean, sd = _null_moments(n)
    return min(1.0, 2 * float(ndtr((c + 0.5 - mean) / sd)))


def largest_c(n: int, alpha: float) -> int:
    """The largest ``c`` whose two-sided error rate is at most ``alpha``.

    Raises:
        ValueError: if n blocks cannot reach that level; 6 can reach 5 %.
    """
    if n > EXACT_MOST:
        from scipy.special import ndtri

        mean, sd = _null_moments(n)
        return math.floor(mean - 0.5 + sd * float(ndtri(alpha / 2)))
    count = int(np.searchsorted(attainable_p(n), alpha, side="right"))
    if count == 0:
        raise ValueError(f"{n} blocks cannot reach a two-sided level of {alpha:g}")
    return count - 1


def _null_moments(n: int) -> tuple[float, float]:
    """Mean and standard deviation of the statistic when each of n signs is a fair coin."""
    return n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)


_NO_WEIGHT: Final = 1e-9
"""Sums of two weights up to this one are zero but for rounding."""
_CHUNK_VALUES: Final = 4_000_000
"""Walsh averages that are held at once: 32 MB."""


def signed_ranks(
    differences: FloatArray,
    c: int,
    weights: FloatArray | None = None,
    rounding: FloatArray | None = None,
) -> Evidence:
    """:func:`signed_rank` of every row of an array of shape (m, n), without a loop over rows.

    Args:
        differences: shape (m, n).
        c: Walsh averages cut off at either end.
        weights: of the same shape: how much a difference of 1 adds to each value, where that is
            not 1 (:mod:`tiltyard.stats.covariates`). Pairs without a positive weight count for
            both signs; with more than ``c`` of them there are no finite bounds.
        rounding: how far all differences of a row may lie off together, shape (m,). The interval is
            so much wider on both sides, and the p-value the largest that any such shift gives.

    Raises:
        ValueError: as :func:`signed_rank` does.
    """
    m, n = differences.shape
    count = n * (n + 1) // 2
    if not 0 <= c < (count + 1) // 2:
        raise ValueError(f"c = {c} leaves no interval of {count} Walsh averages")
    reach = np.zeros(m) if rounding is None else rounding
    if n > TABLE_MOST and weights is None:
        return _selected(np.sort(differences, axis=1), c, reach)
    first, second = _pairs(n)
    found = np.empty((4, m))
    rows = max(1, _CHUNK_VALUES // count)
    for start in range(0, m, rows):
        part = differences[start : start + rows]
        averages = (part[:, first] + part[:, second]) / 2
        own = slice(start, start + rows)
        if weights is not None:
            pairs = weights[own][:, first] + weights[own][:, second]
            found[:, own] = _weighted(averages, pairs, c, reach[own, np.newaxis])
            found[3, own] = attainable_p(n)[found[3, own].astype(np.intp)]
            continue
        averages.sort(axis=1)
        not_negative = np.count_nonzero(averages >= -reach[own, np.newaxis], axis=1)
        not_positive = np.count_nonzero(averages <= reach[own, np.newaxis], axis=1)
        found[:, own] = (
            (averages[:, (count - 1) // 2] + averages[:, count // 2]) / 2,
            averages[:, c],
            averages[:, count - 1 - c],
            attainable_p(n)[np.minimum(not_negative, not_positive)],
        )
    estimate, low, high, p = found
    return Evidence(estimate, low - reach, high + reach, p)


def _selected(ordered: FloatArray, c: int, reach: FloatArray) -> Evidence:
    """The same of many blocks, row by row: no average is formed that is not asked for."""
    n = ordered.shape[1]
    count = n * (n + 1) // 2
    ranks = (c, (count - 1) // 2, count // 2, count - 1 - c)
    averages = np.array([[walsh_average(row, rank) for rank in ranks] for row in ordered])
    low, below, above, high = averages.reshape(-1, len(ranks)).T
    counts = (
        min(walsh_signs(row + own)[0], walsh_signs(row - own)[1])
        for row, own in zip(ordered, reach, strict=True)
    )
    p = np.array([nominal_p(n, count) for count in counts])
    return Evidence((below + above) / 2, low - reach, high + reach, p)


def _weighted(
    averages: FloatArray, weights: FloatArray, c: int, reach: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, npt.NDArray[np.intp]]:
    """Estimate, bounds and the smaller count of signs of Walsh averages with weights.

    Args:
        averages: shape (m, pairs).
        weights: sums over the two of each pair, of the same shape.
        c: averages cut off at either end.
        reach: how far a difference may lie off, shape (m, 1).
    """
    tells = weights > _NO_WEIGHT
    untold = (~tells).sum(axis=1)
    quotients = np.where(tells, 2 * averages / np.where(tells, weights, 1.0), np.inf)
    quotients.sort(axis=1)
    told, row = averages.shape[1] - untold, np.arange(len(averages))
    # Those that tell nothing are the last ones now; they might be anywhere.
    below, above = np.maximum(told - 1, 0) // 2, told // 2
    estimate = (quotients[row, below] + quotients[row, above]) / 2
    is_bounded = (untold <= c) & (told > 0)
    low = np.where(is_bounded, quotients[row, np.maximum(c - untold, 0)], -np.inf)
    high = np.where(is_bounded, quotients[:, averages.shape[1] - 1 - c], np.inf)
    shift = reach * weights / 2
    not_negative = untold + np.count_nonzero(tells & (averages >= -shift), axis=1)
    not_positive = untold + np.count_nonzero(tells & (averages <= shift), axis=1)
    smaller: npt.NDArray[np.intp] = np.minimum(not_negative, not_positive)
    return estimate, low, high, smaller


def signed_rank(differences: FloatArray, c: int) -> SignedRank:
    """Estimate, interval ``[W_(c+1), W_(M-c)]`` and p-value of paired differences.

    Ties among magnitudes and zero differences are kept. A Walsh average of exactly zero counts
    for both signs, which can only enlarge the p-value: the test stays conservative, and rejects
    at ``nominal_p(n, c)`` exactly when the interval excludes zero.

    Raises:
        ValueError: if ``c`` leaves nothing of the interval.
    """
    n = len(differences)
    count = n * (n + 1) // 2
    if not 0 <= c < (count + 1) // 2:
        raise ValueError(f"c = {c} leaves no interval of {count} Walsh averages")
    ordered = np.sort(differences)
    ranks = (c, (count - 1) // 2, count // 2, count - 1 - c)
    if n <= EXACT_MOST:
        averages = walsh_averages(differences)
        low, below, above, high = (float(averages[rank]) for rank in ranks)
    else:
        low, below, above, high = (walsh_average(ordered, rank) for rank in ranks)
    return SignedRank(
        n=n,
        estimate=(below + above) / 2,
        low=low,
        high=high,
        p=nominal_p(n, min(walsh_signs(ordered))),
    )
