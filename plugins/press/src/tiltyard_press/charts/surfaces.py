"""A size × record grid as a surface, as printed studies of IOzone show it: one a system.

A parallel projection from above and one corner: equal heights are equally long wherever they
stand, so a value can be read against the walls behind it. The lower end of each dimension stands
in front. The pictures of all systems have one view and one scale. Decision 26 says why surfaces
never stand alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TypeAlias

from tiltyard.analysis.axes import Axis, Level, spoken_axes
from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, columns_of, series, side_by_side
from tiltyard.charts.figures import head_of, measure_of
from tiltyard.charts.grid import by_test, spans, values_of
from tiltyard.charts.theme import HEIGHTS, LIGHT, SMALL_PX, extent_px, toned

Point: TypeAlias = tuple[float, float]
"""On paper, in px; y grows downwards."""
Heights: TypeAlias = Sequence[Sequence[float | None]]
"""Shares of the full height: a row for each step away along the left edge, a column for each
along the right one; ``None`` where nothing is known."""

_DEPTH = 0.21
"""How far the floor's corners are below each other, as a share of the width."""
_RISE = 0.40
"""Full height, as a share of the width."""
_GAP_PX = 24
_MOST_PX = 520
_ENOUGH = 3
"""Levels of both dimensions."""
_TICK_PX = 7
_LINE_PX = 15


@dataclass(frozen=True)
class View:
    """A unit cube on paper: ``right`` runs to the front right, ``left`` to the front left."""

    width_px: float

    @property
    def height_px(self) -> float:
        """From the top of the far corner to the near corner of the floor."""
        return self.width_px * (2 * _DEPTH + _RISE)

    def at(self, right: float, left: float, height: float = 0.0) -> Point:
        """Where a point of the cube stands; the far corner of the floor is (0, 0, 0)."""
        x = self.width_px * (1 + right - left) / 2
        y = self.width_px * (_RISE * (1 - height) + _DEPTH * (right + left))
        return round(x, 1), round(y, 1)


@dataclass(frozen=True)
class Face:
    """One piece of the surface."""

    corners: tuple[Point, ...]
    height: float
    """Mean of its corners' heights: 0 to 1."""


@dataclass(frozen=True)
class _Floor:
    """What stands along the two edges of the floor, from the far corner to the near ones."""

    right: Axis
    left: Axis
    columns: tuple[Level, ...]
    rows: tuple[Level, ...]


def faces(heights: Heights, view: View) -> list[Face]:
    """The surface between neighbouring points, the farthest first, so that near ones cover far.

    Pieces with a corner that is not known are left out.
    """
    rows, columns = len(heights) - 1, len(heights[0]) - 1
    places = ((row, column) for row in range(rows) for column in range(columns))
    pieces = []
    for row, column in sorted(places, key=lambda place: place[0] / rows + place[1] / columns):
        around = ((row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column))
        corners = [(r, c, h) for r, c in around if (h := heights[r][c]) is not None]
        if len(corners) == len(around):
            points = tuple(view.at(c / columns, r / rows, height) for r, c, height in corners)
            pieces.append(Face(points, fmean(height for _, _, height in corners)))
    return pieces


def falls(series: Sequence[float]) -> bool:
    """Whether a sequence of means ends lower than it begins, weighing all of its steps."""
    middle = (len(series) - 1) / 2
    return sum((place - middle) * value for place, value in enumerate(series)) < 0


