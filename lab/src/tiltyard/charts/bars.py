"""Absolute values: a bar for the median, its interval, and every block as a point."""

from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, extent_px, few, named_axis, series
from tiltyard.charts.differences import by_test
from tiltyard.charts.grid import course, grid_of
from tiltyard.charts.measure import head_of, measure_of
from tiltyard.charts.spread import spread_of, whiskers
from tiltyard.charts.theme import LIGHT, SMALL_PX, system_colour, system_legend

_BAR_PX = 9
_LONE_BAR_PX = 20
_GROUP_GAP_PX = 7
_COLUMN_PX = 360


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """One panel a test; bars start at zero."""
    if not workload.cells or course(workload):
        return None
    tests = by_test(workload.cells)
    columns = max(1, min(len(tests), width_px // _COLUMN_PX))
    labels = _labels(workload.cells)
    labels_px = extent_px(labels.values(), SMALL_PX)
    y: Spec = {
        "field": "at",
        "type": "nominal",
        "sort": list(labels),
        "title": None,
        "axis": named_axis(labels, SMALL_PX),
    }
    return {
        "padding": {"left": 4, "top": 0, "bottom": 2, "right": 8},
        "columns": columns,
        "spacing": {"row": 22, "column": 28},
        "concat": [
            _panel(findings, cells, y, width_px // columns - labels_px - 22, noted=place == 0)
            for place, cells in enumerate(tests)
        ],
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """What the bars hold."""
    tests = ", ".join(cells[0].label for cells in by_test(workload.cells))
    systems = ", ".join(series(findings))
    return f"{workload.name}: absolute values of {systems}, every block a point. Tests: {tests}."


def _panel(findings: Findings, cells: list[Cell], y: Spec, width_px: int, *, noted: bool) -> Spec:
    measure = measure_of(cells)
    group_px = (_BAR_PX if len(cells) > 1 else _LONE_BAR_PX) * len(findings.systems) + _GROUP_GAP_PX
    return {
        "title": {
            "text": head_of(cells[0].label, measure, cells[0], noted=noted),
            "subtitle": whiskers(s for cell in cells for s in cell.summaries) if noted else "",
        },
        "width": width_px,
        "height": group_px * len(cells),
        "encoding": {
            "y": {**y, "scale": {"paddingInner": _GROUP_GAP_PX / group_px}},
            "yOffset": {"field": "system", "type": "nominal", "sort": series(findings)},
            "x": {
                "type": "quantitative",
                "title": None,
                "axis": {"tickCount": 4},
            },
            "color": {
                "field": "system",
                "scale": system_colour(findings),
                "legend": system_legend(findings, width_px),
            },
        },
        "layer": _layers(cells, measure.factor),
    }


def _layers(cells: list[Cell], factor: float) -> list[Spec]:
    lines = [_line(cell, summary, factor) for cell in cells for summary in cell.summaries]
    points = [
        {"at": cell.at_label, "system": summary.system, "value": value / factor}
        for cell in cells
        for summary in cell.summaries
        for value in summary.values
    ]
    return [
        {
            "data": {"values": lines},
            "mark": {"type": "bar", "opacity": 0.35},
            "encoding": {"x": {"field": "median"}},
        },
        {
            "data": {"values": lines},
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "color": LIGHT["ink"]},
            "encoding": {
                "x": {"field": "low"},
                "x2": {"field": "high"},
                "color": {"value": LIGHT["ink"]},
            },
        },
        {
            "data": {"values": few(points)},
            "mark": {"type": "point", "filled": True, "size": 9, "opacity": 0.9},
            "encoding": {"x": {"field": "value"}},
        },
    ]


def _line(cell: Cell, summary: Summary, factor: float) -> Spec:
    spread = spread_of(summary)
    return {
        "at": cell.at_label,
        "system": summary.system,
        "median": summary.median / factor,
        "low": spread.low / factor if spread else None,
        "high": spread.high / factor if spread else None,
    }


def _labels(cells: tuple[Cell, ...]) -> dict[str, str]:
    """``at_label`` of each cell → what stands at its bars."""
    grid = grid_of(cells)
    if grid is None:
        return {cell.at_label: "" for cell in cells}
    return {at: " · ".join(part for part in place if part) for at, place in grid.places.items()}


CHART = Chart(
    name="bars",
    place="values",
    title="Absolute values, every block",
    caption="Bar: median (the mean, where a source kept nothing else), from zero. Line: 95 % "
    "interval of the median. Points: the blocks, where they are not too many. More is better, "
    "unless said.",
    draw=draw,
    alt=alt,
    elsewhere=(
        "Absolute values",
        "Bar: value of the source, from zero. Points: its values, where it keeps them. More is "
        "better, unless said.",
    ),
)
