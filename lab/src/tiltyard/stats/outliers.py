"""How far is the oddest value from its like, and is that odd for noise with heavy tails?"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.types import FloatArray

DEGREES: Final = 3
"""Of the Student law that stands for noise: benchmarks have tails that heavy without a fault."""
_NORMAL_QUARTILE: Final = 0.674489750196082


@dataclass(frozen=True)
class Outlier:
    """The value that is farthest from the median of its column."""

    row: int
    column: int
    distance: float
    """Signed, in the unit of the values."""
    score: float
    """Modified z-score, ``0.6745 |x - median| / MAD``."""
    p: float
    """Chance that *any* of the values is so far out in noise of 3 degrees of freedom."""
    n: int
    """Values in its column."""


def max_outlier(values: FloatArray, least: int) -> Outlier | None:
    """The oddest of the values, shape (rows, columns), nan where there is none.

    Args:
        values: each column with a location and a spread of its own.
        least: columns with fewer values are left out: their spread is not known well enough.

    Source: Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993), for the score. Its
    usual limit of 3.5 assumes normal noise, which would call one of a hundred trials odd.
    """
    from scipy.special import stdtr, stdtrit

    counts = np.isfinite(values).sum(axis=0)
    kept = np.flatnonzero(counts >= least)
    if not len(kept):
        return None
    own = values[:, kept]
    distances = own - np.nanmedian(own, axis=0)
    spread = np.nanmedian(np.abs(distances), axis=0)
    ratios = np.divide(np.abs(distances), spread, out=np.zeros_like(own), where=spread > 0)
    row, column = np.unravel_index(int(np.nanargmax(ratios)), ratios.shape)
    ratio = float(ratios[row, column])
    single = float(2 * stdtr(DEGREES, -ratio * stdtrit(DEGREES, 0.75)))
    return Outlier(
        row=int(row),
        column=int(kept[column]),
        distance=float(distances[row, column]),
        score=_NORMAL_QUARTILE * ratio,
        p=min(1.0, single * int(counts[kept].sum())),
        n=int(counts[kept[column]]),
    )
