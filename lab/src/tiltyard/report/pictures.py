"""Charts, drawn and ready to be placed in a document."""

from collections.abc import Iterator
from dataclasses import replace

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts import CHARTS
from tiltyard.charts.chart import NARROW_PX, WIDE_PX, Picture, Place, Spec
from tiltyard.charts.titles import titled
from tiltyard.report.document import Block, Figure, Paragraph
from tiltyard.report.sections.entries import place as place_of
from tiltyard.report.sections.entries import slugs

_CROWDED = 3000
"""Marks from which on a picture is drawn once: a phone shows it smaller."""
_TOO_MANY = 8000
"""Marks from which on a picture is left out: nobody could read it, and it takes seconds to draw."""
_RANKED = 2
"""As many workloads have a picture each on the first page."""
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

    The title of a picture is what it shows, where that is one thing, after its topic; its subtitle
    is then the kind of picture and what it rests on.

    Args:
        findings: what the analysis states.
        workload: one of its workloads; ``None`` for pictures of all together.
        place: the place.
        title: the topic of each of them; by default that of the chart.
        named: whether the topic is the workload's name.
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
            otherwise = title or (
                _named(workload, picture) if named and workload else picture.title
            )
            topic = title or (workload.display if workload and len(findings.workloads) > 1 else "")
            own = _hung(findings, picture, "-".join(filter(None, parts)), topic, otherwise)
            display = workload.display if workload else ""
            blocks += (
                replace(one, workload=display) if isinstance(one, Figure) else one for one in own
            )
    return tuple(blocks)


def answer_picture(findings: Findings) -> tuple[Block, ...]:
    """The picture of the answer: of few workloads the ranking of each, else all tests in one.

    Of several factors the answer is what each does, so that is drawn in place of a ranking.
    """
    if len(findings.workloads) > _RANKED and (found := figures(findings, None, "headline")):
        return found
    several = len(findings.workloads) > 1
    found = tuple(
        figure
        for workload in findings.workloads[:_RANKED]
        for figure in (
            figures(findings, workload, "effects", named=several)
            or figures(findings, workload, "verdict", workload.index.label)
        )
    )
    return tuple(
        replace(own, caption="") if isinstance(own, Figure) and own is not found[-1] else own
        for own in found
    )


def effects_picture(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """What each factor does; where the answer shows that already, the ranking of combinations."""
    own = figures(findings, workload, "effects")
    if {one.id for one in own if isinstance(one, Figure)} & {
        one.id for one in answer_picture(findings) if isinstance(one, Figure)
    }:
        return figures(findings, workload, "verdict", workload.index.label)
    return own


def _named(workload: WorkloadFindings, picture: Picture) -> str:
    if picture.system:
        return f"{workload.display}, {picture.system}"
    return f"{workload.display}: {picture.title[:1].lower()}{picture.title[1:]}"


def _hung(
    findings: Findings, picture: Picture, id: str, topic: str, otherwise: str
) -> Iterator[Block]:
    finding = picture.finding()
    title = titled(topic, finding, otherwise)
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
        caption=" ".join(filter(None, (picture.story(), picture.caption))),
        alt=picture.alt(),
        wide=wide,
        narrow=None if crowded else picture.draw(NARROW_PX),
        subtitle=f"{picture.measure()}; {_rests_on(findings)}" if finding else "",
    )


def _rests_on(findings: Findings) -> str:
    """What n is: of comparisons that stopped earlier the most."""
    if not findings.planned:
        return "values of the source"
    pairs = (pair for workload in findings.workloads for pair in workload.index.comparisons)
    stopped = any(pair.blocks < findings.look for pair in pairs)
    return ("up to " if stopped else "") + findings.design.amount(findings.look)


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
