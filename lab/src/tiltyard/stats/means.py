"""Geometric means and their ratios with the intervals of normal theory on the log scale.

A ratio of speeds is a difference of logarithms, so that "twice as fast" and "half as fast" are the
same distance from equal, and the unit of the values does not matter.

Source: Student, "The probable error of a mean", Biometrika 6 (1908), on logarithms.
"""

import numpy as np

from tiltyard.stats.types import Estimate, FloatArray


def geometric_mean_interval(values: FloatArray, alpha: float = 0.05) -> Estimate:
    """Geometric mean of positive values, shape (n,), n >= 2, with the t interval of the log mean.

    Raises:
        ValueError: if there are fewer than two values, or any is not positive.
    """
    if len(values) < 2:
        raise ValueError("an interval of the mean needs at least 2 values")
    if np.any(values <= 0):
        raise ValueError("a geometric mean needs positive values")
    from scipy.special import stdtrit

    logs = np.log(values)
    mean = float(np.mean(logs))
    error = float(np.std(logs, ddof=1)) / np.sqrt(len(logs))
    reach = float(stdtrit(len(logs) - 1, 1 - alpha / 2)) * error
    return Estimate(float(np.exp(mean)), float(np.exp(mean - reach)), float(np.exp(mean + reach)))


def geometric_ratio(first: FloatArray, second: FloatArray, alpha: float = 0.05) -> Estimate:
    """``first / second`` of paired positive values, both of shape (blocks,), with its t interval.

    The geometric mean of the ratios within blocks; what blocks have in common cancels.

    Raises:
        ValueError: as :func:`geometric_mean_interval` does.
    """
    return geometric_mean_interval(first / second, alpha)
