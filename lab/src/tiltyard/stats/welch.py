"""Two independent samples with variances of their own.

This is not how Tiltyard compares: its values are paired within blocks. It is here because others
compare so, and :mod:`simulation` shows what becomes of it when a host drifts.

Sources: Welch, Biometrika 34 (1947); Satterthwaite, Biometrics Bulletin 2 (1946).
"""

from dataclasses import dataclass

import numpy as np

from tiltyard.stats.types import BoolArray, Evidence, FloatArray


@dataclass(frozen=True)
class Moments:
    """Size, mean and variance (with n − 1) of many samples, each of shape (m,)."""

    n: FloatArray
    mean: FloatArray
    variance: FloatArray

    @property
    def sd(self) -> FloatArray:
        """Standard deviation."""
        return np.sqrt(self.variance)

    @property
    def error(self) -> FloatArray:
        """Standard error of the mean."""
        return np.sqrt(self.variance / self.n)


def moments(values: FloatArray, used: BoolArray | None = None) -> Moments:
    """Moments of every row of values of shape (m, n); with ``used``, of the marked ones only.

    Every row needs at least two values.
    """
    marked = np.ones(values.shape, dtype=np.bool_) if used is None else used
    n = marked.sum(axis=1).astype(np.float64)
    mean = np.where(marked, values, 0.0).sum(axis=1) / n
    centred = np.where(marked, values - mean[:, None], 0.0)
    return Moments(n, mean, (centred**2).sum(axis=1) / (n - 1))


def welch(first: Moments, second: Moments, alpha: float = 0.05) -> Evidence:
    """``first − second`` for every row, by Welch's t with Satterthwaite's degrees of freedom.

    Where both variances are zero the interval is the difference itself, and p is 0 or 1.
    """
    from scipy.special import stdtr, stdtrit

    estimate = first.mean - second.mean
    error, freedom = error_and_freedom(first, second)
    flat = error == 0
    reach = stdtrit(freedom, 1 - alpha / 2) * error
    p = 2 * stdtr(freedom, -np.abs(estimate) / np.where(flat, 1.0, error))
    return Evidence(
        estimate, estimate - reach, estimate + reach, np.where(flat, (estimate == 0) * 1.0, p)
    )


def error_and_freedom(first: Moments, second: Moments) -> tuple[FloatArray, FloatArray]:
    """Standard error of every difference of means, and its degrees of freedom; shape (m,)."""
    parts = first.error**2, second.error**2
    error = np.sqrt(parts[0] + parts[1])
    # As shares of the whole: squares of small variances are no floats any more.
    whole = np.where(error > 0, error**2, 1.0)
    spread = (parts[0] / whole) ** 2 / (first.n - 1) + (parts[1] / whole) ** 2 / (second.n - 1)
    return error, 1 / np.where(spread > 0, spread, 1.0)


def welch_terms(n1: int, variance1: float, n2: int, variance2: float) -> tuple[float, float]:
    """Standard error of the difference of two means, and its degrees of freedom (Satterthwaite)."""
    one, two = variance1 / n1, variance2 / n2
    spread = one**2 / (n1 - 1) + two**2 / (n2 - 1)
    return float(np.sqrt(one + two)), (one + two) ** 2 / spread if spread else 1.0


def pooled_error(first: Moments, second: Moments) -> FloatArray:
    """Standard error of every difference of means if both variances are one; shape (m,)."""
    squares = (first.n - 1) * first.variance + (second.n - 1) * second.variance
    variance = squares / (first.n + second.n - 2)
    error: FloatArray = np.sqrt(variance * (1 / first.n + 1 / second.n))
    return error
