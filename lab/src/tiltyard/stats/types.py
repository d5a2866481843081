"""Names for the arrays that pass through the statistics, and for what most of them end in."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Estimate:
    """A number with the interval that it rests on, in one unit."""

    value: float
    low: float
    high: float
