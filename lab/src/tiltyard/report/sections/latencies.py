"""How single operations are spread: percentiles of each system."""

from collections.abc import Iterable

from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.report import tables
from tiltyard.report.document import Block, Column, Entry, Sentences, Table
from tiltyard.report.sections.comparing import without_empty_columns
from tiltyard.report.sections.ids import place, slug
from tiltyard.report.sections.printing import MISSING, Printing, summary_of

PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}
"""Name in the findings → how people write it."""


def latencies(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """What was found about the time of one operation, and how it is spread."""
    found = workload.latencies
    timed = workload.cells if found is None else found.cells
    told = tuple(pair.sentence for pair in found.index.comparisons) if found else ()
    return (
        *((Sentences(told),) if told else ()),
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
        for number, course in enumerate(tables.percentile_tables(cells, workload), 1)
    )


def _table(findings: Findings, course: tables.CourseTable, id: str) -> Table:
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
        caption="Of single operations in a trial; of each figure the median over blocks.",
    )
    return without_empty_columns(table)


def _percentiles(
    found: Summary | None, names: Iterable[str], printed: Printing
) -> tuple[Entry, ...]:
    if found is None:
        return tuple(MISSING for _ in names)
    known = {"mean": found.median, **found.percentiles}
    return tuple(printed.entry(known.get(name)) for name in names)
