"""The measured values as arrays: one natural logarithm a block and system.

A *quantity* is anything that yields one number a trial: a metric at one point of the grid, or the
geometric mean over several of those. Everything downstream treats all of them alike.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress, takewhile
from math import log1p
from statistics import fmean
from typing import Final, Literal

import numpy as np

from tiltyard.analysis.axes import Axis, Point, label_of, spoken_axes
from tiltyard.analysis.warm_up import values_after_warm_up
from tiltyard.importers.live import bin_width
from tiltyard.plan.model import Plan, PlannedWorkload, Unit
from tiltyard.plan.sessions import session_of
from tiltyard.run.noise_limits import TICKS_S
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.samples import BIN_WIDTH, PERCENTILES, CellKey, Samples, SampleTable
from tiltyard.stats.types import BoolArray, FloatArray, IntArray
from tiltyard.study.model import Covariate
from tiltyard.study.program import CPU_TIME
from tiltyard.units import count_of
from tiltyard.wire import MetricCard

MAX_LOST_SHARE: Final = 0.95
"""A larger share of the time is not known: a clock tick would decide everything there."""

COVARIATE_WORDS: Final[Mapping[Covariate, str]] = {
    "external_cpu": "CPU time of others on the CPUs that measure",
    "steal": "time that the hypervisor took of them",
}
LEFT_WORDS: Final[Mapping[Covariate, str]] = {
    "external_cpu": "CPU time left by other processes",
    "steal": "CPU time left by the hypervisor",
}
"""What is compared of each."""


def covariates_of_turn(trials: Sequence[TrialRecord], names: Sequence[Covariate]) -> FloatArray:
    """Means over the trials of a turn, shape (covariates,); nan where one of them is not known."""
    return np.array([np.mean([_left(trial, name) for trial in trials]) for name in names])


def _left(trial: TrialRecord, name: Covariate) -> float:
    """Logarithm of the share of CPU time left to the workload; nan where that is not known.

    Systems that alternate share what others took: what each had of it nobody can tell.
    A few clock ticks count as none.
    """
    seen = trial.telemetry
    taken_s = trial.taken_s(name)
    if trial.alternated or seen is None or taken_s is None or seen.elapsed_s <= 0:
        return np.nan
    if taken_s <= TICKS_S:
        return 0.0
    cpus = seen.external_cpus
    share = taken_s / seen.elapsed_s / cpus if cpus else np.nan
    return float(np.log1p(-share)) if share <= MAX_LOST_SHARE else np.nan


Direction = Literal["higher", "lower"]
LATENCY: Final = "latency"
"""The metric of a workload that is the time of one operation; compared beside its headline."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """One number a trial, on the log scale."""

    topic: str
    """As a sentence names it: ``iozone random read, 64 MiB file, 4 KiB record``."""
    unit: str
    """``B/s``, ``1/s`` or ``s``; empty where a mean goes over different units."""
    direction: Direction
    cells: int
    """How many cells the number is the geometric mean of; 1 for a cell itself."""
    log_values: FloatArray
    """Shape (blocks, systems); nan where there is no value."""
    attempted: BoolArray
    """Shape (blocks, systems): a trial ended there, done or failed."""
    named: str = ""
    """What is measured, without the place: ``tcp_rr transactions``; empty for several metrics."""
    sessions: IntArray | None = None
    """Shape (blocks,): the session of each block, where sessions are what is replicated."""
    rounding: float = 0.0
    """How far the log ratio of two values may lie off, whatever their number: the width of a bin,
    where a value is a percentile that is known to one. Two bins read by one rule leave open as much
    as one of them."""

    @property
    def unit_of_replication(self) -> Unit:
        """What one difference is of."""
        return "block" if self.sessions is None else "session"


@dataclass(frozen=True, eq=False, kw_only=True)
class GridCell(Quantity):
    """One metric at one point of the grid."""

    metric: MetricCard
    at: Point
    axes: tuple[Axis, ...]
    values: FloatArray
    """Shape (blocks, systems), in the metric's unit; nan where there is no value."""
    percentiles: FloatArray
    """Shape (blocks, systems, percentiles): see :data:`tiltyard.run.samples.PERCENTILES`."""

    @property
    def at_label(self) -> str:
        """``64 MiB file, 4 KiB record``; empty where there is no grid."""
        return label_of(self.at, self.axes)

    @property
    def is_latency(self) -> bool:
        """Whether it is compared beside the headline, as the time of one operation."""
        return self.metric.name == LATENCY and self.metric.role == "detail"

    @property
    def is_cpu_time(self) -> bool:
        """Whether it is CPU time that was counted."""
        return self.metric.name == CPU_TIME and bool(np.isfinite(self.log_values).any())

    @property
    def label(self) -> str:
        """``random read, 64 MiB file, 4 KiB record``."""
        return ", ".join(filter(None, (self.metric.label, self.at_label)))


