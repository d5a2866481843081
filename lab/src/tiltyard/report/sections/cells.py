"""Every cell in figures: maps, medians and pairs, percentiles, metrics without verdicts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from tiltyard.analysis.clients import STRAGGLER
from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.figures import alone, with_unit
from tiltyard.charts.grid import Grid, by_test, map_of
from tiltyard.report.document import Block, Column, Entry, Fold, Sentences, SheetChart, Table
from tiltyard.report.sections.axis_table import (
    AxisTable,
    Beside,
    details_along,
    details_apart,
    judged_cells,
    percentile_tables,
)
from tiltyard.report.sections.entries import (
    MISSING,
    Printing,
    by_system,
    count_entry,
    interval_entry,
    interval_head,
    levels_note,
    p_entry,
    percent_entry,
    place,
    printing,
    ratio_entry,
    slug,
    summary_of,
    system_entry,
    verdict_entry,
    without_empty_columns,
)
from tiltyard.units import format_value, reading_unit

_FEWEST = 2
"""Rows and columns from which on a map has a table of its own."""


def grid_tables(findings: Findings, workload: WorkloadFindings) -> tuple[Table, ...]:
    """The values of each system in every cell of the map; none where there is no map."""
    grid = map_of(workload)
    if grid is None or min(len(grid.rows), len(grid.columns)) < _FEWEST:
        return ()
    return tuple(
        table
        for cells in by_test(workload.cells)
        for table in _of_metric(findings, workload, cells, grid)
    )


def _of_metric(
    findings: Findings, workload: WorkloadFindings, cells: list[Cell], grid: Grid
) -> Iterator[Table]:
    values = [s.median for cell in cells for s in cell.summaries]
    printed = printing(cells[0], values, 4)
    own = f"{place(findings, workload)}-{slug(cells[0].metric)}"
    for number, system in enumerate(findings.systems, 1):
        title = f"{cells[0].label}, {system.name}"
        yield Table(
            id=f"{own}-{number}-{slug(system.name)}",
            title=title,
            columns=(
                Column(grid.legend, figures=False),
                *(Column(name, alone(printed.unit)) for name in grid.columns),
            ),
            rows=_rows(cells, grid, system.name, printed),
            caption=f"{findings.centre}.",
            charts=(
                SheetChart(
                    "surface",
                    0,
                    tuple(range(1, 1 + len(grid.columns))),
                    title,
                    with_unit(cells[0].label, printed.unit),
                ),
            ),
        )


def _rows(
    cells: list[Cell], grid: Grid, system: str, printed: Printing
) -> tuple[tuple[Entry, ...], ...]:
    found = {
        grid.places[cell.at_label]: printed.entry(summary.median)
        for cell in cells
        for summary in cell.summaries
        if summary.system == system
    }
    return tuple(
        (
            Entry(row, strong=True),
            *(found.get((row, column), MISSING) for column in grid.columns),
        )
        for row in grid.rows
    )


def absolute(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Every cell and every system: a table a metric."""
    own = place(findings, workload)
    return tuple(
        _absolute(findings, cells, f"{own}-{number}-{slug(cells[0].metric)}-absolute")
        for number, cells in enumerate(_by_metric(workload), 1)
    )


