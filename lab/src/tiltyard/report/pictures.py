"""Charts, drawn and ready to be placed in a document."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import CHARTS
from tiltyard.charts.chart import NARROW_PX, WIDE_PX, Picture, Place, Spec
from tiltyard.report.document import Block, Figure, Paragraph
from tiltyard.report.sections.entries import place as place_of
from tiltyard.report.sections.entries import slugs

_CROWDED = 3000
"""Marks from which on a picture is drawn once: a phone shows it smaller."""
_TOO_MANY = 8000
"""Marks from which on a picture is left out: nobody could read it, and it takes seconds to draw."""
_VIEWS = ("layer", "concat", "hconcat", "vconcat")
_LINES = ("line", "area")


def figures(
    findings: Findings,
    workload: WorkloadFindings | None,
    place: Place,
    title: str = "",
    *,
    named: bool = False,
) -> tuple[Block, ...]:
    """The pictures that hang in one place of a report: each chart says where that is.

    Args:
        findings: what the analysis states.
        workload: one of its workloads; ``None`` for pictures of all together.
        place: the place.
        title: over each of them; by default that of the chart.
        named: whether the title begins with the workload's name.
    """
    ids = slugs(system.name for system in findings.systems)
    blocks: list[Block] = []
    for chart in CHARTS:
        for picture in chart.pictures(findings, workload) if place in chart.places else ():
            parts = (
                "figure",
                place_of(findings, workload) if workload else "",
                picture.chart,
                ids[picture.system] if picture.system else "",
            )
            words = title or (_named(workload, picture) if named and workload else picture.title)
            blocks += _hung(picture, "-".join(filter(None, parts)), words)
    return tuple(blocks)


def _named(workload: WorkloadFindings, picture: Picture) -> str:
    if picture.system:
        return f"{workload.name}, {picture.system}"
    return f"{workload.name}: {picture.title[:1].lower()}{picture.title[1:]}"


def _hung(picture: Picture, id: str, title: str) -> Iterator[Block]:
    wide = picture.draw(WIDE_PX)
    if wide is None:
        return
    marks = _marks(wide)
    if marks > _TOO_MANY:
        text = f"“{title}” would be a picture of {marks:,} marks, and is left out; tables have all."
        yield Paragraph(text, "note")
        return
    crowded = marks > _CROWDED
    yield Figure(
        id=id,
        title=title,
        caption=picture.caption,
        alt=picture.alt(),
        wide=wide,
        narrow=None if crowded else picture.draw(NARROW_PX),
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
    parts = [part for name in _VIEWS if isinstance(views := view.get(name), list) for part in views]
    if isinstance(facet := view.get("spec"), dict):
        parts.append(facet)
    return sum(_marks(part, rows) for part in parts)
