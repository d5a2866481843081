"""All tests at once: each system's mean over them, every result, and the systems themselves."""

from collections.abc import Sequence
from typing import Final

from tiltyard.analysis.claims.kinds.standing import Place, places
from tiltyard.analysis.claims.lines import tests
from tiltyard.analysis.model import Cell, Findings, Pair, WorkloadFindings
from tiltyard.analysis.verdict import Verdict
from tiltyard.charts.figures import alone, with_unit
from tiltyard.report.document import Column, Entry, SheetChart, Table
from tiltyard.report.sections.advantages import CAPTION, delta_of
from tiltyard.report.sections.comparing import without_empty_columns
from tiltyard.report.sections.ids import place, slug
from tiltyard.report.sections.printing import (
    MISSING,
    Printing,
    count_entry,
    printing,
    summary_of,
    system_entry,
)
from tiltyard.report.sections.replicates import (
    beneath_words,
    mean_entry,
    replicate_tables,
    spread_of,
)

_MOST: Final = 12
"""More cells than this are a grid rather than tests."""
_VERDICTS: Final[tuple[Verdict, ...]] = ("faster", "slower", "equivalent", "undecided")


def overall_table(findings: Findings) -> Table | None:
    """Each system over all tests: geometric mean, wins and losses; ``None`` for a single test."""
    found = places(findings)
    if not found:
        return None
    verdicts = "cells against every other, by verdict"
    return Table(
        id="overall",
        title="Each system over all tests",
        columns=(
            Column("System", figures=False),
            Column("of the best", "%", under="geometric mean"),
            Column("first", "tests"),
            Column("last", "tests"),
            Column("all", "tests"),
            Column("better", under=verdicts),
            Column("worse", under=verdicts),
            Column("equivalent", under=verdicts),
            Column("undecided", under=verdicts),
        ),
        rows=tuple(_overall_row(one) for one in found),
        caption="Of the best: what a system reaches of the best value of each test (of times the "
        "inverse), every test counted once. First and last by value alone; of equal values all.",
        charts=(SheetChart("bar", 0, (1,), "Geometric mean over all tests", "% of the best"),),
    )


def relative_table(findings: Findings) -> Table | None:
    """Every test, what each system is worth more than the baseline; ``None`` for a single one."""
    own = tests(findings)
    others = [system.name for system in findings.systems if system.name != findings.baseline]
    if len(own) < 2 or not others:
        return None
    return Table(
        id="against-baseline",
        title=f"Every test against {findings.baseline}",
        columns=(Column("Test", figures=False), *(Column(name, "%") for name in others)),
        rows=tuple(
            (
                Entry(line.head, strong=True),
                *(
                    delta_of(
                        findings, line.of, Pair(system=name, against=findings.baseline, within="")
                    )
                    for name in others
                ),
            )
            for line in own
        ),
        caption=CAPTION,
    )


def all_results(findings: Findings, workloads: Sequence[WorkloadFindings]) -> Table:
    """Every headline value of some workloads: tests down, systems across."""
    found = [(workload, cell) for workload in workloads for cell in workload.cells]
    systems = findings.systems
    return Table(
        id="all-results",
        title="All results",
        columns=(
            Column("Test", figures=False),
            Column("Unit", figures=False),
            *(Column(system.name) for system in systems),
        ),
        rows=tuple(
            (
                Entry(_name(workload, cell), strong=True),
                Entry(
                    alone(_unit(cell).unit)
                    + (", less is better" if cell.direction == "lower" else "")
                ),
                *(mean_entry(summary_of(cell, system.name), _unit(cell)) for system in systems),
            )
            for workload, cell in found
        ),
        caption=f"Mean, {beneath_words([cell for _, cell in found]) or 'of single values'}.",
    )


def test_tables(findings: Findings, workload: WorkloadFindings) -> tuple[Table, ...]:
    """A table a test; of many cells, which are a grid, means along it."""
    if len(workload.cells) > _MOST:
        return replicate_tables(findings, workload)
    return tuple(
        _test(findings, workload, cell, number) for number, cell in enumerate(workload.cells, 1)
    )


def _test(findings: Findings, workload: WorkloadFindings, cell: Cell, number: int) -> Table:
    """Mean, its error or the deviation, and the number of values."""
    unit = _unit(cell)
    errors = any(summary.se is not None for summary in cell.summaries)
    spread = "standard error of the mean" if errors else "standard deviation"
    known = errors or any(summary.sd is not None for summary in cell.summaries)
    title = workload.name if len(workload.cells) == 1 else _name(workload, cell)
    table = Table(
        id=f"{place(findings, workload)}-test-{number}-{slug(cell.metric)}",
        title=title,
        columns=(
            Column("System", figures=False),
            Column(cell.label, unit.unit),
            Column("SE" if errors else "SD", alone(unit.unit)),
            Column("N"),
        ),
        rows=tuple(
            (
                system_entry(summary.system),
                unit.entry(summary.mean),
                spread_of(unit).entry(summary.se if errors else summary.sd),
                count_entry(summary.n or len(summary.values) or 1),
            )
            for summary in cell.summaries
        ),
        caption=f"Mean; {spread}; number of values." if known else "Mean; number of values.",
        charts=(SheetChart("bar", 0, (1,), title, with_unit(cell.label, unit.unit)),),
    )
    return without_empty_columns(table)


def _overall_row(one: Place) -> tuple[Entry, ...]:
    own = one.tally
    return (
        system_entry(own.system),
        MISSING if one.share is None else Entry(one.text, 100 * one.share, strong=True),
        count_entry(own.first),
        count_entry(own.last),
        count_entry(own.tests, quiet=True),
        *(count_entry(own.verdicts.get(verdict, 0)) for verdict in _VERDICTS),
    )


def _name(workload: WorkloadFindings, cell: Cell) -> str:
    return ", ".join(filter(None, (workload.name, cell.label, cell.at_label)))


def _unit(cell: Cell) -> Printing:
    return printing(cell, (summary.mean for summary in cell.summaries), 4)