@dataclass(frozen=True)
class Measured:
    """Everything that was measured of one workload."""

    workload: PlannedWorkload
    systems: tuple[str, ...]
    blocks: tuple[int, ...]
    """Numbers of the planned blocks: the rows of the arrays."""
    attempted: BoolArray
    """Shape (blocks, systems)."""
    trials: tuple[TrialRecord, ...]
    """Those that have ended, in the order in which they were run."""
    cells: tuple[GridCell, ...]
    """Headline metrics, metric by metric."""
    latencies: tuple[GridCell, ...]
    """The time of one operation, where the workload has such a metric."""
    details: tuple[GridCell, ...]
    """The other metrics."""
    cpu_time: GridCell | None
    """That of the details which is compared beside the time that the same work takes; ``None``
    where another one is the headline, or where no CPU time was counted."""
    covariates: FloatArray
    """What others did during each turn, shape (blocks, systems, covariates), in the order of
    the plan; nan where there is no turn or it is not known."""

    @property
    def done(self) -> Iterator[TrialRecord]:
        """The trials that are done."""
        return (trial for trial in self.trials if trial.outcome == "done")

    @property
    def network(self) -> bool:
        """Whether it was measured over a network."""
        return self.workload.target == "far"


def pairs_of(systems: Sequence[str], baseline: str | None = None) -> Iterator[tuple[int, int]]:
    """Every pair of systems once, as places (later, earlier) in the order of the study.

    Others are always compared against the baseline, not the baseline with them.
    """
    for earlier, later in combinations(range(len(systems)), 2):
        yield (earlier, later) if systems[later] == baseline else (later, earlier)


def _final_trials(run: RunRecord, workload: str) -> tuple[TrialRecord, ...]:
    """The trial of a workload that counts for each key: the last one that ended itself.

    An interrupted trial counts for nothing: the run repeats it when it goes on.
    """
    trials = run.by_workload.get(workload, ())
    return tuple({trial.key: trial for trial in trials if trial.outcome != "interrupted"}.values())


def collect(plan: Plan, run: RunRecord, workload: PlannedWorkload) -> Measured:
    """The values of one workload, as arrays in the order of the plan's blocks and systems.

    Where a turn has several trials of the workload, the block's value is their mean; there is none
    unless all of them are done.
    """
    systems = tuple(system.name for system in plan.systems)
    spares = (block for block in plan.spares if block.number in run.blocks_begun)
    blocks = tuple(block.number for block in (*plan.blocks, *spares))
    shape = (len(blocks), len(systems))
    attempted = np.zeros(shape, dtype=np.bool_)
    row_of = {number: row for row, number in enumerate(blocks)}
    column_of = {name: column for column, name in enumerate(systems)}
    turns: dict[tuple[int, str], list[TrialRecord]] = {}
    ended = _final_trials(run, workload.spec.name)
    for trial in ended:
        turns.setdefault((trial.key.block, trial.key.system), []).append(trial)
    names = plan.design.adjust_for
    covariates = np.full((*shape, len(names)), np.nan)
    complete: dict[tuple[int, ...], list[TrialRecord]] = {}
    for (block, system), trials in turns.items():
        place = row_of[block], column_of[system]
        attempted[place] = len(trials) == workload.trials
        covariates[place] = covariates_of_turn(trials, names)
        if is_complete(trials, workload):
            complete[place] = trials
    cells = read_trials(complete, workload, attempted, _sessions(plan, blocks))
    return Measured(
        workload=workload,
        systems=systems,
        blocks=blocks,
        attempted=attempted,
        trials=ended,
        cells=tuple(cell for cell in cells if cell.metric.role == "headline"),
        latencies=tuple(cell for cell in cells if cell.is_latency),
        details=tuple(
            cell for cell in cells if cell.metric.role == "detail" and not cell.is_latency
        ),
        cpu_time=next((c for c in cells if workload.has_cpu_time and c.is_cpu_time), None),
        covariates=covariates,
    )


