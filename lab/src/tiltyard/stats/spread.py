"""How much values vary, and where their quantiles lie: variation is a result of its own."""

import numpy as np

from tiltyard.stats.types import Estimate, FloatArray


def variation(values: FloatArray, alpha: float = 0.05) -> Estimate | None:
    """Coefficient of variation, sd / mean, of positive values, with its interval.

    A jackknife of the logarithm of the coefficient, so that the interval stays above zero and does
    not rest on normal values, as that of the chi-squared distribution would.

    Args:
        values: shape (n,), n >= 3.
        alpha: error rate of the interval.

    Returns:
        ``None`` where the values, or all but one of them, are equal.

    Raises:
        ValueError: if there are fewer than three values.

    Source: Miller, "Jackknifing variances", Ann. Math. Stat. 39 (1968).
    """
    n = len(values)
    if n < 3:
        raise ValueError("the interval of a coefficient of variation needs at least 3 values")
    without = np.array([np.delete(values, place) for place in range(n)])
    spreads = np.std(without, axis=1, ddof=1) / np.mean(without, axis=1)
    whole = float(np.std(values, ddof=1) / np.mean(values))
    if whole == 0 or np.any(spreads == 0):
        return None
    from scipy.special import stdtrit

    pseudo = n * np.log(whole) - (n - 1) * np.log(spreads)
    centre = float(np.mean(pseudo))
    reach = float(stdtrit(n - 1, 1 - alpha / 2)) * float(np.std(pseudo, ddof=1)) / np.sqrt(n)
    return Estimate(whole, float(np.exp(centre - reach)), float(np.exp(centre + reach)))


def quantile_interval(values: FloatArray, share: float, alpha: float = 0.05) -> Estimate | None:
    """A quantile with its order-statistic interval, which no distribution has to be assumed for.

    Each tail is given at most ``alpha / 2``.

    Args:
        values: shape (n,), n >= 1.
        share: of the values that lie below: 0.5 for the median; between 0 and 1.
        alpha: error rate of the interval.

    Returns:
        ``None`` where there are too few values to bound that quantile on both sides.

    Source: David and Nagaraja, "Order Statistics", 3rd ed., 7.1.
    """
    if not 0 < share < 1:
        raise ValueError(f"a quantile of {share:g} is not between 0 and 1")
    from scipy.special import bdtr, bdtrc

    n, ordered = len(values), np.sort(values)
    # The number of values below the quantile is binomial. It stays below the k-th smallest value
    # when fewer than k are below it; largest k with P(fewer than k) <= alpha / 2 on the low side.
    below = bdtr(np.arange(n), n, share)
    low = int(np.searchsorted(below, alpha / 2, side="right"))
    above = bdtrc(np.arange(n), n, share)
    high = n - int(np.searchsorted(above[::-1], alpha / 2, side="right")) + 1
    if low < 1 or high > n:
        return None
    return Estimate(
        float(np.quantile(ordered, share)), float(ordered[low - 1]), float(ordered[high - 1])
    )
