"""The measured values as arrays: one natural logarithm a block and system.

A *quantity* is anything that yields one number a trial: a metric at one point of the grid, or the
geometric mean over several of those. Everything downstream treats all of them alike.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from tiltyard.plan.model import Plan, PlannedWorkload
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.stats.types import BoolArray, FloatArray
from tiltyard.units import format_size
from tiltyard.wire import MetricCard

Direction = Literal["higher", "lower"]

COUNTED = {"children": "child", "threads": "thread"}
"""Axes whose numbers say how many, with the word for one; the others say which one."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class GridCell:
    """One metric at one point of the grid."""

    metric: MetricCard
    at: dict[str, int | str]
    quantity: Quantity

    @property
    def at_label(self) -> str:
        """``64 MiB file, 4 KiB record``; empty where there is no grid."""
        return label_of(self.at)

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
    cells: tuple[GridCell, ...]
    """Headline metrics, metric by metric."""
    details: tuple[GridCell, ...]
    """The other metrics."""


def pairs_of(systems: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Every pair of systems once, as places (later, earlier) in the order of the study."""
    return ((later, earlier) for earlier, later in combinations(range(len(systems)), 2))


def label_of(at: dict[str, int | str]) -> str:
    """A point of a grid in words: ``64 MiB file, 4 KiB record, 2 threads``, or ``loop 3``."""
    return ", ".join(_at_axis(axis, value) for axis, value in at.items())


def level_text(value: int | str) -> str:
    """A level alone. Whole multiples of 1 KiB are sizes; other numbers are counts or places."""
    if _is_size(value):
        return format_size(int(value))
    return str(value)


def _at_axis(axis: str, value: int | str) -> str:
    if isinstance(value, int) and not _is_size(value) and axis not in COUNTED:
        return f"{axis} {value}"
    return f"{level_text(value)} {COUNTED[axis] if value == 1 else axis}"


def _is_size(value: int | str) -> bool:
    return isinstance(value, int) and value >= 1024 and value % 1024 == 0


def final_trials(run: RunRecord) -> dict[tuple[int, str, str], TrialRecord]:
    """The trial that counts for each (block, system, workload): the last one that ended itself.

    An interrupted trial counts for nothing: the run repeats it when it goes on.
    """
    return {
        (trial.key.block, trial.key.system, trial.key.workload): trial
        for trial in run.trials
        if trial.outcome != "interrupted"
    }


def collect(plan: Plan, run: RunRecord, workload: PlannedWorkload) -> Measured:
    """The values of one workload, as arrays in the order of the plan's blocks and systems."""
    systems = tuple(system.name for system in plan.systems)
    blocks = tuple(block.number for block in plan.blocks)
    shape = (len(blocks), len(systems))
    attempted = np.zeros(shape, dtype=np.bool_)
    values: dict[tuple[str, tuple[tuple[str, int | str], ...]], FloatArray] = {}
    row_of = {number: row for row, number in enumerate(blocks)}
    column_of = {name: column for column, name in enumerate(systems)}
    for (block, system, name), trial in final_trials(run).items():
        if name != workload.spec.name:
            continue
        place = row_of[block], column_of[system]
        attempted[place] = True
        for sample in trial.samples if trial.outcome == "done" else ():
            key = sample.metric, tuple(sample.at.items())
            if key not in values:
                values[key] = np.full(shape, np.nan)
            # A rate or time of zero has no logarithm: it counts as a trial without that value.
            values[key][place] = math.log(sample.value) if sample.value > 0 else np.nan
    cells = [
        _cell(workload, metric, dict(at), log_values, attempted)
        for metric in workload.metrics
        for (name, at), log_values in values.items()
        if name == metric.name
    ]
    return Measured(
        workload=workload,
        systems=systems,
        blocks=blocks,
        attempted=attempted,
        cells=tuple(cell for cell in cells if cell.metric.role == "headline"),
        details=tuple(cell for cell in cells if cell.metric.role == "detail"),
    )


def _cell(
    workload: PlannedWorkload,
    metric: MetricCard,
    at: dict[str, int | str],
    log_values: FloatArray,
    attempted: BoolArray,
) -> GridCell:
    """One metric at one point, with the words for it."""
    name, label = workload.spec.name, metric.label
    named = label if label.startswith(f"{name} ") else f"{name} {label}"
    topic = ", ".join(filter(None, (named, label_of(at))))
    quantity = Quantity(topic, metric.unit, metric.direction, 1, log_values, attempted)
    return GridCell(metric, at, quantity)


def mean_quantity(topic: str, cells: Sequence[GridCell]) -> Quantity:
    """The geometric mean over cells, block by block, as one quantity.

    A difference of two systems in it is the mean of the differences in the cells, so that a
    correlation between cells is contained in the block and needs no assumption.
    """
    direction, stack = oriented(cells)
    units = {cell.metric.unit for cell in cells}
    directions = {cell.metric.direction for cell in cells}
    return Quantity(
        topic=topic,
        unit=units.pop() if len(units) == len(directions) == 1 else "",
        direction=direction,
        cells=len(cells),
        log_values=stack.mean(axis=0),
        attempted=cells[0].quantity.attempted,
    )


def oriented(cells: Sequence[GridCell]) -> tuple[Direction, FloatArray]:
    """Log values of all cells that point the same way, shape (cells, blocks, systems).

    Where metrics point both ways, those of which less is better are inverted: higher is then
    better.
    """
    directions = {cell.metric.direction for cell in cells}
    direction: Direction = directions.pop() if len(directions) == 1 else "higher"
    return direction, np.stack(
        [
            cell.quantity.log_values
            if cell.metric.direction == direction
            else -cell.quantity.log_values
            for cell in cells
        ]
    )
