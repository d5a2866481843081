"""What trials read, as arrays over the cells that they measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.analysis.axes import Level
from tiltyard.stats.types import FloatArray
from tiltyard.wire import Sample

PERCENTILES: Final = ("p50", "p90", "p99", "p999")
"""Percentiles of single operations that are reported, by their names on the wire."""
TIMED: Final = 100
"""Fewer operations have no percentiles worth the name."""
_NS: Final = 1e-9

CellKey = tuple[str, tuple[tuple[str, Level], ...]]
"""Name of the metric, and the point of the grid."""


@dataclass(frozen=True)
class Readings:
    """The values and percentiles of one trial, or of several ones together."""

    keys: tuple[CellKey, ...]
    """The cells, in the order in which they were measured."""
    values: FloatArray
    """Shape (cells,), in the unit of each cell's metric."""
    percentiles: FloatArray | None
    """Shape (cells, percentiles), in s, nan where too few operations tell; ``None``: nowhere."""


class Reader:
    """Turns samples into readings.

    The trials of a workload measure the same cells in the same order, so that these are told only
    once; what differs is told anew.
    """

    def __init__(self) -> None:
        self._metrics: list[str] = []
        self._points: list[dict[str, Level]] = []
        self._keys: tuple[CellKey, ...] = ()

    def read(self, samples: Sequence[Sample]) -> Readings:
        """The readings of one trial."""
        metrics, points = [s.metric for s in samples], [s.at for s in samples]
        if metrics != self._metrics or points != self._points:
            cells = zip(metrics, points, strict=True)
            self._keys = tuple((metric, tuple(at.items())) for metric, at in cells)
            self._metrics, self._points = metrics, points
        return Readings(
            self._keys, np.array([s.value for s in samples], np.float64), _percentiles(samples)
        )


def _percentiles(samples: Sequence[Sample]) -> FloatArray | None:
    """Percentiles of the samples that were timed operation by operation."""
    found = None
    for place, sample in enumerate(samples):
        timed = sample.latency_ns
        if timed is not None and timed.count >= TIMED:
            if found is None:
                found = np.full((len(samples), len(PERCENTILES)), np.nan)
            told = (getattr(timed, name) for name in PERCENTILES)
            found[place] = [np.nan if ns is None else ns * _NS for ns in told]
    return found


def mean_of(readings: Sequence[Readings]) -> Readings:
    """The mean of several trials in the cells that all of them have.

    The geometric mean, because systems are compared by the log ratio; where a value is not above
    zero (no loss, no retransmission) the arithmetic one. A percentile that one of the trials lacks
    is lacking.
    """
    first, *others = readings
    if not others:
        return first
    places = [{key: place for place, key in enumerate(own.keys)} for own in readings]
    keys = tuple(key for key in first.keys if all(key in own for own in places))
    rows = [[own[key] for key in keys] for own in places]
    values = [own.values[taken] for own, taken in zip(readings, rows, strict=True)]
    timed = [
        own.percentiles[taken]
        for own, taken in zip(readings, rows, strict=True)
        if own.percentiles is not None
    ]
    complete = len(timed) == len(readings)
    return Readings(keys, _mean(np.stack(values)), _mean(np.stack(timed)) if complete else None)


def _mean(values: FloatArray) -> FloatArray:
    """Over the first axis."""
    positive = (values > 0).all(axis=0)
    geometric = np.exp(np.log(values, out=np.zeros_like(values), where=values > 0).mean(axis=0))
    mean: FloatArray = np.where(positive, geometric, values.mean(axis=0))
    return mean
