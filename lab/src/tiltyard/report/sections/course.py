"""Values along one dimension: a row a level, systems beside each other, what one is worth more."""

from collections.abc import Iterator, Mapping, Sequence

from tiltyard.analysis.model import Advantage, Average, Cell, Findings, Index, WorkloadFindings
from tiltyard.charts.figures import alone, between
from tiltyard.report import tables
from tiltyard.report.document import Block, Column, Entry, Table
from tiltyard.report.sections.along import Along, Worth
from tiltyard.report.sections.comparing import advantage_entry, plain_advantage_entry
from tiltyard.report.sections.ids import place, slug
from tiltyard.report.sections.printing import MISSING


def course_tables(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """The headline metrics of a workload along its course, then latencies; none for a map."""
    return tuple(
        table
        for number, course in enumerate(tables.judged_tables(workload), 1)
        for table in _tables(findings, course, f"{place(findings, workload)}-course-{number}")
    )


def _tables(findings: Findings, course: tables.CourseTable, id: str) -> Iterator[Table]:
    """Values with what the first factor is worth; each further factor has a table of its own."""
    systems = [system.name for system in findings.systems]
    groups = tables.by_factor(findings) or [()]
    for place_of_factor, advantages in enumerate(groups):
        shown = [] if place_of_factor else systems
        title, suffix = course.label, ""
        if place_of_factor:
            factor = advantages[0].factor
            title, suffix = f"{course.label}: what {factor} is worth", f"-{slug(factor)}"
        along = Along(
            course=course,
            systems=shown,
            heads=tuple(Column(name, alone(course.unit)) for name in shown),
            worth=_worth(course, advantages),
            typical=lambda summary: summary.median,
            means={"geometric": "geometric mean", "arithmetic": "arithmetic mean"},
        )
        yield along.table(f"{id}-{slug(course.label)}{suffix}", title, _caption(findings, course))


def _caption(findings: Findings, course: tables.CourseTable) -> str:
    """What the figures of a course are."""
    worth = "more" if course.direction == "higher" else "lower"
    value = "Values of the source" if findings.origin else "Medians over blocks"
    told = (
        f"{value}. Advantage: percent {worth}, with the ratio and its interval; ▲ better, ▼ worse, "
        "= equivalent, ? undecided."
    )
    if course.averages:
        told += (
            " The arithmetic mean is there for comparison with printed tables; it has no interval, "
            "and no verdict rests on it."
        )
    return told


def _worth(course: tables.CourseTable, advantages: Sequence[Advantage]) -> Worth:
    """A column for each pair of levels, and within what."""
    pairs = [(own, pair) for own in advantages for pair in own.pairs]

    def judged(of: Cell | Index) -> Iterator[Entry]:
        for _, pair in pairs:
            found = between(of.comparisons, pair.system, pair.against)
            yield advantage_entry(found, course.direction)

    def averaged(means: Mapping[str, Average]) -> Iterator[Entry]:
        for _, pair in pairs:
            ratios = means[pair.system].ratios if pair.system in means else {}
            ratio = ratios.get(pair.against) if pair.against in means else None
            yield MISSING if ratio is None else plain_advantage_entry(ratio, course.direction)

    return Worth(
        columns=tuple(
            Column(pair.within or "advantage", "%", under=f"{own.level} over {own.over}")
            for own, pair in pairs
        ),
        of=judged,
        of_averages=averaged,
    )
