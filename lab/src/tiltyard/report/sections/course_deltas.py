"""Values along one dimension with what the first factor is worth at each level, and their averages.

As printed comparisons have it: the systems of one group beside each other, their deltas last.
"""

from collections.abc import Iterator, Mapping

from tiltyard.analysis.claims.crossing import Crossing, crossing
from tiltyard.analysis.claims.deltas import percent, signed, unprinted_decimals
from tiltyard.analysis.model import Average, Cell, Findings, Index, Summary, WorkloadFindings
from tiltyard.charts.figures import alone
from tiltyard.report import tables
from tiltyard.report.document import Column, Entry, Table
from tiltyard.report.sections.advantages import CAPTION, delta_columns, delta_entries
from tiltyard.report.sections.along import Along, Worth
from tiltyard.report.sections.ids import place, slug
from tiltyard.report.sections.printing import MISSING


def course_delta_tables(findings: Findings, workload: WorkloadFindings) -> tuple[Table, ...]:
    """A table a metric of the workload; none where values do not follow one dimension."""
    return tuple(
        _table(findings, own, f"{place(findings, workload)}-curve-{number}-{slug(own.label)}")
        for number, own in enumerate(tables.judged_tables(workload), 1)
        if len(own.rows) > 1
    )


def _table(findings: Findings, own: tables.CourseTable, id: str) -> Table:
    """The arithmetic mean closes it where that is told of a time, else the geometric one."""
    crossed = crossing(findings)
    places = list(_places(crossed))
    along = Along(
        course=own,
        systems=[crossed.systems[level, block, group] for block, group, level in places],
        heads=tuple(
            Column(level, alone(own.unit), under=" ".join(filter(None, (group, block))))
            for block, group, level in places
        ),
        worth=_worth(findings, crossed, own),
        typical=_mean if findings.origin else _median,
        means={"arithmetic": "average"} if own.averages else {"geometric": "geometric mean"},
    )
    dimension = own.heading.partition(",")[0]
    title = f"{own.label} by {dimension}" if dimension else own.label
    return along.table(id, title, _caption(findings, own))


def _mean(summary: Summary) -> float:
    return summary.mean


def _median(summary: Summary) -> float:
    return summary.median


def _places(crossed: Crossing) -> Iterator[tuple[str, str, str]]:
    return (
        (block, group, level)
        for block in crossed.blocks
        for group in crossed.groups
        for level in crossed.levels
        if (level, block, group) in crossed.systems
    )


def _worth(findings: Findings, crossed: Crossing, own: tables.CourseTable) -> Worth:
    """The columns of deltas, once for each combination of the further factors."""

    def judged(of: Cell | Index) -> Iterator[Entry]:
        for block in crossed.blocks:
            yield from delta_entries(findings, crossed, of, block)

    def averaged(means: Mapping[str, Average]) -> Iterator[Entry]:
        decimals = unprinted_decimals(findings)
        for block in crossed.blocks:
            for level in crossed.levels[1:]:
                for group in crossed.groups:
                    pair = crossed.pair(level, block, group)
                    if pair is None or not {pair.system, pair.against} <= {*means}:
                        yield MISSING
                        continue
                    size = percent(means[pair.system].ratios[pair.against], own.direction)
                    yield Entry(signed(size, decimals), size)

    return Worth(
        columns=tuple(
            Column(
                " ".join(filter(None, (block, "" if column.head == "delta" else column.head)))
                or "delta",
                "%",
                under=column.under,
            )
            for block in crossed.blocks
            for column in delta_columns(crossed)
        ),
        of=judged,
        of_averages=averaged,
    )


def _caption(findings: Findings, own: tables.CourseTable) -> str:
    value = "Values of the source." if findings.origin else "Medians over blocks."
    mean = " The average is the arithmetic mean; it has no interval." if own.averages else ""
    return f"{value} {CAPTION}{mean}"
