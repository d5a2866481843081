"""Means with their deviations, a table a test, and all tests at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tiltyard.analysis.axes import Axis, label_of, spoken_axes
from tiltyard.analysis.line import line_over_all
from tiltyard.analysis.model import Cell, Findings, Summary, SystemFindings, WorkloadFindings
from tiltyard.analysis.quantity import metric_of
from tiltyard.analysis.run_times import run_times
from tiltyard.analysis.statements.claims import Place, places
from tiltyard.analysis.statements.deltas import crossing, tests
from tiltyard.analysis.verdict import Verdict
from tiltyard.charts.figures import alone, kind_of, with_unit
from tiltyard.report.document import Column, Entry, SheetChart, Table
from tiltyard.report.sections.entries import (
    CAPTION,
    MISSING,
    Printing,
    count_entry,
    delta_of,
    line_entry,
    place,
    printing,
    slug,
    summary_of,
    system_entry,
    without_empty_columns,
)

_MOUNTED: Final = "mount options"


def replicate_tables(
    findings: Findings, workload: WorkloadFindings, mounts: Mapping[str, str] | None = None
) -> tuple[Table, ...]:
    """All headline cells of a workload.

    Args:
        findings: what the analysis states.
        workload: one of its workloads.
        mounts: system → mount options, where they stand beside the values.
    """
    if len({cell.metric for cell in workload.cells}) > 1:
        return tuple(_by_point(findings, workload, mounts or {}))
    return (_by_level(findings, workload, mounts or {}),) if workload.cells else ()


def run_time_table(findings: Findings) -> Table | None:
    """How long each workload took; ``None`` of results from elsewhere, which print their own."""
    cells = run_times(findings)
    if not cells:
        return None
    units = {cell.metric: printing(cell, (s.mean for s in cell.summaries), 4) for cell in cells}
    table = _point_table(findings, cells, units, {}, "Run times", "run-times")
    caption = (
        f"{table.caption} Wall time of the trials in a block, files laid out and removed in it"
    )
    return replace(table, caption=f"{caption}; not compared.")


def mounts_of(findings: Findings) -> dict[str, str]:
    """System → mount options, as far as they are known."""
    return {
        system.name: system.facts[_MOUNTED]
        for system in findings.systems
        if _MOUNTED in system.facts
    }


def mean_entry(summary: Summary | None, printed: Printing) -> Entry:
    """The mean, beneath it the deviation, or the error where only that was kept."""
    if summary is None:
        return MISSING
    spread = summary.sd if summary.sd is not None else summary.se
    beneath = "" if spread is None else spread_of(printed).number(spread)
    if spread is not None and summary.sd is None:
        beneath = f"± {beneath}"
    return Entry(
        printed.number(summary.mean),
        summary.mean / printed.factor,
        beneath=beneath,
        beneath_value=None if spread is None else spread / printed.factor,
    )


def spread_of(printed: Printing) -> Printing:
    """How a spread is printed beside its value: whole numbers have spreads of two decimals."""
    if printed.decimals is None:
        return printed
    return replace(printed, decimals=max(printed.decimals, 2))


def beneath_words(cells: Sequence[Cell]) -> str:
    """What stands beneath the means; empty where nothing does."""
    summaries = [summary for cell in cells for summary in cell.summaries]
    parts = []
    if any(summary.sd is not None for summary in summaries):
        parts.append("beneath it the standard deviation")
    if any(summary.sd is None and summary.se is not None for summary in summaries):
        parts.append("± the standard error of the mean")
    return ", ".join(parts)


def _by_point(
    findings: Findings, workload: WorkloadFindings, mounts: Mapping[str, str]
) -> Iterator[Table]:
    """A table a point and kind of metric: systems down, metrics across."""
    axes = spoken_axes(cell.at for cell in workload.cells)
    points: dict[str, list[Cell]] = {}
    for cell in workload.cells:
        points.setdefault(label_of(cell.at, axes), []).append(cell)
    kinds = list(dict.fromkeys(kind_of(cell.label) for cell in workload.cells))
    units = {cell.metric: _unit(workload, cell) for cell in workload.cells}
    for number, (point, cells) in enumerate(points.items(), 1):
        for kind in kinds:
            own = [cell for cell in cells if kind_of(cell.label) == kind]
            if own:
                name = kind if len(kinds) > 1 else ""
                title = ", ".join(filter(None, (workload.display, name, point)))
                id = f"{place(findings, workload)}-{number}-{slug(point)}-{slug(kind)}"
                yield _point_table(findings, own, units, mounts, title, id)


def _point_table(
    findings: Findings,
    cells: Sequence[Cell],
    units: Mapping[str, Printing],
    mounts: Mapping[str, str],
    title: str,
    id: str,
) -> Table:
    same = {units[cell.metric].unit for cell in cells}
    first = len(_system_columns(mounts))
    columns = tuple(range(first, first + len(cells)))
    chart = SheetChart("column", 0, columns, title, with_unit("mean", same.pop()))
    return Table(
        id=id,
        title=title,
        columns=(
            *_system_columns(mounts),
            *(Column(cell.label, units[cell.metric].unit) for cell in cells),
        ),
        rows=tuple(
            (
                *_system_entries(mounts, system),
                *(mean_entry(summary_of(cell, system.name), units[cell.metric]) for cell in cells),
            )
            for system in findings.systems
        ),
        caption=_caption(cells),
        charts=() if same else (chart,),
    )


def _by_level(findings: Findings, workload: WorkloadFindings, mounts: Mapping[str, str]) -> Table:
    """Points down, systems across; the other way round where there is one point only."""
    cells, systems = workload.cells, findings.systems
    printed = _unit(workload, cells[0])
    id = f"{place(findings, workload)}-means"
    label = cells[0].label
    head = with_unit(label, printed.unit)
    first = len(_system_columns(mounts))
    if len(cells) == 1:
        beside = [
            (cells[0], printed),
            *((cell, _unit(workload, cell)) for cell in _times(workload)),
        ]
        return Table(
            id=id,
            title=workload.display,
            columns=(
                *_system_columns(mounts),
                *(Column(cell.label, unit.unit) for cell, unit in beside),
            ),
            rows=tuple(
                (
                    *_system_entries(mounts, system),
                    *(mean_entry(summary_of(cell, system.name), unit) for cell, unit in beside),
                )
                for system in systems
            ),
            caption=_caption(cells),
            charts=(SheetChart("bar", 0, (first,), workload.display, head),),
        )
    axes = spoken_axes(cell.at for cell in cells)
    return Table(
        id=id,
        title=metric_of(workload.name, workload.display, label, ", "),
        columns=(
            *(Column(axis.name, figures=False) for axis in axes),
            *(Column(system.name, alone(printed.unit)) for system in systems),
        ),
        rows=tuple(
            (
                *(_level(axis, cell) for axis in axes),
                *(mean_entry(summary_of(cell, system.name), printed) for system in systems),
            )
            for cell in cells
        ),
        caption=_caption(cells),
        charts=(
            SheetChart(
                "line",
                len(axes) - 1,
                tuple(range(len(axes), len(axes) + len(systems))),
                workload.display,
                head,
            ),
        ),
    )


def _level(axis: Axis, cell: Cell) -> Entry:
    level = axis.level(cell.at)
    return Entry(axis.text(level), float(level) if isinstance(level, int) else None, strong=True)


def _system_columns(mounts: Mapping[str, str]) -> tuple[Column, ...]:
    """The system, and how it was mounted where that is known."""
    return (
        Column("System", figures=False),
        *((Column(_MOUNTED, figures=False),) if mounts else ()),
    )


def _system_entries(mounts: Mapping[str, str], system: SystemFindings) -> tuple[Entry, ...]:
    mount = (Entry(mounts.get(system.name, "–"), quiet=True),) if mounts else ()
    return (system_entry(system.name), *mount)


def _unit(workload: WorkloadFindings, cell: Cell) -> Printing:
    """Of a metric: the same at all points, with one digit more than rounding by eye needs."""
    every = (*workload.cells, *workload.details)
    own = [one for one in every if one.metric == cell.metric]
    return printing(cell, (s.mean for one in own for s in one.summaries), 4)


def _times(workload: WorkloadFindings) -> list[Cell]:
    """How long it took, which is shown beside the rate that is judged: ``total time``."""
    return [cell for cell in workload.details if cell.unit == "s" and "time" in cell.label]


def _caption(cells: Sequence[Cell]) -> str:
    return ", ".join(filter(None, ("Mean", beneath_words(cells)))) + "."


_MOST: Final = 12
"""More cells than this are a grid rather than tests."""
_VERDICTS: Final[tuple[Verdict, ...]] = ("faster", "slower", "equivalent", "undecided")


def overall_table(findings: Findings) -> Table | None:
    """Each system over all tests: geometric mean, wins and losses; ``None`` for a single test."""
    found = places(findings)
    if not found:
        return None
    verdicts = "cells against every other, by verdict"
    table = Table(
        id="overall",
        title="Each system over all tests",
        columns=(
            Column("System", figures=False),
            Column("of the best", "%", under="geometric mean"),
            Column("against the first", "%", under="geometric mean"),
            Column("first without one test", "cases", under="geometric mean"),
            Column("over", "tests", under="geometric mean"),
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
        "inverse), the mean over the tests that measure the same, each counted once. First without "
        "one test: how often its mean is the highest while one test after the other is left out. "
        "First and last by value alone; of equal values all.",
        charts=(SheetChart("bar", 0, (1,), "Geometric mean", "% of the best"),)
        if any(one.share is not None for one in found)
        else (),
    )
    return without_empty_columns(table)


def relative_table(findings: Findings) -> Table | None:
    """Every test, each pair along the factor that is asked about; ``None`` for a single test."""
    own, crossed = tests(findings), crossing(findings)
    pairs = crossed.pairs
    if len(own) < 2 or not pairs:
        return None
    means = [line_entry(line_over_all(findings, pair)) for pair in pairs]
    overall = ((Entry("geometric mean", strong=True), *means),) if findings.overall else ()
    return Table(
        id="against-baseline",
        title=f"Every test: {crossed.factor}, against {crossed.base}",
        columns=(
            Column("Test", figures=False),
            *(Column(pair.system, "%", under=f"over {pair.against}") for pair in pairs),
        ),
        rows=tuple(
            (
                Entry(line.head, strong=True),
                *(delta_of(findings, line.of, pair) for pair in pairs),
            )
            for line in own
        )
        + overall,
        caption=CAPTION,
        closing=len(overall),
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
                    alone(_results_unit(cell).unit)
                    + (", less is better" if cell.direction == "lower" else "")
                ),
                *(
                    mean_entry(summary_of(cell, system.name), _results_unit(cell))
                    for system in systems
                ),
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
    unit = _results_unit(cell)
    errors = any(summary.se is not None for summary in cell.summaries)
    spread = "standard error of the mean" if errors else "standard deviation"
    known = errors or any(summary.sd is not None for summary in cell.summaries)
    title = workload.display if len(workload.cells) == 1 else _name(workload, cell)
    # The picture shows medians where values were kept.
    medians = any(summary.values for summary in cell.summaries)
    table = Table(
        id=f"{place(findings, workload)}-test-{number}-{slug(cell.metric)}",
        title=title,
        columns=(
            Column("System", figures=False),
            Column(f"{cell.label}{', mean' if medians else ''}", unit.unit),
            *((Column("median", alone(unit.unit)),) if medians else ()),
            Column("SE" if errors else "SD", alone(unit.unit)),
            Column("N"),
        ),
        rows=tuple(
            (
                system_entry(summary.system),
                unit.entry(summary.mean),
                *((unit.entry(summary.median),) if medians else ()),
                spread_of(unit).entry(summary.se if errors else summary.sd),
                count_entry(summary.n or len(summary.values) or 1),
            )
            for summary in cell.summaries
        ),
        caption=f"Mean; {'median, as in the picture; ' if medians else ''}"
        f"{f'{spread}; ' if known else ''}number of values.",
        charts=(SheetChart("bar", 0, (1,), title, with_unit(cell.label, unit.unit)),),
    )
    return without_empty_columns(table)


def _overall_row(one: Place) -> tuple[Entry, ...]:
    own = one.tally
    return (
        system_entry(own.system),
        MISSING if one.share is None else Entry(one.text, 100 * one.share, strong=True),
        line_entry(one.behind),
        count_entry(one.first_without) if one.of else MISSING,
        count_entry(one.of, quiet=True) if 0 < one.of < own.tests else MISSING,
        count_entry(own.first),
        count_entry(own.last),
        count_entry(own.tests, quiet=True),
        *(count_entry(own.verdicts.get(verdict, 0)) for verdict in _VERDICTS),
    )


def _name(workload: WorkloadFindings, cell: Cell) -> str:
    metric = metric_of(workload.name, workload.display, cell.label, ", ")
    return ", ".join(filter(None, (metric, cell.at_label)))


def _results_unit(cell: Cell) -> Printing:
    return printing(cell, (summary.mean for summary in cell.summaries), 4)
