"""Summaries of one system's values: location, spread, and the interval of the median.

Sources: David and Nagaraja, "Order Statistics", 3rd ed. (2003), 7.1; for the geometric mean of
ratios, Fleming and Wallace, "How not to lie with statistics", Commun. ACM 29 (1986).
"""

from collections.abc import Iterator
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


def summarise(values: FloatArray) -> ValueSummary:
    """Summary of values of zero or more, shape (n,), n >= 1."""
    (summary,) = summarise_rows(values[np.newaxis])
    if summary is None:
        raise ValueError("no value to summarise")
    return summary


def summarise_rows(values: FloatArray) -> list[ValueSummary | None]:
    """Summary of every row of an array of shape (m, n); nan counts as no value.

    ``None`` for rows without a value. Rows with equally many values are summarised at once.
    """
    usable = np.isfinite(values)
    counts = usable.sum(axis=1)
    found: list[ValueSummary | None] = [None] * len(values)
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        own = values[rows][usable[rows]].reshape(-1, count)
        for row, summary in zip(rows.tolist(), _summaries(own), strict=True):
            found[row] = summary
    return found


def _summaries(values: FloatArray) -> Iterator[ValueSummary]:
    """Of each row of values, shape (m, n), n >= 1."""
    m, n = values.shape
    ordered = np.sort(values, axis=1)
    cut = median_rank(n)
    nothing = [None] * m
    means = values.mean(axis=1).tolist()
    deviations = values.std(axis=1, ddof=1).tolist() if n > 1 else nothing
    rows = zip(
        ((ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2).tolist(),
        nothing if cut is None else ordered[:, cut - 1].tolist(),
        nothing if cut is None else ordered[:, n - cut].tolist(),
        means,
        deviations,
        strict=True,
    )
    for median, low, high, mean, sd in rows:
        cv = None if sd is None or mean == 0 else sd / mean
        yield ValueSummary(median, low, high, mean, sd, cv)


@cache
def median_rank(n: int, level: float = 0.05) -> int | None:
    """The k for which ``[x_(k), x_(n+1-k)]`` covers the median with at least ``1 - level``.

    From the binomial law of the number of values below the median; ``None`` below 6 values at
    5 %. Source: David and Nagaraja, "Order Statistics", 3rd ed., 7.1.
    """
    rank, tail = 0, 0.0
    ways, every = 1, 2**n
    while rank < n:
        tail += ways / every
        if 2 * tail > level:
            break
        # Of the binomial coefficient before: each anew would take the cube of n.
        ways = ways * (n - rank) // (rank + 1)
        rank += 1
    return rank or None


def geometric_mean(values: FloatArray) -> float:
    """Geometric mean of positive values."""
    return float(np.exp(np.mean(np.log(values))))
