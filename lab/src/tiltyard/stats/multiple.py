"""Many comparisons at once: adjusted p-values.

An adjusted p-value is compared with the level wanted for the whole family.
"""

import numpy as np

from tiltyard.stats.types import FloatArray


def benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values that control the false discovery rate; shape kept.

    Holds for independent and for positively dependent comparisons.
    Source: Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995).
    """
    if len(p_values) == 0:
        return p_values
    from scipy.stats import false_discovery_control

    adjusted: FloatArray = false_discovery_control(p_values, method="bh")
    return adjusted


def holm(p_values: FloatArray) -> FloatArray:
    """Adjusted p-values that control the chance of any false claim; shape kept.

    Holds under any dependence. Source: Holm, Scand. J. Stat. 6 (1979).
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.maximum.accumulate(p_values[order] * factors)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted
