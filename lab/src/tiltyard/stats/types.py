"""Names for the arrays that pass through the statistics, and for what most of them end in."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Evidence:
    """Many comparisons, each array of shape (m,); in the unit of the differences."""

    estimate: FloatArray
    """Hodges–Lehmann's; by t the mean, or the difference of means."""
    low: FloatArray
    high: FloatArray
    p: FloatArray
    """Two-sided; at a look, that of this look by itself."""

    def of(self, rows: BoolArray) -> "Evidence":
        """That of some of the comparisons."""
        return Evidence(self.estimate[rows], self.low[rows], self.high[rows], self.p[rows])


@dataclass(frozen=True)
class Estimate:
    """A number with the interval that it rests on, in one unit."""

    value: float
    low: float
    high: float
