"""Is one system more consistent than another one that was measured in the same blocks?"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tiltyard.stats.signed_rank import EXACT_MOST, signed_rank, signed_ranks
from tiltyard.stats.trend import mean_ranks
from tiltyard.stats.types import FloatArray

EXACT_BLOCKS: Final = 40
"""Up to here the signs are counted out; beyond, their sum is normal for all purposes."""


@dataclass(frozen=True)
class SpreadRatio:
    """Standard deviations of two paired samples, compared."""

    n: int
    log_ratio: float
    """``ln(sd first / sd second)``."""
    low: float
    """Interval of it, by the jackknife over blocks."""
    high: float
    correlation: float
    """Rank correlation of sums and differences: positive where the first one spreads more."""
    p: float
    """Two-sided, of equal spread: the larger one of both tests."""


def spread_ratios(first: FloatArray, second: FloatArray, alpha: float) -> list[SpreadRatio | None]:
    """Compare the spread of pairs of samples that are paired by blocks, shapes (m, n), n >= 4.

    Sums and differences of two equally spread things are not correlated (Pitman, Biometrika 31,
    1939; Morgan, ibid.). With ranks in place of values heavy tails matter less (McCulloch,
    "Tests for equality of variances with paired data", Commun. Stat. Theory Methods 16, 1987), but
    they still tie the *size* of a difference to the sum. So the null law is that of fair signs of
    the differences, all sizes as they are.

    Where noise is skewed, an error of the medians that both are centred by gives all small
    differences one sign. Distances from the median hardly feel it (Brown and Forsythe, "Robust
    tests for the equality of variances", J. Am. Stat. Assoc. 69, 1974), so their signed-rank test
    must reject as well.

    Returns:
        One for each row; ``None`` where one of its samples does not vary.
    """
    n = first.shape[1]
    varies = (np.ptp(first, axis=1) > 0) & (np.ptp(second, axis=1) > 0)
    found: list[SpreadRatio | None] = [None] * len(first)
    if not varies.any():
        return found
    first, second = (
        one - np.median(one, axis=1, keepdims=True) for one in (first[varies], second[varies])
    )
    differences = first - second
    place = 2 * mean_ranks(first + second) - n - 1
    size = 2 * mean_ranks(np.abs(differences))
    parts = np.rint(place * size).astype(np.int64)
    statistics = np.sum(np.sign(differences) * parts, axis=1)
    largest = np.sqrt(np.sum(place**2, axis=1) * np.sum(size**2, axis=1))
    estimates, lows, highs = _log_ratios(first, second, alpha)
    distances = _signed_rank_p(np.abs(first) - np.abs(second))
    for own, row in enumerate(np.flatnonzero(varies).tolist()):
        statistic = float(statistics[own])
        p = max(_p(np.abs(parts[own]), statistic), float(distances[own]))
        found[row] = SpreadRatio(
            n=n,
            log_ratio=float(estimates[own]),
            low=float(lows[own]),
            high=float(highs[own]),
            correlation=float(statistic / largest[own]),
            p=p,
        )
    return found


def _signed_rank_p(differences: FloatArray) -> FloatArray:
    """Two-sided p-values of the signed-rank test of each row."""
    if differences.shape[1] <= EXACT_MOST:
        return signed_ranks(differences, 0).p
    return np.array([signed_rank(row, 0).p for row in differences])


def _p(weights: npt.NDArray[np.int64], statistic: float) -> float:
    """``P(|sum of +- weights| >= |statistic|)`` with fair signs."""
    divisor = int(np.gcd.reduce(weights))
    if divisor == 0:
        return 1.0
    if len(weights) > EXACT_BLOCKS:
        from scipy.special import ndtr

        return float(2 * ndtr(-abs(statistic) / np.sqrt(np.sum(weights.astype(float) ** 2))))
    if statistic == 0:
        return 1.0
    weights, statistic = np.sort(weights) // divisor, abs(statistic) / divisor
    # As far out on the other side, the sum of those with a plus is at most this.
    most = int((int(weights.sum()) - statistic) // 2)
    ways = np.zeros(most + 1)
    ways[0] = 1.0
    reached = 0
    for weight in weights.tolist():
        # Counts below 2^40, so without rounding.
        reached = min(reached + weight, most)
        ways[weight : reached + 1] += ways[: max(reached + 1 - weight, 0)].copy()
    return min(1.0, float(2 * ways.sum() / 2.0 ** len(weights)))


def _log_ratios(
    first: FloatArray, second: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log ratios of the standard deviations, with Student's intervals of jackknife values.

    Source: Miller, "Jackknifing variances", Ann. Math. Stat. 39 (1968).
    """
    from scipy.special import stdtrit

    n = first.shape[1]
    whole = np.log(first.std(axis=1, ddof=1) / second.std(axis=1, ddof=1))
    without = _spreads_without_one(first) - _spreads_without_one(second)
    pseudo = n * whole[:, np.newaxis] - (n - 1) * without
    reach = stdtrit(n - 1, 1 - alpha / 2) * pseudo.std(axis=1, ddof=1) / np.sqrt(n)
    centre = pseudo.mean(axis=1)
    return whole, centre - reach, centre + reach


def _spreads_without_one(values: FloatArray) -> FloatArray:
    """Log standard deviation of all values of a row but one, for each of them."""
    n = values.shape[1]
    distances = (values - values.mean(axis=1, keepdims=True)) ** 2
    squares = np.sum(distances, axis=1, keepdims=True) - distances * n / (n - 1)
    smallest = np.finfo(np.float64).tiny
    found: FloatArray = np.log(np.maximum(squares / (n - 2), smallest)) / 2
    return found
