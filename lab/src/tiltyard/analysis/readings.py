"""What trials read of one metric at one point of the grid, as arrays."""

from dataclasses import dataclass
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

    def put(self, place: tuple[int, int], sample: Sample) -> None:
        """What the trial at a place (block, system) read."""
        self.values[place] = sample.value
        timed = sample.latency_ns
        if timed is not None and timed.count >= TIMED:
            found = (getattr(timed, name) for name in PERCENTILES)
            self.percentiles[place] = [np.nan if ns is None else ns * _NS for ns in found]
