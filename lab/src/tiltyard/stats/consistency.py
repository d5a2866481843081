"""Is one system more consistent than another one that was measured in the same blocks?"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.signed_rank import signed_rank
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


def spread_ratio(first: FloatArray, second: FloatArray, alpha: float) -> SpreadRatio | None:
    """Compare the spread of two samples that are paired by blocks, each of shape (n,), n >= 4.

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
        ``None`` where one of them does not vary.
    """
    n = len(first)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    first, second = first - np.median(first), second - np.median(second)
    differences = first - second
    place = 2 * mean_ranks(first + second) - n - 1
    size = 2 * mean_ranks(np.abs(differences))
    parts = np.rint(place * size).astype(np.int64)
    statistic = float(np.sum(np.sign(differences) * parts))
    largest = float(np.sqrt(np.sum(place**2) * np.sum(size**2)))
    estimate, low, high = _log_ratio(first, second, alpha)
    p = max(_p(np.abs(parts), statistic), signed_rank(np.abs(first) - np.abs(second), 0).p)
    return SpreadRatio(n, estimate, low, high, statistic / largest, p)


def _p(weights: np.ndarray[tuple[int], np.dtype[np.int64]], statistic: float) -> float:
    """``P(|sum of +- weights| >= |statistic|)`` with fair signs."""
    divisor = int(np.gcd.reduce(weights))
    if divisor == 0:
        return 1.0
    if len(weights) > EXACT_BLOCKS:
        from scipy.special import ndtr

        return float(2 * ndtr(-abs(statistic) / np.sqrt(np.sum(weights.astype(float) ** 2))))
    weights, statistic = weights // divisor, statistic / divisor
    total = int(weights.sum())
    mass = np.zeros(total + 1)
    mass[0] = 1.0
    for weight in weights:
        # Half of the mass moves up by the weight: the sum of those with a plus.
        moved = np.zeros_like(mass)
        moved[weight:] = mass[: len(mass) - weight]
        mass = (mass + moved) / 2
    signed = 2 * np.arange(total + 1) - total
    return float(min(1.0, mass[np.abs(signed) >= abs(statistic)].sum()))


def _log_ratio(first: FloatArray, second: FloatArray, alpha: float) -> tuple[float, float, float]:
    """Log ratio of the standard deviations, with Student's interval of jackknife values.

    Source: Miller, "Jackknifing variances", Ann. Math. Stat. 39 (1968).
    """
    from scipy.special import stdtrit

    n = len(first)
    whole = float(np.log(first.std(ddof=1) / second.std(ddof=1)))
    without = _spreads_without_one(first) - _spreads_without_one(second)
    pseudo = n * whole - (n - 1) * without
    reach = float(stdtrit(n - 1, 1 - alpha / 2) * pseudo.std(ddof=1) / np.sqrt(n))
    centre = float(pseudo.mean())
    return whole, centre - reach, centre + reach


def _spreads_without_one(values: FloatArray) -> FloatArray:
    """Log standard deviation of all values but one, for each of them."""
    n = len(values)
    squares = np.sum((values - values.mean()) ** 2) - (values - values.mean()) ** 2 * n / (n - 1)
    smallest = np.finfo(np.float64).tiny
    found: FloatArray = np.log(np.maximum(squares / (n - 2), smallest)) / 2
    return found
