"""Many comparisons at once: adjusted p-values, and intervals that were picked for being clear.

An adjusted p-value is compared with the level wanted for the whole family. All are checked against
statsmodels. ``scipy.stats`` has the false discovery rate too, but its import takes half a second of
CPU, which is more than the analysis of an ordinary study.
"""

import numpy as np

from tiltyard.stats.types import FloatArray


def benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values that control the false discovery rate; shape (n,) kept.

    Holds for independent and for positively dependent comparisons.

    Raises:
        ValueError: if one is not between 0 and 1, as nan is not.

    Source: Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995).
    """
    return _false_discovery(p_values)


def benjamini_yekutieli(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values that control the false discovery rate under any dependence; shape kept.

    Raises:
        ValueError: if one is not between 0 and 1, as nan is not.

    Source: Benjamini and Yekutieli, Ann. Stat. 29 (2001).
    """
    harmonic = float(np.sum(1 / np.arange(1, len(p_values) + 1)))
    return _false_discovery(p_values, harmonic)


def holm(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values that control the chance of any false claim; shape (n,) kept.

    Holds under any dependence. Source: Holm, Scand. J. Stat. 6 (1979).
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.maximum.accumulate(p_values[order] * factors)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def false_coverage_alpha(selected: int, family: int, rate: float) -> float:
    """Error rate of each interval so that at most ``rate`` of those shown are expected to miss.

    For the intervals of comparisons that were selected by Benjamini and Hochberg's procedure.

    Args:
        selected: how many were selected, 1 … family.
        family: how many there were.
        rate: the false discovery rate of the selection, and the false coverage rate to be kept.

    Raises:
        ValueError: if nothing was selected, or more than there is.

    Source: Benjamini and Yekutieli, J. Am. Stat. Assoc. 100 (2005), definition 1.
    """
    if not 1 <= selected <= family:
        raise ValueError(f"{selected} selected of {family}")
    return rate * selected / family


def _false_discovery(p_values: FloatArray, dependence: float = 1.0) -> FloatArray:
    """The step-up procedure; ``dependence`` is what the p-values are multiplied by."""
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError("p-values are between 0 and 1")
    order = np.argsort(p_values, kind="stable")
    count = len(p_values)
    stepped = p_values[order] * (count / np.arange(1, count + 1)) * dependence
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum.accumulate(stepped[::-1])[::-1]
    return np.minimum(1.0, adjusted)
