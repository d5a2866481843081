"""Charts, drawn and ready to be placed in a document."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import CHARTS
from tiltyard.charts.chart import NARROW_PX, WIDE_PX, Chart, Place, Spec, StudyChart, SystemChart
from tiltyard.report.document import Block, Figure, Paragraph
from tiltyard.report.sections.entries import place, slugs
from tiltyard.report.sections.entries import place as place_of

_CROWDED = 3000
"""Marks from which on a picture is drawn once: a phone shows it smaller."""
_TOO_MANY = 8000
"""Marks from which on a picture is left out: nobody could read it, and it takes seconds to draw."""
_VIEWS = ("layer", "concat", "hconcat", "vconcat")
_LINES = ("line", "area")


def figures(
    findings: Findings, workload: WorkloadFindings, place: Place, title: str = ""
) -> tuple[Block, ...]:
    """The pictures of a workload that hang in one room of the report.

    Args:
        findings: what the analysis states.
        workload: one of its workloads.
        place: the room.
        title: over each of them; by default that of the chart.
    """
    return tuple(
        block
        for chart in CHARTS
        if chart.place == place
        for block in _hung(findings, workload, chart, title or chart.words(findings)[0])
    )


def _hung(
    findings: Findings, workload: WorkloadFindings, chart: Chart, title: str
) -> Iterator[Block]:
    wide = chart.draw(findings, workload, WIDE_PX)
    if wide is None:
        return
    marks = _marks(wide)
    if marks > _TOO_MANY:
        text = f"“{title}” would be a picture of {marks:,} marks, and is left out; tables have all."
        yield Paragraph(text, "note")
        return
    crowded = marks > _CROWDED
    yield Figure(
        id=f"figure-{place_of(findings, workload)}-{chart.name}",
        title=title,
        caption=chart.words(findings)[1],
        alt=chart.alt(findings, workload),
        wide=wide,
        narrow=None if crowded else chart.draw(findings, workload, NARROW_PX),
    )


def _marks(view: Spec, above: int = 0) -> int:
    """Marks that a specification draws, roughly: a line is one, everything else one a row.

    Args:
        view: the specification, or one of its views.
        above: rows of data that it inherits.
    """
    data = view.get("data")
    values = data.get("values") if isinstance(data, dict) else None
    rows = len(values) if isinstance(values, list) else above
    mark = view.get("mark")
    if mark is not None:
        kind = mark.get("type") if isinstance(mark, dict) else mark
        return 1 if kind in _LINES else rows
    return sum(
        _marks(part, rows)
        for name in _VIEWS
        if isinstance(parts := view.get(name), list)
        for part in parts
    )


def of_workload(
    findings: Findings, workload: WorkloadFindings, *charts: Chart
) -> tuple[Figure, ...]:
    """Those of the charts that suit the workload."""
    return tuple(
        Figure(
            id=f"figure-{place(findings, workload)}-{chart.name}",
            title=f"{workload.name}: {title[:1].lower()}{title[1:]}",
            caption=caption,
            alt=chart.alt(findings, workload),
            wide=wide,
            narrow=chart.draw(findings, workload, NARROW_PX),
        )
        for chart in charts
        for title, caption in [chart.words(findings)]
        if (wide := chart.draw(findings, workload, WIDE_PX)) is not None
    )


def of_systems(
    findings: Findings, workload: WorkloadFindings, chart: SystemChart
) -> tuple[Figure, ...]:
    """A picture a system, all to the same scales."""
    ids = slugs(system.name for system in findings.systems)
    return tuple(
        Figure(
            id=f"figure-{place(findings, workload)}-{chart.name}-{ids[system.name]}",
            title=f"{workload.name}, {system.name}",
            caption=chart.caption if number == 0 else "",
            alt=chart.alt(findings, workload, system.name),
            wide=wide,
            narrow=chart.draw(findings, workload, system.name, NARROW_PX),
        )
        for number, system in enumerate(findings.systems)
        if (wide := chart.draw(findings, workload, system.name, WIDE_PX)) is not None
    )


def of_study(findings: Findings, *charts: StudyChart) -> tuple[Figure, ...]:
    """Those of the charts that suit the study."""
    return tuple(
        Figure(
            id=f"figure-{chart.name}",
            title=chart.title,
            caption=chart.caption,
            alt=chart.alt(findings),
            wide=wide,
            narrow=chart.draw(findings, NARROW_PX),
        )
        for chart in charts
        if (wide := chart.draw(findings, WIDE_PX)) is not None
    )
