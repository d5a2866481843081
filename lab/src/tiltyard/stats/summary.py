"""Summaries of one system's values: location, spread, and the interval of the median.

Sources: David and Nagaraja, "Order Statistics", 3rd ed. (2003), 7.1; for the geometric mean of
ratios, Fleming and Wallace, "How not to lie with statistics", Commun. ACM 29 (1986).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from tiltyard.stats.types import FloatArray


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """Location and spread of a handful of values, in their own unit."""

    median: float
    median_low: float | None
    """95 % order-statistic interval of the median; ``None`` where there are too few values."""
    median_high: float | None
    mean: float
    sd: float | None
    """Standard deviation with n − 1; ``None`` for a single value."""
    cv: float | None
    """sd / mean; ``None`` too where all values are zero."""

    @classmethod
    def of(cls, row: Sequence[float]) -> "ValueSummary":
        """One row of :func:`summarise_rows`, in which there is a value."""
        median, low, high, mean, sd = (None if number != number else number for number in row)
        if median is None or mean is None:
            raise ValueError("no value to summarise")
        cv = None if sd is None or mean == 0 else sd / mean
        return cls(median, low, high, mean, sd, cv)


def summarise(values: FloatArray) -> ValueSummary:
    """Summary of values of zero or more, shape (n,), n >= 1."""
    return ValueSummary.of(summarise_rows(values[np.newaxis])[0].tolist())


def summarise_rows(values: FloatArray) -> FloatArray:
    """Summary of every row of an array of shape (m, n); nan counts as no value.

    Rows with equally many values are summarised at once.

    Returns:
        Shape (m, 5): median, ends of its interval, mean, standard deviation; nan where there is
        none.
    """
    usable = np.isfinite(values)
    counts = usable.sum(axis=1)
    found = np.full((len(values), 5), np.nan)
    for n in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == n)
        own = values[rows][usable[rows]].reshape(-1, n)
        ordered = np.sort(own, axis=1)
        found[rows, 0] = (ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2
        if (cut := median_rank(n)) is not None:
            found[rows, 1], found[rows, 2] = ordered[:, cut - 1], ordered[:, n - cut]
        found[rows, 3] = own.mean(axis=1)
        if n > 1:
            found[rows, 4] = own.std(axis=1, ddof=1)
    return found


@cache
def median_rank(n: int, level: float = 0.05) -> int | None:
    """The k for which ``[x_(k), x_(n+1-k)]`` covers the median with at least ``1 - level``.

    From the binomial law of the number of values below the median; ``None`` below 6 values at
    5 %. Source: David and Nagaraja, "Order Statistics", 3rd ed., 7.1.
    """
    from scipy.special import bdtr

    def covers(rank: int) -> bool:
        return 2 * float(bdtr(rank - 1, n, 0.5)) <= level

    # The largest rank that covers: none does from the middle on.
    return bisect_left(range(1, n // 2 + 1), True, key=lambda rank: not covers(rank)) or None


def geometric_mean(values: FloatArray) -> float:
    """Geometric mean of positive values."""
    return float(np.exp(np.mean(np.log(values))))
