"""Many comparisons at once: adjusted p-values, and intervals that were picked for being clear.

An adjusted p-value is compared with the level wanted for the whole family. The false discovery rate
is SciPy's work; Holm's procedure it does not have. All are checked against statsmodels.
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
    return _false_discovery(p_values, "bh")


def benjamini_yekutieli(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values that control the false discovery rate under any dependence; shape kept.

    Raises:
        ValueError: if one is not between 0 and 1, as nan is not.

    Source: Benjamini and Yekutieli, Ann. Stat. 29 (2001).
    """
    return _false_discovery(p_values, "by")


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


def _false_discovery(p_values: FloatArray, method: str) -> FloatArray:
    from scipy.stats import false_discovery_control

    adjusted: FloatArray = false_discovery_control(p_values, method=method)
    return adjusted
