"""Absolute values: a bar for the median, its interval, and every block as a point."""

from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, extent_px, named_axis, series
from tiltyard.charts.differences import by_test
from tiltyard.charts.figures import with_unit
from tiltyard.charts.grid import course, grid_of
from tiltyard.charts.theme import LIGHT, SMALL_PX, system_colour
from tiltyard.units import display_unit

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
            _panel(findings, cells, y, width_px // columns - labels_px - 22) for cells in tests
        ],
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """What the bars hold."""
    tests = ", ".join(cells[0].label for cells in by_test(workload.cells))
    systems = ", ".join(series(findings))
    return f"{workload.name}: absolute values of {systems}, every block a point. Tests: {tests}."


def _panel(findings: Findings, cells: list[Cell], y: Spec, width_px: int) -> Spec:
    largest = max((v for cell in cells for s in cell.summaries for v in s.values), default=1.0)
    factor, unit = display_unit(largest, cells[0].shown_in)
    better = "" if cells[0].direction == "higher" else " (less is better)"
    group_px = (_BAR_PX if len(cells) > 1 else _LONE_BAR_PX) * len(findings.systems) + _GROUP_GAP_PX
    return {
        "title": {"text": with_unit(cells[0].label, unit) + better},
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
                "legend": {"columns": 0},
            },
        },
        "layer": _layers(cells, factor),
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
            "data": {"values": points},
            "mark": {"type": "point", "filled": True, "size": 9, "opacity": 0.9},
            "encoding": {"x": {"field": "value"}},
        },
    ]


def _line(cell: Cell, summary: Summary, factor: float) -> Spec:
    low, high = summary.median_low, summary.median_high
    return {
        "at": cell.at_label,
        "system": summary.system,
        "median": summary.median / factor,
        "low": None if low is None else low / factor,
        "high": None if high is None else high / factor,
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
    caption="Bar: median, from zero. Line: 95 % interval of the median. Points: the blocks. "
    "More is better, unless said.",
    draw=draw,
    alt=alt,
)
