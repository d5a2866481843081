"""Charts, drawn and ready to be hung in a document."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import CHARTS
from tiltyard.charts.chart import NARROW_PX, WIDE_PX, Chart, Place, Spec
from tiltyard.report.document import Block, Figure, Paragraph
from tiltyard.report.sections.ids import place as place_of

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
        told = f"“{title}” would be a picture of {marks:,} marks, and is left out; tables have all."
        yield Paragraph(told, "note")
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