def _sessions(plan: Plan, blocks: Sequence[int]) -> IntArray | None:
    """The session of each block, where a verdict goes by sessions."""
    if plan.design.unit == "block":
        return None
    sessions = session_of(plan)
    return np.array([sessions[number] for number in blocks])


def is_complete(trials: Sequence[TrialRecord], workload: PlannedWorkload) -> bool:
    """Whether all planned trials of a turn are done.

    A mean over some of the trials would count in its block like one over all.
    """
    return len(trials) >= workload.trials and all(trial.outcome == "done" for trial in trials)


def read_trials(
    trials: Mapping[tuple[int, ...], Sequence[TrialRecord]],
    workload: PlannedWorkload,
    attempted: BoolArray,
    sessions: IntArray | None = None,
) -> tuple[GridCell, ...]:
    """The mean over the trials of each place, of the cells that all of them have.

    The geometric mean, because systems are compared by the log ratio; where a value is not above
    zero (no loss, no retransmission) the arithmetic one. A percentile that one of the trials lacks
    is lacking.

    Args:
        trials: place in the arrays → the trials that together are its measurement.
        workload: which of two trials completes a measurement, and what of each is warm-up.
        attempted: of the shape of the places; as a quantity has it, like the sessions.
        sessions: of each block.
    """
    numbers = CellNumbers()
    rows = [
        (place, repeat, trial, numbers.of(trial.samples))
        for place, several in trials.items()
        for repeat, trial in enumerate(t for t in several if workload.completes(t.key.repeat))
    ]
    repeats = 1 + max((repeat for _, repeat, _, _ in rows), default=0)
    values = np.full((repeats, len(numbers.keys), *attempted.shape), np.nan)
    percentiles = np.full((*values.shape, len(PERCENTILES)), np.nan)
    present = np.zeros(values.shape, dtype=np.bool_)
    for place, repeat, trial, cells in rows:
        at: tuple[int | IntArray, ...] = (repeat, cells, *place)
        values[at], kept = values_after_warm_up(trial, workload)
        present[at] = kept
        if (timed := trial.samples.percentiles_s) is not None:
            percentiles[at] = np.where(kept, timed.T, np.nan).T
    measured = np.any(present.all(axis=0), axis=tuple(range(1, 1 + attempted.ndim)))
    means = _mean(values[:, measured]), _mean(percentiles[:, measured])
    keys = compress(numbers.keys, measured)
    return (*_cells(workload, (*keys,), *means, attempted, sessions),)


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


def _cells(
    workload: PlannedWorkload,
    keys: Iterable[CellKey],
    values: FloatArray,
    percentiles: FloatArray,
    attempted: BoolArray,
    sessions: IntArray | None,
) -> Iterator[GridCell]:
    """Metric by metric, with the words for each; arrays of shape (cells, …)."""
    # A rate or time of zero has no logarithm: it counts as a trial without that value, and so does
    # an infinite one.
    finite = np.where(np.isfinite(values), values, np.nan)
    positive = finite > 0
    logs = np.log(finite, out=np.full(finite.shape, np.nan), where=positive)
    for metric in workload.metrics:
        points = {at: row for row, (name, at) in enumerate(keys) if name == metric.name}
        axes = spoken_axes(dict(at) for at in points)
        named = metric_of(workload.spec.name, workload.display, metric.label)
        rounding, headline = rounding_of(workload, metric), metric.role == "headline"
        for at, row in points.items():
            yield GridCell(
                topic=", ".join(filter(None, (named, label_of(dict(at), axes)))),
                unit=metric.unit,
                direction=metric.direction,
                cells=1,
                log_values=logs[row],
                attempted=attempted,
                named=named,
                sessions=sessions,
                rounding=rounding,
                metric=metric,
                at=dict(at),
                axes=axes,
                values=np.where(positive[row], finite[row], np.nan) if headline else finite[row],
                percentiles=percentiles[row],
            )


def log_width(bin_width: float) -> float:
    """On the log scale: by how much a value is at most above the lower end of its bin."""
    return -log1p(-bin_width)


def rounding_of(workload: PlannedWorkload, metric: MetricCard) -> float:
    """How far a value may lie off in its bin, on the log scale; 0: it is in none."""
    read = workload.readings and workload.readings.read
    if read or workload.program:
        return log_width(bin_width(read, metric.name)) if read else 0.0
    in_bins = metric.unit == "s" and metric.name.rpartition("_")[2] in PERCENTILES
    return log_width(BIN_WIDTH) if in_bins else 0.0


def metric_of(name: str, display: str, label: str, between: str = " ") -> str:
    """A metric with its workload, no word twice: ``TCP throughput received``, ``random reads``.

    Args:
        name: of the workload.
        display: what people read in its place.
        label: of the metric.
        between: what parts the two where they share no word.
    """
    if label.startswith(f"{name} "):
        return label
    owner, words = display.split(), label.split()
    if not words or set(owner) <= set(words):
        return label
    if owner[-1] == words[0]:
        return " ".join(owner + words[1:])
    # Not of a proper name: "Compile Bench" has a test "Compile".
    if owner[0].islower() and words[-1].endswith(owner[0]):
        return " ".join(words + owner[1:])
    if owner[0] == words[0] and len(words) > 1:
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(owner, words, strict=False))
        return " ".join(owner + words[len(list(alike)) :])
    return f"{display}{between}{label}"


def over(cells: Sequence[GridCell]) -> str:
    """Over what a mean goes: ``over messages of 32 B to 65,507 B``, or ``over all 78 cells``."""
    axes = cells[0].axes
    levels = [axis.level(cell.at) for axis in axes for cell in cells]
    numbers = [level for level in levels if isinstance(level, int)]
    one_metric = len({cell.metric.name for cell in cells}) == 1
    if one_metric and len(axes) == 1 and len(numbers) == len(levels):
        return f"over {axes[0].span(numbers)}"
    return f"over all {count_of(len(cells), 'cell')}"


def mean_over(name: str, cells: Sequence[GridCell]) -> Quantity:
    """The mean over cells of a workload of this name, of one metric or of several ones."""
    metrics = {cell.named for cell in cells}
    named = metrics.pop() if len(metrics) == 1 else ""
    return replace(mean_of(f"{named or name} {over(cells)}", cells), named=named)


def mean_of(topic: str, parts: Sequence[Quantity]) -> Quantity:
    """The geometric mean, block by block, as one quantity.

    A difference of two systems in it is the mean of the differences in its parts, so that a
    correlation between these is contained in the block and needs no assumption.
    """
    direction, stack = oriented(parts)
    kinds = {(own.unit, own.direction) for own in parts}
    return Quantity(
        topic=topic,
        unit=parts[0].unit if len(kinds) == 1 else "",
        direction=direction,
        cells=len(parts),
        log_values=stack.mean(axis=0),
        attempted=np.all([own.attempted for own in parts], axis=0),
        sessions=parts[0].sessions,
        rounding=fmean(own.rounding for own in parts),
    )


def oriented(parts: Sequence[Quantity]) -> tuple[Direction, FloatArray]:
    """Log values that point the same way, shape (parts, blocks, systems).

    Where they point both ways, those of which less is better are inverted: higher is then better.
    """
    directions = {own.direction for own in parts}
    direction: Direction = directions.pop() if len(directions) == 1 else "higher"
    signs = (1 if own.direction == direction else -1 for own in parts)
    return direction, np.stack(
        [sign * own.log_values for sign, own in zip(signs, parts, strict=True)]
    )