def every_pair(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Every cell and every pair, in numbers and sentences: a table a metric."""
    own = place(findings, workload)
    judged = judged_cells(workload)
    return (
        *(
            _pairs(findings, cells, f"{own}-{number}-{slug(cells[0].metric)}-pairs")
            for number, cells in enumerate(_by_metric(workload), 1)
        ),
        *levels_note(
            (pair.level for cell in judged for pair in cell.comparisons),
            findings.design.false_discovery_rate,
        ),
    )


def _by_metric(workload: WorkloadFindings) -> Iterator[list[Cell]]:
    for _, own in groupby(judged_cells(workload), key=lambda cell: cell.metric):
        yield list(own)


def _absolute(findings: Findings, cells: list[Cell], id: str) -> Table:
    unit = printing(cells[0], (s.median for cell in cells for s in cell.summaries))
    placed = any(cell.at_label for cell in cells)
    counted = "blocks" if findings.planned else "values"
    summaries = [summary for cell in cells for summary in cell.summaries]
    table = Table(
        id=id,
        title=cells[0].label,
        columns=(
            *((Column("at", figures=False),) if placed else ()),
            Column("System", figures=False),
            Column(counted),
            Column("median" if findings.planned else "typical", alone(unit.unit)),
            Column("95 % low", alone(unit.unit)),
            Column("95 % high", alone(unit.unit)),
            Column("mean", alone(unit.unit)),
            Column("SD", alone(unit.unit), spare=True),
            Column("CV", "%", spare=True),
        ),
        rows=tuple(
            (
                *((Entry(cell.at_label),) if placed else ()),
                system_entry(summary.system),
                *_figures(findings, summary, unit),
            )
            for cell in cells
            for summary in cell.summaries
        ),
        caption=" ".join(_explained(findings, summaries)),
    )
    return without_empty_columns(table)


def _explained(findings: Findings, summaries: list[Summary]) -> Iterator[str]:
    """What the heads of those columns mean in which something stands."""
    if not findings.planned:
        yield "Typical: the median where values were kept, else the value of the source."
    if any(summary.median_low is not None for summary in summaries):
        yield "95 %: interval of the median, by order statistics."
    if any(summary.sd is not None for summary in summaries):
        yield "SD: standard deviation; CV: that over the mean."


def _figures(findings: Findings, summary: Summary, unit: Printing) -> Iterator[Entry]:
    """What is known of a system; where a source kept one number, that is not printed twice."""
    count = summary.n or len(summary.values)
    yield count_entry(count) if count else MISSING
    yield unit.entry(summary.median, strong=True)
    yield unit.entry(summary.median_low)
    yield unit.entry(summary.median_high)
    yield MISSING if not (findings.planned or summary.values) else unit.entry(summary.mean)
    yield unit.entry(summary.sd)
    yield percent_entry(summary.cv)


def _pairs(findings: Findings, cells: list[Cell], id: str) -> Table:
    placed = any(cell.at_label for cell in cells)
    table = Table(
        id=id,
        title=f"{cells[0].label}, every pair",
        columns=(
            *((Column("at", figures=False),) if placed else ()),
            Column("Pair", figures=False),
            Column("ratio"),
            Column(interval_head(pair.level for cell in cells for pair in cell.comparisons)),
            Column("p, adjusted"),
            Column("Verdict", figures=False),
            Column("In words", figures=False),
        ),
        rows=tuple(
            (
                *((Entry(cell.at_label),) if placed else ()),
                Entry(f"{pair.system} / {pair.against}"),
                ratio_entry(pair),
                interval_entry(pair),
                p_entry(pair.p_adjusted),
                verdict_entry(pair, findings),
                Entry(pair.sentence),
            )
            for cell in cells
            for pair in cell.comparisons
        ),
    )
    return without_empty_columns(table)


ENDS: Final = {"near": "client", "far": "server"}
"""Name of an end in the findings → what it is called."""
PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}
"""Name in the findings → how people write it."""


def latencies(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """What was found about the time of one operation, and how it is spread."""
    found = workload.latencies
    timed = workload.cells if found is None else found.cells
    texts = tuple(pair.sentence for pair in found.index.comparisons) if found else ()
    return (
        *((Sentences(texts),) if texts else ()),
        *percentiles(findings, workload, timed),
    )


def percentiles(
    findings: Findings, workload: WorkloadFindings, cells: Iterable[Cell], kind: str = "latency"
) -> tuple[Table, ...]:
    """A table for each metric among some cells of which single operations were timed.

    Args:
        findings: what the analysis states.
        workload: the cells' own.
        cells: those to look at.
        kind: what the ids of the tables say they are about.
    """
    own = place(findings, workload)
    return tuple(
        _table(findings, course, f"{own}-{kind}-{number}-{slug(course.label)}")
        for number, course in enumerate(percentile_tables(cells, workload), 1)
    )


def _table(findings: Findings, course: AxisTable, id: str) -> Table:
    names = (*(("mean",) if course.is_time else ()), *PERCENTILES)
    printed = Printing(course.unit, course.factor, None)
    timed = "" if course.is_time else ", time of one operation"
    table = Table(
        id=id,
        title=f"{course.label}{timed}, percentiles",
        columns=(
            Column(course.heading, figures=course.is_numeric),
            *((Column("case", figures=False),) if course.has_cases else ()),
            *(
                Column(PERCENTILES.get(name, name), course.unit, under=system.name)
                for system in findings.systems
                for name in names
            ),
        ),
        rows=tuple(
            (
                Entry(row.level, row.number, strong=True),
                *((Entry(row.case, quiet=True),) if course.has_cases else ()),
                *(
                    entry
                    for system in findings.systems
                    for entry in _percentiles(summary_of(row.cell, system.name), names, printed)
                ),
            )
            for row in course.rows
        ),
        caption="Of single operations in a trial; of each figure the median over blocks, beneath "
        "it the 95 % interval by order statistics, with what the buckets of a histogram leave "
        "open: it takes 6 blocks.",
    )
    return without_empty_columns(table)


def _percentiles(
    found: Summary | None, names: Iterable[str], printed: Printing
) -> tuple[Entry, ...]:
    if found is None:
        return tuple(MISSING for _ in names)
    known = {"mean": found.median, **found.percentiles}
    intervals = dict(found.percentile_intervals)
    if found.median_low is not None and found.median_high is not None:
        intervals["mean"] = found.median_low, found.median_high
    return tuple(
        replace(
            printed.entry(known.get(name)),
            beneath=" … ".join(map(printed.number, intervals.get(name, ()))),
        )
        for name in names
    )


def details(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Those that follow the workload's course beside each other, then all the others."""
    blocks: list[Block] = []
    beside = details_along(workload)
    if beside:
        own = percentiles(findings, workload, workload.details, "details")
        summary = f"Further measurements, without verdicts ({len(beside.tables)})"
        blocks.append(Fold(summary, (_beside(findings, workload, beside), *own)))
    apart = details_apart(workload)
    if apart:
        summary = f"Further measurements, without verdicts ({len(apart)})"
        blocks.append(Fold(summary, (_apart(findings, workload, apart),)))
    return tuple(blocks)


def _beside(findings: Findings, workload: WorkloadFindings, found: Beside) -> Table:
    """A row a level and system."""
    cases = any(case for _, case, _ in found.rows)
    units = [Printing(table.unit, table.factor, table.decimals) for table in found.tables]
    return Table(
        id=f"{place(findings, workload)}-beside",
        title="Further measurements",
        columns=(
            Column(found.tables[0].heading),
            *((Column("case", figures=False),) if cases else ()),
            Column("System", figures=False),
            *(Column(table.label, table.unit) for table in found.tables),
        ),
        rows=tuple(
            (
                Entry(level, strong=first, quiet=not first),
                *((Entry(case, quiet=True),) if cases else ()),
                system_entry(system.name),
                *(
                    _median(cell, system.name, unit)
                    for cell, unit in zip(cells, units, strict=True)
                ),
            )
            for level, case, cells in found.rows
            for first, system in zip(
                (True, *[False] * len(findings.systems)), findings.systems, strict=False
            )
        ),
        caption=f"{findings.centre}.",
    )


def _median(cell: Cell | None, system: str, unit: Printing) -> Entry:
    summary = summary_of(cell, system) if cell else None
    return unit.entry(summary.median) if summary else MISSING


def _apart(findings: Findings, workload: WorkloadFindings, cells: list[Cell]) -> Table:
    """A row a metric and point, each in its own unit."""
    return Table(
        id=f"{place(findings, workload)}-details",
        title="Further measurements",
        columns=(
            Column("Metric", figures=False),
            Column("unit", figures=False),
            *(
                column
                for system in findings.systems
                for column in (
                    Column("median", under=system.name),
                    Column("CV", "%", under=system.name, spare=True),
                )
            ),
            Column("better", figures=False),
        ),
        rows=tuple(_row(findings, cell) for cell in cells),
        caption=f"{findings.centre}; CV: standard deviation over mean.",
    )


def _row(findings: Findings, cell: Cell) -> tuple[Entry, ...]:
    found = {summary.system: summary for summary in cell.summaries}
    unit = printing(cell, (summary.median for summary in cell.summaries))
    return (
        Entry(", ".join(filter(None, (cell.label, cell.at_label))), strong=True),
        Entry(unit.unit, quiet=True),
        *(
            entry
            for system in findings.systems
            for entry in (
                unit.entry(found[system.name].median) if system.name in found else MISSING,
                percent_entry(found[system.name].cv, quiet=True)
                if system.name in found
                else MISSING,
            )
        ),
        Entry(cell.direction, quiet=True),
    )


def ends(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """A table for the client and one for the server."""
    return tuple(
        by_system(
            f"{place(findings, workload)}-{slug(end)}-end",
            f"Measured by the {ENDS[end]}",
            ENDS[end],
            findings.systems,
            ((Entry(fact, quiet=True), values) for fact, values in facts.items()),
            "Medians over blocks; each trial as a whole. Buffers of sockets as the kernel counts "
            "them: twice what is asked for.",
        )
        for end, facts in workload.ends.items()
    )


def clients(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Each client of each system, where there are several; stragglers stand out."""
    lines = workload.clients
    if not lines:
        return ()
    unit = reading_unit(lines[0].unit, network=bool(workload.ends))
    rows = tuple(
        (
            system_entry(line.system),
            Entry(line.client, strong=bool(line.straggled)),
            Entry(format_value(line.value, unit), line.value),
            percent_entry(line.of_median),
            Entry(f"{1e3 * line.began_s:.2f}", line.began_s),
            Entry(f"{1e3 * line.uncertainty_s:.2f}", line.uncertainty_s),
            Entry(f"{line.elapsed_s:.3f}", line.elapsed_s),
            count_entry(line.straggled),
        )
        for line in lines
    )
    columns = (
        Column("System", figures=False),
        Column("Client", figures=False),
        Column("rate"),
        Column("of the median client", "%"),
        Column("began after the first", "ms"),
        Column("known to within", "ms"),
        Column("timed", "s"),
        Column("trials as straggler"),
    )
    caption = (
        "Medians over trials. Rates are those of each client over its own time. A straggler has "
        f"less than {STRAGGLER:.0%} of the rate of the median client."
    )
    own = f"{place(findings, workload)}-clients"
    return (Table(own, "Clients", columns, rows, caption),)
