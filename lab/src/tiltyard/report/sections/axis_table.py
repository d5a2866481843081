"""Tables along one axis: a row a level, systems beside each other, their advantages last."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby

from tiltyard.analysis.axes import Course
from tiltyard.analysis.line import line_of_averages, marks_key
from tiltyard.analysis.model import (
    Advantage,
    Average,
    Cell,
    Findings,
    Index,
    Pair,
    WorkloadFindings,
)
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.statements.deltas import crossing
from tiltyard.charts.figures import alone, with_unit
from tiltyard.charts.grid import course
from tiltyard.report.document import Column, Entry, SheetChart, Table
from tiltyard.report.sections.entries import (
    CAPTION,
    MISSING,
    Printing,
    advantage_of,
    delta_of,
    line_entry,
    place,
    slug,
    summary_of,
    values_note,
)
from tiltyard.units import display_unit


@dataclass(frozen=True)
class Row:
    """One level of an axis."""

    level: str
    number: float | None
    """The level itself; ``None`` where it is not a number."""
    case: str
    """What varies beside it: ``8 flows``; mostly empty."""
    cell: Cell


@dataclass(frozen=True)
class AxisTable:
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

    @property
    def unit_of(self) -> Printing:
        """How its values are printed."""
        return Printing(self.unit, self.factor, self.decimals, 4)

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


def judged_tables(workload: WorkloadFindings) -> list[AxisTable]:
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


def percentile_tables(cells: Iterable[Cell], workload: WorkloadFindings) -> list[AxisTable]:
    """The metrics among some cells of which single operations were timed."""
    along = course(workload)
    timed = [cell for cell in cells if any(s.percentiles for s in cell.summaries)]
    return [_percentiles(own, along) for _, own in _by_metric(timed)]


@dataclass(frozen=True)
class Beside:
    """Several metrics side by side, without verdicts: a row a level and system."""

    tables: tuple[AxisTable, ...]

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
) -> AxisTable:
    medians = [s.median for cell in cells for s in cell.summaries if s.median > 0]
    printed = cells[0].printed
    factor, unit = (
        (printed.factor, printed.unit)
        if printed
        else display_unit(min(medians, default=0.0), cells[0].shown_in)
    )
    return AxisTable(
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


def _percentiles(cells: tuple[Cell, ...], along: Course | None) -> AxisTable:
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


@dataclass(frozen=True)
class _Printed:
    """How a style prints a table along an axis: whose values, which advantages, in which words."""

    findings: Findings
    systems: Sequence[str]
    """Whose values are shown, in this order."""
    heads: tuple[Column, ...]
    """Of those systems."""
    advantages: Sequence[tuple[Column, Pair | None]]
    """The columns behind the values; ``None`` where one of the pair is absent."""
    judged: Callable[[Cell | Index, Pair], Entry]
    """A pair at a level, or over all levels."""
    means: Mapping[str, str]
    """Names of the closing rows: those of ``geometric`` and ``arithmetic`` that are wanted."""

    def table(self, values: AxisTable, id: str, title: str, caption: str) -> Table:
        """The whole table, with a line chart of the values."""
        first = 1 + values.has_cases
        closing = tuple(self._closing(values))
        places = tuple(range(first, first + len(self.systems)))
        axis = with_unit(values.label, values.unit)
        return Table(
            id=id,
            title=title,
            columns=(
                Column(values.heading or "at", figures=values.is_numeric),
                *((Column("case", figures=False),) if values.has_cases else ()),
                *self.heads,
                *(column for column, _ in self.advantages),
            ),
            rows=(*self._rows(values), *closing),
            caption=caption,
            closing=len(closing),
            charts=(SheetChart("line", 0, places, values.label, axis),) if places else (),
        )

    def _rows(self, values: AxisTable) -> Iterator[tuple[Entry, ...]]:
        for row in values.rows:
            summaries = (summary_of(row.cell, name) for name in self.systems)
            yield (
                Entry(row.level, row.number, strong=True),
                *((Entry(row.case, quiet=True),) if values.has_cases else ()),
                *(values.unit_of.entry(s.value if s else None) for s in summaries),
                *self._judged(row.cell),
            )

    def _closing(self, values: AxisTable) -> Iterator[tuple[Entry, ...]]:
        index = values.index
        if "geometric" in self.means and index and index.standings:
            means = {standing.system: standing.value for standing in index.standings}
            yield self._mean(values, "geometric", means, self._judged(index))
        if "arithmetic" in self.means and values.averages:
            known = {average.system: average for average in values.averages}
            means = {name: average.value for name, average in known.items()}
            yield self._mean(values, "arithmetic", means, self._averaged(values, known))

    def _mean(
        self, values: AxisTable, kind: str, means: Mapping[str, float], behind: Iterable[Entry]
    ) -> tuple[Entry, ...]:
        return (
            Entry(self.means[kind], strong=True),
            *((Entry(""),) if values.has_cases else ()),
            *(values.unit_of.entry(means.get(name)) for name in self.systems),
            *behind,
        )

    def _judged(self, of: Cell | Index) -> Iterator[Entry]:
        return (self.judged(of, pair) if pair else MISSING for _, pair in self.advantages)

    def _averaged(self, values: AxisTable, means: Mapping[str, Average]) -> Iterator[Entry]:
        for _, pair in self.advantages:
            own = means.get(pair.system) if pair else None
            against = means.get(pair.against) if pair else None
            if own is None or against is None or against.system not in own.ratios:
                yield MISSING
            else:
                cell = values.rows[0].cell
                yield line_entry(line_of_averages(self.findings, cell, own, against))


def advantage_tables(findings: Findings, workload: WorkloadFindings) -> Iterator[Table]:
    """The headline metrics along the axis, then latencies, with advantages and verdicts.

    Values stand with the advantage of the first factor; each further factor has its own table.
    """
    systems = [system.name for system in findings.systems]
    for number, values in enumerate(judged_tables(workload), 1):
        id = f"{place(findings, workload)}-course-{number}-{slug(values.label)}"
        for at, advantages in enumerate(by_factor(findings) or [()]):
            title, suffix = values.label, ""
            if at:
                factor = advantages[0].factor
                title, suffix = f"{values.label}: advantage of {factor}", f"-{slug(factor)}"
            yield _Printed(
                findings=findings,
                systems=[] if at else systems,
                heads=tuple(Column(name, alone(values.unit)) for name in ([] if at else systems)),
                advantages=[
                    (
                        Column(pair.within or "advantage", "%", under=f"{a.level} over {a.over}"),
                        pair,
                    )
                    for a in advantages
                    for pair in a.pairs
                ],
                judged=partial(advantage_of, findings),
                means={"geometric": "geometric mean", "arithmetic": "arithmetic mean"},
            ).table(values, f"{id}{suffix}", title, _advantage_caption(findings, values))


def _advantage_caption(findings: Findings, values: AxisTable) -> str:
    text = (
        f"{values_note(findings)} Advantage: percent "
        f"{'more' if values.direction == 'higher' else 'lower'}, with "
        f"the ratio and its interval; {marks_key(row.cell for row in values.rows)}."
    )
    if values.averages:
        text += (
            " The arithmetic mean is there for comparison with printed tables; it has no interval, "
            "and no verdict rests on it."
        )
    return text


def delta_tables(findings: Findings, workload: WorkloadFindings) -> Iterator[Table]:
    """A table a metric as printed comparisons have it: groups of systems, their deltas last.

    The arithmetic mean closes a table of times, else the geometric one.
    """
    crossed = crossing(findings)
    places = [
        (level, block, group)
        for block in crossed.blocks
        for group in crossed.groups
        for level in crossed.levels
        if (level, block, group) in crossed.systems
    ]
    columns = [
        (
            Column(
                " ".join(filter(None, (block, group))) or "delta",
                "%",
                under=f"{level} over {crossed.base}",
            ),
            crossed.pair(level, block, group),
        )
        for block in crossed.blocks
        for level in crossed.levels[1:]
        for group in crossed.groups
    ]
    for number, values in enumerate(judged_tables(workload), 1):
        if len(values.rows) < 2:
            continue
        dimension = values.heading.partition(",")[0]
        printed = _Printed(
            findings=findings,
            systems=[crossed.systems[at] for at in places],
            heads=tuple(
                Column(level, alone(values.unit), under=" ".join(filter(None, (group, block))))
                for level, block, group in places
            ),
            advantages=columns,
            judged=partial(delta_of, findings),
            means={"arithmetic": "average"} if values.averages else {"geometric": "geometric mean"},
        )
        mean = " The average is the arithmetic mean; it has no interval." if values.averages else ""
        yield printed.table(
            values,
            f"{place(findings, workload)}-curve-{number}-{slug(values.label)}",
            f"{values.label} by {dimension}" if dimension else values.label,
            f"{values_note(findings)} {CAPTION}{mean}",
        )
