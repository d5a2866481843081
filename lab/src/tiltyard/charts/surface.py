"""One system's size × record grid as a surface: file sizes and records on the floor, values up."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from tiltyard.analysis.axes import Axis, Level, spoken_axes
from tiltyard.analysis.model import Cell, WorkloadFindings
from tiltyard.charts.chart import Spec, extent_px
from tiltyard.charts.differences import by_test
from tiltyard.charts.extremes import values_of
from tiltyard.charts.isometric import Face, Heights, Point, View, faces, falls
from tiltyard.charts.letters import fitted
from tiltyard.charts.measure import head_of, measure_of
from tiltyard.charts.scales import Scale, round_ticks
from tiltyard.charts.sequence import toned
from tiltyard.charts.theme import HEIGHTS, LIGHT, SMALL_PX, TEXT_PX

_MOST_PX = 520
_ENOUGH = 3
_TICK_PX = 7
_LINE_PX = 15


@dataclass(frozen=True)
class Floor:
    """What stands along the two edges of the floor, from the far corner to the near ones."""

    right: Axis
    left: Axis
    columns: tuple[Level, ...]
    rows: tuple[Level, ...]


def panels_of(
    workload: WorkloadFindings, system: str, width_px: int, *, noted: bool = True
) -> list[Spec]:
    """The surface of each test for which the system has values; none without a grid.

    Args:
        workload: the tests.
        system: whose values.
        width_px: of one panel.
        noted: whether the unit is explained, in the first panel.
    """
    return [
        _panel(cells, floor, system, width_px, noted=noted and place == 0)
        for place, cells in enumerate(by_test(workload.cells))
        if any(values_of(cells, system)) and (floor := _floor(cells)) is not None
    ]


def _floor(cells: Sequence[Cell]) -> Floor | None:
    """Two dimensions with enough levels; what is low over all systems comes to the front."""
    axes = spoken_axes(cell.at for cell in cells)
    if len(axes) != 2:
        return None
    left, right = axes
    rows, columns = _levels(cells, left), _levels(cells, right)
    if min(len(rows), len(columns)) < _ENOUGH:
        return None
    return Floor(right, left, columns, rows)


def _levels(cells: Sequence[Cell], axis: Axis) -> tuple[Level, ...]:
    """The levels of an axis in the order in which values fall towards the viewer."""
    means: dict[Level, list[float]] = {}
    for cell in cells:
        means.setdefault(axis.level(cell.at), []).extend(s.median for s in cell.summaries)
    levels = sorted(means, key=lambda level: (isinstance(level, str), level))
    ordered = [fmean(means[level]) for level in levels if means[level]]
    return tuple(levels if falls(ordered) else reversed(levels))


def _panel(cells: list[Cell], floor: Floor, system: str, width_px: int, *, noted: bool) -> Spec:
    measure = measure_of(cells)
    top = max((s.median / measure.factor for cell in cells for s in cell.summaries), default=1.0)
    ticks = round_ticks(top)
    scale = Scale(0.0, ticks[-1], logarithmic=False)
    values_px = extent_px((f"{tick:,.10g}" for tick in ticks), SMALL_PX) + _TICK_PX
    rows_px = extent_px((floor.left.text(level) for level in floor.rows), SMALL_PX) + _TICK_PX
    view = View(min(_MOST_PX, width_px - values_px - rows_px))
    shares = {
        (floor.left.level(cell.at), floor.right.level(cell.at)): scale.share(value / measure.factor)
        for cell, value in values_of(cells, system)
    }
    heights = [[shares.get((row, column)) for column in floor.columns] for row in floor.rows]
    head = head_of(f"{cells[0].label}, {system}", measure, cells[0], noted=noted)
    return {
        "title": {"text": fitted(head, width_px, TEXT_PX + 1), "frame": "bounds"},
        "width": view.width_px,
        "height": view.height_px + 2 * _LINE_PX,
        "encoding": _on_paper(view),
        "layer": [
            _strokes(_walls(view, [scale.share(tick) for tick in ticks])),
            _pieces(faces(heights, view)),
            _strokes(_drops(view, heights)),
            *_labels(view, floor, [(scale.share(tick), f"{tick:,.10g}") for tick in ticks]),
        ],
    }


def _on_paper(view: View) -> Spec:
    """Places are px, y downwards."""

    def span(field: str, end: float, ends: list[float]) -> Spec:
        scale = {"domain": [0, end], "range": ends, "nice": False, "zero": False}
        return {"field": field, "type": "quantitative", "axis": None, "scale": scale}

    height_px = view.height_px + 2 * _LINE_PX
    return {
        "x": span("x", view.width_px, [0, view.width_px]),
        "y": span("y", height_px, [0, height_px]),
    }


def _walls(view: View, heights: Sequence[float]) -> list[tuple[Point, Point]]:
    """The floor's outline, and lines of equal value on the two walls behind."""
    corners = [view.at(0, 0), view.at(1, 0), view.at(1, 1), view.at(0, 1), view.at(0, 0)]
    strokes = list(pairwise(corners))
    for height in heights:
        far = view.at(0, 0, height)
        strokes += [(view.at(0, 1, height), far), (far, view.at(1, 0, height))]
    for right, left in ((0, 0), (1, 0), (0, 1)):
        strokes.append((view.at(right, left), view.at(right, left, 1)))
    return strokes


