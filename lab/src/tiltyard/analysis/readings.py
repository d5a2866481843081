"""What trials read of one metric at one point of the grid, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean
from typing import Final

import numpy as np

from tiltyard.stats.types import FloatArray
from tiltyard.wire import Sample

PERCENTILES: Final = ("p50", "p90", "p99", "p999")
"""Percentiles of single operations that are reported, by their names on the wire."""
TIMED: Final = 100
"""Fewer operations have no percentiles worth the name."""
_NS: Final = 1e-9


@dataclass(frozen=True)
class Readings:
    """Values and percentiles, filled trial by trial."""

    values: FloatArray
    """Shape (blocks, systems), in the metric's unit; nan where there is no value."""
    percentiles: FloatArray
    """Shape (blocks, systems, percentiles), in s; nan where too few operations tell."""

    @classmethod
    def empty(cls, shape: tuple[int, int]) -> "Readings":
        """Nothing read yet."""
        return cls(np.full(shape, np.nan), np.full((*shape, len(PERCENTILES)), np.nan))

    def put(self, place: tuple[int, int], samples: Sequence[Sample]) -> None:
        """What the trials of the turn at a place (block, system) read: their mean."""
        self.values[place] = mean_of([sample.value for sample in samples])
        timed = [sample.latency_ns for sample in samples]
        if all(own is not None and own.count >= TIMED for own in timed):
            for number, name in enumerate(PERCENTILES):
                found = [getattr(own, name) for own in timed]
                if None not in found:
                    self.percentiles[(*place, number)] = mean_of(found) * _NS


def mean_of(values: Sequence[float]) -> float:
    """The geometric mean, because systems are compared by the log ratio.

    Where a value is not above zero (no loss, no retransmission) the arithmetic one.
    """
    if len(values) == 1:
        return values[0]
    return geometric_mean(values) if min(values) > 0 else fmean(values)
