"""The warm-up of trials: what is left out at the start of each, as a pilot has found.

A trial with exactly one headline value, a rate whose work its time slices add up to, can be told
from any instant on: the work of the later slices over their time. Other trials (several metrics, a
grid, work outside the slices) are left as they are, and the findings say so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from tiltyard.plan.model import PlannedWorkload
from tiltyard.run.record import TrialRecord
from tiltyard.stats.steady import LEAST_SLICES, mser5
from tiltyard.stats.types import BoolArray, FloatArray

SAFETY: Final = 1.5
"""By which the longest warm-up seen is multiplied."""
_MOST_OF_TRIAL: Final = 0.75
"""However long that is, a quarter of the shortest trial is kept."""
_EXACT: Final = 1e-6
_AMOUNT: Final = {"B/s": "bytes", "1/s": "operations"}
"""Unit of a rate → what it counts."""


@dataclass(frozen=True)
class Series:
    """The time slices of a trial, whose work adds up to its one headline value."""

    row: int
    """Of that value, among the samples of the trial."""
    ends_s: FloatArray
    """Ends of the slices since the timed work began, shape (n,)."""
    amounts: FloatArray
    """What was done in each: bytes or operations."""

    @property
    def total_s(self) -> float:
        """How long the timed work took."""
        return float(self.ends_s[-1])

    @property
    def slice_s(self) -> float:
        """How long a slice is."""
        return float(np.median(np.diff(self.ends_s, prepend=0.0)))

    @property
    def rates(self) -> FloatArray:
        """Rate in each whole slice; a stump at the end is left off."""
        widths = np.diff(self.ends_s, prepend=0.0)
        whole = len(widths) - (widths[-1] < self.slice_s / 2)
        rates: FloatArray = self.amounts[:whole] / widths[:whole]
        return rates

    def rate_after(self, warm_up_s: float) -> float | None:
        """Rate from the first slice that begins no earlier; ``None`` if there is none."""
        begins_s = np.concatenate(([0.0], self.ends_s[:-1]))
        first = int(np.searchsorted(begins_s, warm_up_s))
        if first == len(begins_s):
            return None
        return float(self.amounts[first:].sum() / (self.total_s - begins_s[first]))


def series_of(trial: TrialRecord, workload: PlannedWorkload) -> Series | None:
    """The series of a trial; ``None`` where its slices do not add up to one headline value."""
    if not trial.intervals:
        return None
    headline = {metric.name for metric in workload.metrics if metric.role == "headline"}
    cells = trial.samples.table.cells
    rows = (row for row, cell in enumerate(trial.samples.cells) if cells[cell].metric in headline)
    places = list(islice(rows, 2))
    if len(places) != 1:
        return None
    sample = trial.samples[places[0]]
    if sample.unit not in _AMOUNT:
        return None
    counted = _AMOUNT[sample.unit]
    series = Series(
        row=places[0],
        ends_s=np.array([interval.t_s for interval in trial.intervals]),
        amounts=np.array([getattr(interval, counted) for interval in trial.intervals], np.float64),
    )
    rate = series.rate_after(0.0) or 0.0
    return series if abs(rate - sample.value) <= _EXACT * sample.value else None


def values_after_warm_up(
    trial: TrialRecord, workload: PlannedWorkload
) -> tuple[FloatArray, BoolArray]:
    """Values of a trial, the warm-up of the plan left out where that can be done; shape (samples,).

    Also which samples have a value: a trial that was over before the warm-up has none. Latencies
    stay those of the whole trial.
    """
    values = trial.samples.values
    kept = np.ones(len(values), dtype=np.bool_)
    if workload.warm_up_s and (series := series_of(trial, workload)):
        value = series.rate_after(workload.warm_up_s)
        kept[series.row] = value is not None
        values[series.row] = np.nan if value is None else value
    return values, kept


def all_series_of(trials: Iterable[TrialRecord], workload: PlannedWorkload) -> list[Series]:
    """The series of all trials of a workload that are done and have one."""
    series = [
        series_of(trial, workload)
        for trial in trials
        if trial.outcome == "done" and trial.key.workload == workload.spec.name
    ]
    return [of_trial for of_trial in series if of_trial is not None]


def warm_up_of(series: Sequence[Series]) -> float:
    """The warm-up to freeze: 1.5 times the longest in any trial, in s; 0 where none is known."""
    found_s = [
        float(one.ends_s[cut - 1])
        for one in series
        if len(one.rates) >= LEAST_SLICES and (cut := mser5(one.rates))
    ]
    if not found_s:
        return 0.0
    shortest_s = min(one.total_s for one in series)
    return min(SAFETY * max(found_s), _MOST_OF_TRIAL * shortest_s)
