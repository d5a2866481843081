"""Every cell of a workload, in absolute figures and as pairs: all that its verdicts rest on."""

from collections.abc import Iterator
from itertools import groupby

from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.figures import alone
from tiltyard.report import tables
from tiltyard.report.document import Block, Column, Entry, Table
from tiltyard.report.judgement import interval_head
from tiltyard.report.sections.comparing import (
    interval_entry,
    levels_note,
    ratio_entry,
    verdict_entry,
    without_empty_columns,
)
from tiltyard.report.sections.ids import place, slug
from tiltyard.report.sections.printing import (
    MISSING,
    Printing,
    count_entry,
    p_entry,
    percent_entry,
    printing,
    system_entry,
)


def absolute(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Every cell and every system: a table a metric."""
    own = place(findings, workload)
    return tuple(
        _absolute(findings, cells, f"{own}-{number}-{slug(cells[0].metric)}-absolute")
        for number, cells in enumerate(_by_metric(workload), 1)
    )


def every_pair(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Every cell and every pair, in figures and in words: a table a metric."""
    own = place(findings, workload)
    judged = tables.judged_cells(workload)
    return (
        *(
            _pairs(findings, cells, f"{own}-{number}-{slug(cells[0].metric)}-pairs")
            for number, cells in enumerate(_by_metric(workload), 1)
        ),
        *levels_note(pair.level for cell in judged for pair in cell.comparisons),
    )


def _by_metric(workload: WorkloadFindings) -> Iterator[list[Cell]]:
    for _, own in groupby(tables.judged_cells(workload), key=lambda cell: cell.metric):
        yield list(own)


def _absolute(findings: Findings, cells: list[Cell], id: str) -> Table:
    unit = printing(cells[0], (s.median for cell in cells for s in cell.summaries))
    placed = any(cell.at_label for cell in cells)
    counted = "values" if findings.origin else "blocks"
    summaries = [summary for cell in cells for summary in cell.summaries]
    table = Table(
        id=id,
        title=cells[0].label,
        columns=(
            *((Column("at", figures=False),) if placed else ()),
            Column("System", figures=False),
            Column(counted),
            Column("median" if not findings.origin else "typical", alone(unit.unit)),
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
    if findings.origin:
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
    yield MISSING if findings.origin and not summary.values else unit.entry(summary.mean)
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
