"""How long each cell of a workload is measured, and the work that makes short ones long enough.

A cell of a few milliseconds is decided by whatever else the host does in that moment, and its noise
hardly shrinks with more blocks. More work for each helps: ten times the work, about a third of the
noise. The time of a cell grows with its work, as far as anybody can tell before trying.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
from pydantic import JsonValue

from tiltyard.analysis.quantity import CellNumbers
from tiltyard.frozen import Frozen
from tiltyard.plan.model import PlannedWorkload
from tiltyard.plan.pilot import CellTime
from tiltyard.run.record import RunRecord
from tiltyard.study.amounts import amounts_in_force, is_amount, larger
from tiltyard.units import parse_size

LEAST_S: Final = 0.1
"""A cell that takes less is short."""
_AIM_S: Final = 1.25 * LEAST_S
"""What a proposal aims at: part of a cell's time may not grow with its work."""
_ENOUGH: Final = 100
"""Trials that tell how long a cell typically takes."""

_Grown = tuple[JsonValue, JsonValue]
"""A value of an amount, and a larger one to write in its place."""


class ShortCells(Frozen):
    """Cells of one workload that take less than :data:`LEAST_S`, and what would mend that."""

    workload: str
    use: str
    cells: int
    short: int
    shortest_s: float
    parameters: dict[str, JsonValue]
    """What to write in the study; empty where no amount of work in force can be raised."""
    trial_s: float
    """What a trial takes as it is, and about what it would take."""
    longer_trial_s: float


def cell_times(run: RunRecord, workload: PlannedWorkload) -> tuple[CellTime, ...]:
    """How long each cell of the headline typically is measured: medians over trials."""
    headline = {metric.name for metric in workload.metrics if metric.role == "headline"}
    done = (
        trial.samples
        for trial in run.by_workload.get(workload.spec.name, ())
        if trial.outcome == "done"
    )
    numbers = CellNumbers()
    told = [(numbers.of(samples), samples.elapsed_s) for samples in islice(done, _ENOUGH)]
    if not told:
        return ()
    cells, times_s = (np.concatenate(column) for column in zip(*told, strict=True))
    keys = list(numbers.keys)
    asked = np.array([metric in headline for metric, _ in keys], dtype=np.bool_)
    counted = asked[cells] & (times_s > 0)
    cells, times_s = cells[counted], times_s[counted]
    # Cell by cell, each from the shortest time to the longest; cells as they were first measured.
    order = np.lexsort((times_s, cells))
    found, starts, counts = np.unique(cells[order], return_index=True, return_counts=True)
    middles = times_s[order][[starts + (counts - 1) // 2, starts + counts // 2]]
    medians = dict(zip(found.tolist(), (middles.sum(axis=0) / 2).tolist(), strict=True))
    return tuple(
        CellTime(metric=keys[cell][0], at=dict(keys[cell][1]), elapsed_s=medians[cell])
        for cell in dict.fromkeys(cells.tolist())
    )


def short_of(cells: Iterable[CellTime]) -> list[CellTime]:
    """Those that take less than :data:`LEAST_S`, the shortest first."""
    short = (cell for cell in cells if cell.elapsed_s < LEAST_S)
    return sorted(short, key=lambda cell: cell.elapsed_s)


def short_cells(
    workload: PlannedWorkload,
    cells: Sequence[CellTime],
    schema: Mapping[str, Any],
    trial_s: float,
) -> ShortCells | None:
    """What to write in the study so that all cells take long enough; ``None`` where they do.

    The same amounts grow as those that are doubled where instructions are counted. One that is a
    dimension of the grid grows point by point, and points that become the same are one.

    Args:
        workload: of the plan.
        cells: as a pilot or a run has measured them.
        schema: of the workload's parameters, which says what is an amount.
        trial_s: what a trial takes.
    """
    short = short_of(cells)
    if not short:
        return None
    grown = {
        name: _grown(cells, name, _listed(workload.effective[name]), each)
        for name, each in amounts_in_force(workload.effective, schema).items()
    }
    parameters: dict[str, JsonValue] = {}
    for name, pairs in grown.items():
        after = list(dict.fromkeys(typed for _, typed in pairs))
        if any(_number(typed) > _number(before) for before, typed in pairs):
            parameters[name] = after if isinstance(workload.effective[name], list) else after[0]
    return ShortCells(
        workload=workload.spec.name,
        use=workload.spec.use,
        cells=len(cells),
        short=len(short),
        shortest_s=short[0].elapsed_s,
        parameters=parameters,
        trial_s=trial_s,
        longer_trial_s=_longer_s(cells, grown, trial_s),
    )


def _grown(
    cells: Sequence[CellTime], name: str, points: Iterable[JsonValue], schema: Mapping[str, Any]
) -> list[_Grown]:
    """Each value of an amount with one that is long enough, ascending.

    What is enough for a larger one is so for a smaller one: the nearer to the aim, the less is
    extrapolated.
    """
    grown: list[_Grown] = []
    for point in sorted(points, key=_number, reverse=True):
        enough = larger(point, schema, _factor(cells, name, point))
        if grown and _number(grown[-1][1]) < _number(enough):
            enough = grown[-1][1]
        grown.append((point, enough))
    return grown[::-1]


def _factor(cells: Iterable[CellTime], name: str, point: JsonValue) -> float:
    """How much more work the shortest cell needs, of those at one point if that is a dimension."""
    times = (cell.elapsed_s for cell in cells if _is_at(cell, name, point))
    shortest_s = min(times, default=math.inf)
    return _AIM_S / shortest_s if shortest_s < LEAST_S else 1.0


def _is_at(cell: CellTime, name: str, point: JsonValue) -> bool:
    """Whether an amount has this value where a cell is; what is no dimension has it anywhere."""
    at = cell.at.get(name, point)
    return is_amount(at) and _number(at) == _number(point)


def _longer_s(
    cells: Sequence[CellTime], grown: Mapping[str, Sequence[_Grown]], trial_s: float
) -> float:
    """About what a trial takes with larger amounts: the time of each cell grows with its work.

    Metrics of one stretch of work share its time, and points that become the same are one.
    """
    measured_s = sum(cell.elapsed_s for cell in cells)
    times: dict[tuple[str, tuple[object, ...]], float] = {}
    for cell in cells:
        factor, at = 1.0, dict[str, object](cell.at)
        for name, points in grown.items():
            for before, after in (one for one in points if _is_at(cell, name, one[0])):
                if _number(before):
                    factor = max(factor, _number(after) / _number(before))
                if name in at:
                    at[name] = after
        place = cell.metric, tuple(at.items())
        times[place] = max(times.get(place, 0.0), factor * cell.elapsed_s)
    return trial_s + min(1.0, trial_s / measured_s) * (sum(times.values()) - measured_s)


def _listed(value: Any) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


def _number(value: Any) -> float:
    """Of an amount; sizes may be typed as text."""
    return float(parse_size(value)) if isinstance(value, str) else float(value)