def round_ticks(most: float, steps: int = 4) -> list[float]:
    """Round numbers from 0 to the first that is not below ``most``."""
    rough = most / steps
    decade = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(unit * decade for unit in (1, 2, 2.5, 5, 10) if unit * decade >= rough)
    return [step * place for place in range(math.ceil(most / step - 1e-9) + 1)]


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a system and test, two side by side where there is room."""
    columns, panel_px = columns_of(2, width_px, _GAP_PX)
    panels = [
        _panel(cells, floor, system, panel_px, noted=system == series(findings)[0] and place == 0)
        for system in series(findings)
        for place, cells in enumerate(by_test(workload.cells))
        if any(values_of(cells, system)) and (floor := _floor(cells)) is not None
    ]
    return side_by_side(panels, columns, 18, _GAP_PX - 12) if panels else None


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """The span of each system."""
    each = " ".join(f"{system}: {spans(workload, system)}" for system in series(findings))
    return f"{workload.display}, a surface over the grid for each system. {each}"


def _floor(cells: Sequence[Cell]) -> _Floor | None:
    """Two dimensions with enough levels; what is low over all systems comes to the front."""
    axes = spoken_axes(cell.at for cell in cells)
    if len(axes) != 2:
        return None
    left, right = axes
    rows, columns = _levels(cells, left), _levels(cells, right)
    enough = min(len(rows), len(columns)) >= _ENOUGH
    return _Floor(right, left, columns, rows) if enough else None


def _levels(cells: Sequence[Cell], axis: Axis) -> tuple[Level, ...]:
    """The levels of an axis in the order in which values fall towards the viewer."""
    means: dict[Level, list[float]] = {}
    for cell in cells:
        means.setdefault(axis.level(cell.at), []).extend(s.median for s in cell.summaries)
    levels = sorted(means, key=lambda level: (isinstance(level, str), level))
    ordered = [fmean(means[level]) for level in levels if means[level]]
    return tuple(levels if falls(ordered) else reversed(levels))


def _panel(cells: list[Cell], floor: _Floor, system: str, width_px: int, *, noted: bool) -> Spec:
    measure = measure_of(cells)
    top = max((s.median / measure.factor for cell in cells for s in cell.summaries), default=1.0)
    ticks = {tick: f"{tick:,.10g}" for tick in round_ticks(top)}
    full = max(ticks) * measure.factor
    edge_px = extent_px(ticks.values(), SMALL_PX) + 2 * _TICK_PX
    edge_px += extent_px((floor.left.text(level) for level in floor.rows), SMALL_PX)
    view = View(min(_MOST_PX, width_px - edge_px))
    shares = {
        (floor.left.level(cell.at), floor.right.level(cell.at)): value / full
        for cell, value in values_of(cells, system)
    }
    heights = [[shares.get((row, column)) for column in floor.columns] for row in floor.rows]
    head = head_of(f"{cells[0].label}, {system}", measure, cells[0], noted=noted)
    height_px = view.height_px + 2 * _LINE_PX
    up = {tick * measure.factor / full: text for tick, text in ticks.items()}
    return {
        "title": {"text": head, "frame": "bounds", "limit": width_px},
        "width": view.width_px,
        "height": height_px,
        "encoding": {
            "x": _pixels("x", [0, view.width_px], [0, view.width_px]),
            "y": _pixels("y", [0, height_px], [0, height_px]),
        },
        "layer": [
            _strokes(_walls(view, list(up))),
            _pieces(faces(heights, view)),
            _strokes(_drops(view, heights)),
            *_labels(view, floor, up),
        ],
    }


def _pixels(field: str, domain: list[float], range: list[float]) -> Spec:
    scale: Spec = {"domain": domain, "range": range, "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}


def _walls(view: View, heights: Sequence[float]) -> Iterator[tuple[Point, Point]]:
    """The floor's outline, and lines of equal value on the two walls behind."""
    corners = [view.at(0, 0), view.at(1, 0), view.at(1, 1), view.at(0, 1), view.at(0, 0)]
    yield from pairwise(corners)
    for height in heights:
        yield from pairwise(view.at(*foot, height) for foot in ((0, 1), (0, 0), (1, 0)))
    for foot in ((0, 0), (1, 0), (0, 1)):
        yield view.at(*foot), view.at(*foot, 1)


def _drops(view: View, heights: Heights) -> Iterator[tuple[Point, Point]]:
    """From the three near corners of the surface down to the floor it stands over."""
    corners = ((0, 1, heights[-1][0]), (1, 1, heights[-1][-1]), (1, 0, heights[0][-1]))
    for right, left, height in corners:
        if height is not None:
            yield view.at(right, left), view.at(right, left, height)


def _strokes(strokes: Iterator[tuple[Point, Point]]) -> Spec:
    values = [{"x": a[0], "y": a[1], "to_x": b[0], "to_y": b[1]} for a, b in strokes]
    return {
        "data": {"values": values},
        "mark": {"type": "rule", "color": LIGHT["line"]},
        "encoding": {"x2": {"field": "to_x"}, "y2": {"field": "to_y"}},
    }


def _pieces(pieces: Sequence[Face]) -> Spec:
    """The surface; a tone for each step of the height."""
    values = [
        {
            "x": x,
            "y": y,
            "place": place,
            "corner": corner,
            "tone": f"height-{1 + min(HEIGHTS - 1, int(HEIGHTS * face.height))}",
        }
        for place, face in enumerate(pieces)
        for corner, (x, y) in enumerate(face.corners)
    ]
    return {
        "data": {"values": values},
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


def _labels(view: View, floor: _Floor, up: dict[float, str]) -> list[Spec]:
    """Levels along the front edges, values up the left one, and what they are."""
    columns = _kept(view, floor.right, floor.columns)
    rows = _kept(view, floor.left, floor.rows)
    below = _TICK_PX + 5
    names = 2 * _LINE_PX + 4
    return [
        _texts([(*view.at(0, 1, share), text) for share, text in up.items()], "right", -_TICK_PX),
        _texts([(*view.at(share, 1), text) for share, text in columns], "right", -4, below),
        _texts([(*view.at(1, share), text) for share, text in rows], "left", 4, below),
        _texts([(*view.at(0.5, 1), floor.right.name)], "right", -34, names),
        _texts([(*view.at(1, 0.5), floor.left.name)], "left", 34, names),
    ]


def _kept(view: View, axis: Axis, levels: Sequence[Level]) -> Iterator[tuple[float, str]]:
    """As many levels as have room one below the other, the last ones among them."""
    apart_px = _DEPTH * view.width_px / (len(levels) - 1)
    step = math.ceil((SMALL_PX - 1) / apart_px)
    for place in range(len(levels) - 1, -1, -step):
        yield place / (len(levels) - 1), axis.text(levels[place])


def _texts(texts: Sequence[tuple[float, float, str]], align: str, dx: float, dy: float = 0) -> Spec:
    look: Spec = {"fontSize": SMALL_PX, "color": LIGHT["soft"]}
    return {
        "data": {"values": [{"x": x, "y": y, "text": text} for x, y, text in texts]},
        "mark": {"type": "text", "align": align, "dx": dx, "dy": dy, **look},
        "encoding": {"text": {"field": "text"}},
    }


CHART = Chart(
    name="surfaces",
    places=("whitepaper charts",),
    title="The surfaces",
    caption="Heights are values, from zero, to one scale. The lower end of each dimension stands "
    "in front, so that little is hidden. For exact values read the maps or the tables.",
    draw=draw,
    alt=alt,
)
