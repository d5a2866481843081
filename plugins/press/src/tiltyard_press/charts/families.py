"""One system's size × record grid as a family of lines: over records, a line a file size."""

from tiltyard.analysis.axes import Course, spoken_axes
from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.charts.chart import Spec, SystemChart
from tiltyard.charts.figures import head_of, measure_of
from tiltyard.charts.grid import by_test, spans, values_of
from tiltyard.charts.scales import Places, Scale, places_of, scale_of
from tiltyard.charts.theme import HEIGHTS, LIGHT, SMALL_PX, extent_px, toned

_HEIGHT_PX = 280
_AXIS_PX = 74
_LABEL_PX = 14
_ENOUGH = 3
"""Levels from which on a line says more than two numbers."""


def draw(
    _findings: Findings, workload: WorkloadFindings, system: str, width_px: int
) -> Spec | None:
    """A panel a test; the axes are those of all systems, so that their pictures can be compared."""
    along = course_across(workload)
    tests = [cells for cells in by_test(workload.cells) if any(values_of(cells, system))]
    if along is None or not tests:
        return None
    return {
        "padding": {"left": 0, "top": 2, "bottom": 2, "right": 4},
        "spacing": 22,
        "vconcat": [
            _panel(cells, system, along, width_px, noted=place == 0)
            for place, cells in enumerate(tests)
        ],
    }


def alt(_findings: Findings, workload: WorkloadFindings, system: str) -> str:
    """The span of each test."""
    along = course_across(workload)
    over = along.axis.span(along.levels) if along else ""
    return f"{workload.display}, {system}, lines over {over}. {spans(workload, system)}"


def course_across(workload: WorkloadFindings) -> Course | None:
    """The last dimension of a grid of two or more; ``None`` where it cannot be followed."""
    axes = spoken_axes(cell.at for cell in workload.cells)
    if len(axes) < 2:
        return None
    levels = {axes[-1].level(cell.at) for cell in workload.cells}
    numbers = sorted(level for level in levels if isinstance(level, int))
    if len(numbers) < max(len(levels), _ENOUGH):
        return None
    return Course(axes[-1], tuple(numbers), axes[:-1])


def _panel(cells: list[Cell], system: str, along: Course, width_px: int, *, noted: bool) -> Spec:
    measure = measure_of(cells)
    scale = scale_of(s.median / measure.factor for cell in cells for s in cell.summaries)
    places = places_of(along, 1)
    lines: dict[str, list[Spec]] = {along.case(cell.at): [] for cell in cells}
    for cell, value in sorted(
        values_of(cells, system), key=lambda known: along.axis.level(known[0].at)
    ):
        place = places.of(int(along.axis.level(cell.at)), 0)
        drawn = max(value / measure.factor, scale.low)
        lines[along.case(cell.at)].append({"place": place, "value": drawn})
    lines = {case: line for case, line in lines.items() if line}
    tones = {case: f"height-{1 + HEIGHTS * n // len(lines)}" for n, case in enumerate(lines)}
    cases_px = extent_px((along.case(cell.at) for cell in cells), SMALL_PX) + 8
    plot_px = width_px - cases_px - _AXIS_PX
    x, y = places.axis(plot_px), scale.axis()
    points = [
        {**point, "case": case, "tone": tones[case]}
        for case, line in lines.items()
        for point in line
    ]
    last = {case: {**line[-1], "tone": tones[case]} for case, line in lines.items()}
    return {
        "title": {
            "text": head_of(f"{cells[0].label}, {system}", measure, cells[0], noted=noted),
            "subtitle": scale.words,
        },
        "width": plot_px,
        "height": _HEIGHT_PX,
        "encoding": {"x": {**x, "field": "place"}, "y": {**y, "field": "value"}},
        "layer": [
            {
                "data": {"values": points},
                "mark": {"type": "line", "strokeWidth": 1.75, "point": {"size": 14}},
                "encoding": {"detail": {"field": "case"}, "color": toned()},
            },
            *_names(places, scale, last),
        ],
    }


def _names(places: Places, scale: Scale, last: dict[str, Spec]) -> list[Spec]:
    """Each line's case at its right end, moved where lines end together, with a stroke to it."""
    heights = scale.apart(
        {case: float(str(point["value"])) for case, point in last.items()}, _LABEL_PX / _HEIGHT_PX
    )
    edge = places.edges[1]
    ends: Spec = {
        "values": [
            {**last[case], "case": case, "edge": edge, "beside": height}
            for case, height in heights.items()
        ]
    }
    look: Spec = {"align": "left", "dx": 4, "fontSize": SMALL_PX, "color": LIGHT["ink"]}
    return [
        {
            "data": ends,
            "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.6},
            "encoding": {"x2": {"field": "edge"}, "y2": {"field": "beside"}, "color": toned()},
        },
        {
            "data": ends,
            "mark": {"type": "text", **look},
            "encoding": {
                "x": {"field": "edge", "type": "quantitative"},
                "y": {"field": "beside", "type": "quantitative"},
                "text": {"field": "case"},
            },
        },
    ]


CHART = SystemChart(
    name="families",
    places=("whitepaper charts",),
    title="Line by line",
    caption="The axes are the same for all systems.",
    draw=draw,
    alt=alt,
)
