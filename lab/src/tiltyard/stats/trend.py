"""Did something move with time? Rank correlation and a slope that outliers cannot bend."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.permutation import permutation_p
from tiltyard.stats.types import FloatArray

MOST: Final = 500
"""More points are averaged, neighbours together, to so many."""


@dataclass(frozen=True)
class Trend:
    """Association of a value with its place in an order."""

    spearman: float
    """Rank correlation, −1 … 1."""
    p: float
    """Two-sided p-value of the rank correlation, by permutation."""
    slope: float
    """Theil–Sen slope, by at most :data:`MOST` points: change of the value for each unit of the
    order."""


def trend(order: FloatArray, values: FloatArray) -> Trend | None:
    """Trend of values along an order, both of shape (n,); ``None`` where nothing varies or n < 4.

    Sources: Spearman, Am. J. Psychol. 15 (1904); Sen, J. Am. Stat. Assoc. 63 (1968).
    """
    if len(values) < 4 or np.ptp(values) == 0 or np.ptp(order) == 0:
        return None
    order, values = thinned(order, values)
    places = _centred(mean_ranks(order))

    def correlation(rows: FloatArray) -> FloatArray:
        products: FloatArray = rows @ places
        return products

    def size(rows: FloatArray) -> FloatArray:
        # Equal sums of other orders may differ in the last digits.
        return np.abs(correlation(rows)).round(9)

    ranks = _centred(mean_ranks(values))
    return Trend(
        spearman=float(correlation(ranks)),
        p=permutation_p(size, ranks, seed=0),
        slope=_theil_sen(order, values),
    )


def mean_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1 along the last axis; equal values share the mean of theirs."""
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    place = np.arange(values.shape[-1])
    differs = ordered[..., 1:] != ordered[..., :-1]
    edge = np.ones((*values.shape[:-1], 1), dtype=bool)
    first = np.where(np.concatenate((edge, differs), axis=-1), place, 0)
    last = np.where(np.concatenate((differs, edge), axis=-1), place, place[-1])
    first = np.maximum.accumulate(first, axis=-1)
    last = np.minimum.accumulate(last[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    return ranks


def _theil_sen(order: FloatArray, values: FloatArray) -> float:
    """Median of the slopes of all pairs."""
    return float(np.median(_slopes_of_pairs(order, values)))


def theil_sen_interval(order: FloatArray, values: FloatArray, alpha: float) -> tuple[float, float]:
    """Interval of the Theil–Sen slope, of level ``1 - alpha``; values of shape (n,) each.

    Source: Sen, J. Am. Stat. Assoc. 63 (1968), equation 2.6, by the normal law.
    """
    from scipy.special import ndtri

    slopes = np.sort(_slopes_of_pairs(order, values))
    counts = [np.unique(column, return_counts=True)[1] for column in (order, values)]
    ties = sum(int(np.sum(k * (k - 1) * (2 * k + 5))) for k in counts)
    n = len(values)
    reach = float(-ndtri(alpha / 2)) * float(np.sqrt((n * (n - 1) * (2 * n + 5) - ties) / 18))
    low = max(round((len(slopes) - reach) / 2) - 1, 0)
    high = min(round((len(slopes) + reach) / 2), len(slopes) - 1)
    return float(slopes[low]), float(slopes[high])


def _slopes_of_pairs(order: FloatArray, values: FloatArray) -> FloatArray:
    """Of all pairs whose places differ."""
    steps = order[:, np.newaxis] - order
    rises = values[:, np.newaxis] - values
    return np.asarray(rises[steps > 0] / steps[steps > 0])


def _centred(ranks: FloatArray) -> FloatArray:
    """Ranks around zero with a sum of squares of one, so that products are correlations."""
    centred = ranks - ranks.mean()
    scaled: FloatArray = centred / np.linalg.norm(centred)
    return scaled


def thinned(order: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At most :data:`MOST` points of the same trend, shapes (n,) → (min(n, MOST),) each.

    The Theil–Sen slope looks at every pair of points: 20,000 of them would take 10 GB.
    """
    if len(values) <= MOST:
        return order, values
    pieces = np.array_split(np.argsort(order, kind="stable"), MOST)
    thin_order = np.array([order[piece].mean() for piece in pieces])
    return thin_order, np.array([values[piece].mean() for piece in pieces])