def _drops(view: View, heights: Heights) -> list[tuple[Point, Point]]:
    """From the three near corners of the surface down to the floor it stands over."""
    corners = ((0, 1, heights[-1][0]), (1, 1, heights[-1][-1]), (1, 0, heights[0][-1]))
    return [
        (view.at(right, left), view.at(right, left, height))
        for right, left, height in corners
        if height is not None
    ]


def _strokes(strokes: Sequence[tuple[Point, Point]]) -> Spec:
    return {
        "data": {
            "values": [{"x": a[0], "y": a[1], "to_x": b[0], "to_y": b[1]} for a, b in strokes]
        },
        "mark": {"type": "rule", "color": LIGHT["line"]},
        "encoding": {"x2": {"field": "to_x"}, "y2": {"field": "to_y"}},
    }


def _pieces(found: Sequence[Face]) -> Spec:
    """The surface; a tone for each step of the height."""
    return {
        "data": {
            "values": [
                {
                    "x": x,
                    "y": y,
                    "place": place,
                    "corner": corner,
                    "tone": f"height-{1 + min(HEIGHTS - 1, int(HEIGHTS * face.height))}",
                }
                for place, face in enumerate(found)
                for corner, (x, y) in enumerate(face.corners)
            ]
        },
        "mark": {
            "type": "line",
            "interpolate": "linear-closed",
            "filled": True,
            "stroke": LIGHT["paper"],
            "strokeWidth": 0.8,
            "strokeJoin": "round",
            "opacity": 1,
        },
        "encoding": {
            "detail": {"field": "place"},
            "order": {"field": "corner", "type": "quantitative"},
            "fill": toned(),
        },
    }


def _labels(view: View, floor: Floor, ticks: Sequence[tuple[float, str]]) -> list[Spec]:
    """Levels along the front edges, values up the left one, and what they are."""
    up = [(*view.at(0, 1, share), text) for share, text in ticks]
    return [
        _texts([(x, y, text) for x, y, text in up], "right", -_TICK_PX, 0),
        _texts(_edge(view, floor.right, floor.columns, "right"), "right", -4, _TICK_PX + 5),
        _texts(_edge(view, floor.left, floor.rows, "left"), "left", 4, _TICK_PX + 5),
        _texts([(*view.at(0.5, 1), floor.right.name)], "right", -34, 2 * _LINE_PX + 4),
        _texts([(*view.at(1, 0.5), floor.left.name)], "left", 34, 2 * _LINE_PX + 4),
    ]


def _edge(
    view: View, axis: Axis, levels: Sequence[Level], which: str
) -> list[tuple[float, float, str]]:
    """As many levels as have room one below the other, the last ones among them."""
    shares = [place / (len(levels) - 1) for place in range(len(levels))]
    points = [view.at(share, 1) if which == "right" else view.at(1, share) for share in shares]
    apart_px = abs(points[1][1] - points[0][1])
    step = max(1, -int(-(SMALL_PX - 1) // apart_px))
    kept = range(len(levels) - 1, -1, -step)
    return [(*points[place], axis.text(levels[place])) for place in kept]


def _texts(found: Sequence[tuple[float, float, str]], align: str, dx: float, dy: float) -> Spec:
    return {
        "data": {"values": [{"x": x, "y": y, "said": said} for x, y, said in found]},
        "mark": {
            "type": "text",
            "align": align,
            "dx": dx,
            "dy": dy,
            "fontSize": SMALL_PX,
            "color": LIGHT["soft"],
        },
        "encoding": {"text": {"field": "said"}},
    }
