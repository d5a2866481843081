"""Tables along one dimension: a row a level, systems beside each other, and what one is worth more.

Only arrangement: every figure is one of the findings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from tiltyard.analysis.axes import Course
from tiltyard.analysis.model import Advantage, Average, Cell, Findings, Index, WorkloadFindings
from tiltyard.analysis.quantity import Direction
from tiltyard.charts.grid import course
from tiltyard.units import display_unit


@dataclass(frozen=True)
class Row:
    """One level of a course."""

    level: str
    number: float | None
    """The level itself; ``None`` where it is not a number."""
    case: str
    """What varies beside it: ``8 flows``; mostly empty."""
    cell: Cell


@dataclass(frozen=True)
class CourseTable:
    """One metric at every level."""

    label: str
    direction: Direction
    unit: str
    factor: float
    """What the printed unit is worth in base units: that of the smallest value, so that none loses
    its digits."""
    heading: str
    rows: tuple[Row, ...]
    index: Index | None
    """Geometric mean over the rows, where it was judged."""
    averages: tuple[Average, ...] = ()
    decimals: int | None = None
    """As the source prints it; ``None`` for what was run here."""

    @cached_property
    def has_cases(self) -> bool:
        """Whether something varies beside the level."""
        return any(row.case for row in self.rows)

    @property
    def is_numeric(self) -> bool:
        """Whether its levels are numbers."""
        return all(row.number is not None for row in self.rows)

    @property
    def is_time(self) -> bool:
        """Whether the metric is the mean of the operations' times."""
        return all(row.cell.unit == "s" for row in self.rows)


def judged_tables(workload: WorkloadFindings) -> list[CourseTable]:
    """The headline metrics along the course of a workload, then latencies; maps are pictures."""
    along = course(workload)
    indices = {index.name: index for index in workload.by_metric}
    headline = [
        _table(
            cells,
            along,
            indices.get(name, None if indices else workload.index),
            () if indices else workload.averages,
        )
        for name, cells in _by_metric(workload.cells if along else ())
    ]
    found = workload.latencies
    if found is None:
        return headline
    return [*headline, _table(found.cells, along, found.index, found.averages)]


def judged_cells(workload: WorkloadFindings) -> tuple[Cell, ...]:
    """Everything that has a verdict."""
    return workload.cells + (workload.latencies.cells if workload.latencies else ())


def by_factor(findings: Findings) -> list[tuple[Advantage, ...]]:
    """The advantages that a table shows, factor by factor."""
    groups = groupby(findings.advantages, key=lambda advantage: advantage.factor)
    return [tuple(own) for _, own in groups]


def percentile_tables(cells: Iterable[Cell], workload: WorkloadFindings) -> list[CourseTable]:
    """The metrics among some cells of which single operations were timed."""
    along = course(workload)
    timed = [cell for cell in cells if any(s.percentiles for s in cell.summaries)]
    return [_percentiles(own, along) for _, own in _by_metric(timed)]


@dataclass(frozen=True)
class Beside:
    """Several metrics side by side, without verdicts: a row a level and system."""

    tables: tuple[CourseTable, ...]

    @property
    def rows(self) -> tuple[tuple[str, str, tuple[Cell | None, ...]], ...]:
        """Level, case, and the cell of each metric there."""
        found = [{(row.level, row.case): row.cell for row in table.rows} for table in self.tables]
        places = dict.fromkeys(place for cells in found for place in cells)
        return tuple((*place, tuple(cells.get(place) for cells in found)) for place in places)


def details_along(workload: WorkloadFindings) -> Beside | None:
    """The metrics without verdicts along the course of a workload; ``None`` for a map."""
    along = course(workload)
    own = [cell for cell in workload.details if along and along.axis.names[0] in cell.at]
    tables = tuple(_table(cells, along) for _, cells in _by_metric(own))
    return Beside(tables) if tables else None


def details_apart(workload: WorkloadFindings) -> list[Cell]:
    """The metrics without verdicts that do not follow the course."""
    along = course(workload)
    return [c for c in workload.details if along is None or along.axis.names[0] not in c.at]


def _by_metric(cells: Iterable[Cell]) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    for name, own in groupby(cells, key=lambda cell: cell.metric):
        yield name, tuple(own)


def _table(
    cells: tuple[Cell, ...],
    along: Course | None,
    index: Index | None = None,
    averages: tuple[Average, ...] = (),
) -> CourseTable:
    medians = [s.median for cell in cells for s in cell.summaries if s.median > 0]
    printed = cells[0].printed
    factor, unit = (
        (printed.factor, printed.unit)
        if printed
        else display_unit(min(medians, default=0.0), cells[0].shown_in)
    )
    return CourseTable(
        label=cells[0].label,
        direction=cells[0].direction,
        unit=unit,
        factor=factor,
        heading=along.heading if along else "",
        rows=tuple(_rows(cells, along)),
        index=index if len(cells) > 1 else None,
        averages=averages if len(cells) > 1 else (),
        decimals=printed.decimals if printed else None,
    )


def _percentiles(cells: tuple[Cell, ...], along: Course | None) -> CourseTable:
    """Of the operations behind a metric, which need not be a time itself."""
    shortest = min(min(s.percentiles.values()) for c in cells for s in c.summaries if s.percentiles)
    factor, unit = display_unit(shortest, cells[0].shown_in if cells[0].unit == "s" else "s")
    return replace(_table(cells, along), factor=factor, unit=unit, decimals=None)


def _rows(cells: tuple[Cell, ...], along: Course | None) -> Iterator[Row]:
    """Case by case, levels ascending; as they come where there is no course."""
    if along is None:
        for cell in cells:
            yield Row(cell.at_label, None, "", cell)
        return
    cases = list(dict.fromkeys(along.case(cell.at) for cell in cells))
    for case in cases:
        own = (cell for cell in cells if along.case(cell.at) == case)
        for cell in sorted(own, key=lambda cell: along.axis.level(cell.at)):
            level = int(along.axis.level(cell.at))
            yield Row(along.text(level), float(level), case, cell)
