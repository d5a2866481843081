"""Summaries of one system's values: location, spread, and the interval of the median."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from tiltyard.stats.types import FloatArray


@dataclass(frozen=True)
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


def summarise(values: FloatArray) -> ValueSummary:
    """Summary of values of zero or more, shape (n,), n >= 1."""
    ordered = np.sort(values)
    cut = median_rank(len(values))
    mean = float(np.mean(values))
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return ValueSummary(
        median=float(np.median(values)),
        median_low=None if cut is None else float(ordered[cut - 1]),
        median_high=None if cut is None else float(ordered[len(values) - cut]),
        mean=mean,
        sd=sd,
        cv=None if sd is None or mean == 0 else sd / mean,
    )


@cache
def median_rank(n: int, level: float = 0.05) -> int | None:
    """The k for which ``[x_(k), x_(n+1-k)]`` covers the median with at least ``1 - level``.

    From the binomial law of the number of values below the median; ``None`` below 6 values at
    5 %. Source: David and Nagaraja, "Order Statistics", 3rd ed., 7.1.
    """
    rank, tail = 0, 0.0
    while rank < n:
        tail += math.comb(n, rank) / 2**n
        if 2 * tail > level:
            break
        rank += 1
    return rank or None


def geometric_mean(values: FloatArray) -> float:
    """Geometric mean of positive values."""
    return float(np.exp(np.mean(np.log(values))))
