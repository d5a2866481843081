"""Means with their deviation: a row a test, a dot a system; write tests apart from read tests."""

import re
from collections.abc import Iterator, Sequence

from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.abreast import Panel, layout
from tiltyard.charts.chart import Chart, Spec, extent_px, series
from tiltyard.charts.letters import fitted
from tiltyard.charts.measure import Measure, head_of, measure_of
from tiltyard.charts.rows import Row, Rows, rows_of
from tiltyard.charts.scales import Scale, scale_of
from tiltyard.charts.spread import WORDS, deviation_of
from tiltyard.charts.theme import (
    SMALL_PX,
    TEXT_PX,
    system_colour,
    system_legend,
    system_shape,
)

_SYSTEM_PX = 10
_ROW_GAP_PX = 8
_LONE_ROW_PX = 22
_COLUMN_GAP_PX = 30
_MANY_PANELS = 24


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a point of the grid and kind of test, beside each other where there is room."""
    panels = panels_of(workload)
    if not 0 < len(panels) <= _MANY_PANELS:
        return None
    paper = layout(len(panels), width_px, _COLUMN_GAP_PX)
    single = all(len(panel.cells) == 1 for panel in panels)
    legend = None if single else system_legend(findings, width_px)
    drawn = [
        _drawn(findings, panel, paper.panel_px, legend, noted=place == 0)
        for place, panel in enumerate(panels)
    ]
    return paper.of(drawn, 20, _COLUMN_GAP_PX - 14)


def alt(_findings: Findings, workload: WorkloadFindings) -> str:
    """Every mean with its deviation."""
    told = " ".join(
        f"{_head(panel, cell)}: {_told(cell)}."
        for panel in panels_of(workload)
        for cell in panel.cells
    )
    return f"{workload.name}, means with their standard deviation. {told}"


def panels_of(workload: WorkloadFindings) -> list[Panel]:
    """The cells by point, kind of test and unit; none where no deviation is known."""
    if not any(summary.sd is not None for cell in workload.cells for summary in cell.summaries):
        return []
    kinds = {kind_of(cell.label) for cell in workload.cells}
    points = list(dict.fromkeys(cell.at_label for cell in workload.cells))
    found: dict[tuple[str, tuple[object, ...]], list[Cell]] = {}
    peers: dict[tuple[object, ...], list[Cell]] = {}
    for cell in sorted(workload.cells, key=lambda cell: points.index(cell.at_label)):
        kind = kind_of(cell.label) if len(kinds) > 1 else ""
        own = (kind, cell.shown_in, cell.direction, cell.printed)
        found.setdefault((cell.at_label, own), []).append(cell)
        peers.setdefault(own, []).append(cell)
    return [
        Panel(", ".join(filter(None, (str(own[0]), point))), tuple(cells), tuple(peers[own]))
        for (point, own), cells in found.items()
    ]


def kind_of(label: str) -> str:
    """``read tests`` for ``random read`` and ``freread``, ``write tests``, else ``other tests``."""
    words = re.findall(r"[a-z]+", label.lower())
    reads = any(word.endswith("read") for word in words)
    writes = any(word.endswith("write") for word in words)
    if reads == writes:
        return "other tests"
    return "read tests" if reads else "write tests"


def _head(panel: Panel, cell: Cell) -> str:
    return ", ".join(filter(None, (panel.title, cell.label)))


def _told(cell: Cell) -> str:
    measure = measure_of([cell])
    return ", ".join(
        f"{one.system} {_said(one, measure)} {measure.unit}".rstrip() for one in cell.summaries
    )


def _said(summary: Summary, measure: Measure) -> str:
    """``100,476.5 ± 167.3``."""
    deviation = "" if summary.sd is None else f" ± {measure.number(summary.sd)}"
    return measure.number(summary.mean) + deviation


def _drawn(
    findings: Findings, panel: Panel, width_px: int, legend: Spec | None, *, noted: bool
) -> Spec:
    measure = panel.measure
    layout, places = _layout(findings, panel, width_px)
    said = _figures(panel) if legend is None else {}
    said_px = extent_px(said.values(), SMALL_PX) if said else 10
    scale = _scale(panel.peers, measure)
    label = _head(panel, panel.cells[0]) if len(panel.cells) == 1 else panel.title or "means"
    head = head_of(label, measure, panel.cells[0], noted=noted)
    plot_px = width_px - layout.labels_px - said_px - 8
    values = [{"y": places[0, system], "said": text} for system, text in said.items()]
    return {
        "title": {
            "text": fitted(head, width_px, TEXT_PX + 1),
            "subtitle": WORDS["sd"] if noted else "",
            "frame": "bounds",
        },
        "width": plot_px,
        "height": layout.height_px,
        "layer": [
            *_marks(findings, layout, scale, legend, list(_points(panel, places, scale))),
            *layout.layers(),
            layout.texts(values, {"value": plot_px + 8}, align="left", fontSize=SMALL_PX),
        ],
    }


def _layout(
    findings: Findings, panel: Panel, width_px: int
) -> tuple[Rows, dict[tuple[int, str], float]]:
    """Rows, and where each system of each cell stands: one test has a row for each system."""
    names = series(findings)
    if len(panel.cells) == 1:
        layout = Rows(rows_of(findings), _LONE_ROW_PX, width_px)
        return layout, {(0, system): layout.places[system] for system in names}
    rows = [Row(str(place), cell.label) for place, cell in enumerate(panel.cells)]
    layout = Rows(rows, _SYSTEM_PX * len(names) + _ROW_GAP_PX, width_px)
    return layout, {
        (place, system): middle + _SYSTEM_PX * (number - (len(names) - 1) / 2)
        for place, middle in enumerate(layout.places.values())
        for number, system in enumerate(names)
    }


def _figures(panel: Panel) -> dict[str, str]:
    return {one.system: _said(one, panel.measure) for one in panel.cells[0].summaries}


def _scale(cells: Sequence[Cell], measure: Measure) -> Scale:
    """Of the means and of the far ends of their whiskers."""
    summaries = [summary for cell in cells for summary in cell.summaries]
    ends = [one.mean + (one.sd or 0.0) for one in summaries]
    return scale_of(end / measure.factor for end in (*ends, *(one.mean for one in summaries)))


def _marks(
    findings: Findings, layout: Rows, scale: Scale, legend: Spec | None, points: list[Spec]
) -> list[Spec]:
    """Whiskers and dots, the systems of one test below each other."""
    data: Spec = {"values": points}
    x: Spec = {**scale.axis(across=True), "field": "value"}
    colour: Spec = {"field": "system", "scale": system_colour(findings), "legend": legend}
    return [
        {
            "data": data,
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "y": layout.y,
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 44, "opacity": 1},
            "encoding": {
                "y": layout.y,
                "x": x,
                "color": colour,
                "shape": {"field": "system", "scale": system_shape(findings), "legend": legend},
            },
        },
    ]


def _points(panel: Panel, places: dict[tuple[int, str], float], scale: Scale) -> Iterator[Spec]:
    for place, cell in enumerate(panel.cells):
        for summary in cell.summaries:
            deviation = deviation_of(summary)
            low = panel.measure.scaled(deviation.low) if deviation else None
            yield {
                "y": places[place, summary.system],
                "system": summary.system,
                "value": summary.mean / panel.measure.factor,
                "low": None if low is None else max(scale.low, low),
                "high": panel.measure.scaled(deviation.high) if deviation else None,
            }


CHART = Chart(
    name="means",
    place="chosen",
    title="Means and their deviation",
    caption="Dot: mean. Where the scale does not begin at zero, equal distances are equal ratios.",
    draw=draw,
    alt=alt,
)
