"""A workload's grid laid out on paper, as a map or as a course along one dimension."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tiltyard.analysis.axes import Course, progress_of, spoken_axes
from tiltyard.analysis.model import Cell, WorkloadFindings
from tiltyard.charts.figures import measure_of

_PANELS = 4
"""More panels than this are read better as a map."""


@dataclass(frozen=True)
class Grid:
    """Where each cell of a workload stands in a size × record map."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    legend: str
    """Which dimensions they are: ``rows: file, columns: record``."""
    places: dict[str, tuple[str, str]]
    """``at_label`` of a cell → its row and its column."""


def course(workload: WorkloadFindings) -> Course | None:
    """The dimension along which the values of a workload are drawn as lines; ``None`` for a map."""
    along = progress_of([cell.at for cell in workload.cells])
    if along is None:
        return None
    panels = {(cell.metric, along.case(cell.at)) for cell in workload.cells}
    return along if len(panels) <= _PANELS else None


def map_of(workload: WorkloadFindings) -> Grid | None:
    """The grid of a workload that is shown as a map; a single place is none."""
    grid = None if course(workload) else grid_of(workload.cells)
    return grid if grid and len(set(grid.places.values())) > 1 else None


def grid_of(cells: tuple[Cell, ...]) -> Grid | None:
    """The grid of some cells, the last dimension across; ``None`` if they have no dimensions."""
    axes = spoken_axes(cell.at for cell in cells)
    if not axes:
        return None
    short = [[axis.text(axis.level(cell.at)) for cell in cells] for axis in axes]
    columns = short[-1]
    rows = [" · ".join(parts) for parts in zip(*short[:-1], strict=True)] or [""] * len(columns)
    return Grid(
        rows=tuple(dict.fromkeys(rows)),
        columns=tuple(dict.fromkeys(columns)),
        legend=_legend([axis.name for axis in axes]),
        places={
            cell.at_label: place
            for cell, place in zip(cells, zip(rows, columns, strict=True), strict=True)
        },
    )


def _legend(names: list[str]) -> str:
    rows = f"rows: {' · '.join(names[:-1])}" if names[:-1] else ""
    return ", ".join(filter(None, (rows, f"columns: {names[-1]}")))


def by_test(cells: tuple[Cell, ...]) -> list[list[Cell]]:
    """The cells of each test, tests in the workload's order."""
    tests: dict[str, list[Cell]] = {}
    for cell in cells:
        tests.setdefault(cell.metric, []).append(cell)
    return list(tests.values())


def values_of(cells: Iterable[Cell], system: str) -> Iterator[tuple[Cell, float]]:
    """Each cell with the system's typical value there."""
    for cell in cells:
        for summary in cell.summaries:
            if summary.system == system:
                yield cell, summary.median


def spans(workload: WorkloadFindings, system: str) -> str:
    """``throughput from 21.4 KB/s (…) to 6.2 KB/s (…).`` for each test."""
    return " ".join(
        f"{cells[0].label} from {measure.text(least)} ({cells_at[least]}) "
        f"to {measure.text(most)} ({cells_at[most]})."
        for cells in by_test(workload.cells)
        if (cells_at := {value: cell.at_label for cell, value in values_of(cells, system)})
        for measure in [measure_of(cells)]
        for least, most in [(min(cells_at), max(cells_at))]
    )
