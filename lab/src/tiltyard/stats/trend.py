"""Did something move with time? Rank correlation and a slope that outliers cannot bend."""

from dataclasses import dataclass

import numpy as np

from tiltyard.stats.types import FloatArray


@dataclass(frozen=True)
class Trend:
    """Association of a value with its place in an order."""

    spearman: float
    """Rank correlation, −1 … 1."""
    p: float
    """Two-sided p-value of the rank correlation."""
    slope: float
    """Theil–Sen slope: change of the value for each unit of the order."""


def trend(order: FloatArray, values: FloatArray) -> Trend | None:
    """Trend of values along an order, both of shape (n,); ``None`` where nothing varies or n < 4.

    Sources: Spearman, Am. J. Psychol. 15 (1904); Sen, J. Am. Stat. Assoc. 63 (1968).
    """
    if len(values) < 4 or np.ptp(values) == 0 or np.ptp(order) == 0:
        return None
    from scipy.stats import spearmanr, theilslopes

    correlation = spearmanr(order, values)
    return Trend(
        spearman=float(correlation.statistic),
        p=float(correlation.pvalue),
        slope=float(theilslopes(values, order).slope),
    )
