"""Further measurements, without verdicts."""

from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.report import tables
from tiltyard.report.document import Block, Column, Entry, Fold, Table
from tiltyard.report.sections.ids import place
from tiltyard.report.sections.latencies import percentiles
from tiltyard.report.sections.printing import (
    MISSING,
    Printing,
    percent_entry,
    printing,
    summary_of,
    system_entry,
)


def details(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Those that follow the workload's course beside each other, then all the others."""
    blocks: list[Block] = []
    beside = tables.details_along(workload)
    if beside:
        own = percentiles(findings, workload, workload.details, "details")
        summary = f"Further measurements, without verdicts ({len(beside.tables)})"
        blocks.append(Fold(summary, (_beside(findings, workload, beside), *own)))
    apart = tables.details_apart(workload)
    if apart:
        summary = f"Further measurements, without verdicts ({len(apart)})"
        blocks.append(Fold(summary, (_apart(findings, workload, apart),)))
    return tuple(blocks)


def _beside(findings: Findings, workload: WorkloadFindings, found: tables.Beside) -> Table:
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
        caption="Medians over blocks.",
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
        caption="Medians over blocks; CV: standard deviation over mean.",
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
