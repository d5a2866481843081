"""What trials measured, as arrays over the cells of a workload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from tiltyard.analysis.warm_up import values_after_warm_up
from tiltyard.plan.model import PlannedWorkload
from tiltyard.run.record import TrialRecord
from tiltyard.run.samples import PERCENTILES, CellKey, Samples, SampleTable
from tiltyard.stats.types import FloatArray, IntArray


@dataclass(frozen=True)
class Readings:
    """Values and percentiles, cell by cell and place by place."""

    keys: tuple[CellKey, ...]
    """The cells, in the order of first measurement."""
    values: FloatArray
    """Shape (cells, …), in the unit of each cell's metric; nan where there is no value."""
    percentiles: FloatArray
    """Shape (cells, …, percentiles), in s; nan where too few operations were timed."""


def is_complete(trials: Sequence[TrialRecord], workload: PlannedWorkload) -> bool:
    """Whether all planned trials of a turn are done.

    A mean over some of the trials would count in its block like one over all.
    """
    return len(trials) >= workload.trials and all(trial.outcome == "done" for trial in trials)


def read_trials(
    trials: Mapping[tuple[int, ...], Sequence[TrialRecord]],
    shape: tuple[int, ...],
    workload: PlannedWorkload,
) -> Readings:
    """The mean over the trials of each place, of the cells that all of them have.

    The geometric mean, because systems are compared by the log ratio; where a value is not above
    zero (no loss, no retransmission) the arithmetic one. A percentile that one of the trials lacks
    is lacking.

    Args:
        trials: place in the arrays → the trials that together are its measurement.
        shape: of the places.
        workload: which of two trials completes a measurement, and what of each is warm-up.
    """
    numbers = CellNumbers()
    rows = [
        (place, repeat, trial, numbers.of(trial.samples))
        for place, several in trials.items()
        for repeat, trial in enumerate(t for t in several if workload.completes(t.key.repeat))
    ]
    repeats = 1 + max((repeat for _, repeat, _, _ in rows), default=0)
    values = np.full((repeats, len(numbers.keys), *shape), np.nan)
    percentiles = np.full((*values.shape, len(PERCENTILES)), np.nan)
    present = np.zeros(values.shape, dtype=np.bool_)
    for place, repeat, trial, cells in rows:
        at: tuple[int | IntArray, ...] = (repeat, cells, *place)
        values[at], kept = values_after_warm_up(trial, workload)
        present[at] = kept
        if (timed := trial.samples.percentiles_s) is not None:
            percentiles[at] = np.where(kept, timed.T, np.nan).T
    measured = np.any(present.all(axis=0), axis=tuple(range(1, 1 + len(shape))))
    keys = tuple(compress(numbers.keys, measured))
    return Readings(keys, _mean(values[:, measured]), _mean(percentiles[:, measured]))


class CellNumbers:
    """One number for each cell, whichever table its samples are in."""

    def __init__(self) -> None:
        self.keys: dict[CellKey, int] = {}
        self._of_table: dict[SampleTable, IntArray] = {}

    def of(self, samples: Samples) -> IntArray:
        """Of each sample, shape (samples,)."""
        table, cells = samples.table, samples.cells
        numbers = self._of_table.get(table)
        if numbers is None:
            numbers = self._of_table[table] = np.full(len(table.cells), -1)
        for cell in cells[numbers[cells] < 0].tolist():
            numbers[cell] = self.keys.setdefault(table.cells[cell].key, len(self.keys))
        found: IntArray = numbers[cells]
        return found


def _mean(values: FloatArray) -> FloatArray:
    """Over the first axis."""
    if len(values) == 1:
        first: FloatArray = values[0]
        return first
    positive = (values > 0).all(axis=0)
    geometric = np.exp(np.log(values, out=np.zeros_like(values), where=values > 0).mean(axis=0))
    mean: FloatArray = np.where(positive, geometric, values.mean(axis=0))
    return mean
