"""Small multiples of heat maps: a row of maps a test, a map a system, all to one measure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tiltyard.charts.chart import Spec, extent_px
from tiltyard.charts.grid import Grid
from tiltyard.charts.letters import told_apart
from tiltyard.charts.sequence import toned
from tiltyard.charts.theme import LIGHT, SMALL_PX

_CELL_HEIGHT_PX = 24
_GAP_PX = 10
_LEAST_CELL_PX = 12


@dataclass(frozen=True)
class Tile:
    """One cell of one map."""

    row: str
    column: str
    texts: Sequence[str]
    """From the fullest to the shortest: the first is printed that fits in all tiles of a test."""
    tone: str
    """Name of a colour of the theme; ``panel`` for a cell about which nothing is known."""


@dataclass(frozen=True)
class Map:
    """One grid of tiles with its head."""

    head: str
    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Strip:
    """The maps of one test, side by side."""

    title: str
    maps: Sequence[Map]
    key: Callable[[float], Spec] | None = None
    """What the tones mean, for a width in px; drawn where tiles have no room for texts."""


@dataclass(frozen=True)
class _Layout:
    """How wide a tile is, how many maps stand abreast, and what stands over each."""

    grid: Grid
    label_px: int
    cell_px: float
    abreast: int
    heads: Mapping[str, str]

    @property
    def map_px(self) -> float:
        """Width of a map."""
        return self.cell_px * len(self.grid.columns)

    def lines(self, strip: Strip) -> list[Sequence[Map]]:
        """The maps of a strip, as many abreast as there is room for."""
        firsts = range(0, len(strip.maps), self.abreast)
        return [strip.maps[first : first + self.abreast] for first in firsts]


def small_multiples(strips: Sequence[Strip], grid: Grid, width_px: int) -> Spec:
    """All maps in one specification; labels of the grid stand at its edges only."""
    layout = _layout(grid, [one.head for one in strips[0].maps], width_px)
    return {
        "padding": {"left": 2, "top": 2, "bottom": 2, "right": 2},
        "title": {
            "text": grid.legend,
            "fontWeight": 400,
            "fontSize": SMALL_PX,
            "color": LIGHT["soft"],
            "offset": 10,
        },
        "spacing": 14,
        "vconcat": [
            _strip(strip, layout, first_strip=number == 0) for number, strip in enumerate(strips)
        ],
    }


def _layout(grid: Grid, heads: Sequence[str], width_px: int) -> _Layout:
    """Lines of nearly as many maps, none so narrow that its tiles cannot be told apart."""
    label_px = extent_px(grid.rows, SMALL_PX)
    room_px = width_px - label_px - 8 + _GAP_PX
    for lines in range(1, len(heads) + 1):
        abreast = math.ceil(len(heads) / lines)
        cell_px = _cell_px(grid, abreast, room_px)
        if cell_px >= _LEAST_CELL_PX:
            break
    fitting = told_apart(heads, room_px / abreast - _GAP_PX)
    return _Layout(grid, label_px, cell_px, abreast, fitting)


def _cell_px(grid: Grid, abreast: int, room_px: float) -> float:
    """Width of a tile; labels that are wider than one stand over at both sides of each map."""
    about_px = (room_px / abreast - _GAP_PX) / len(grid.columns)
    over_px = max(0.0, extent_px(grid.columns, SMALL_PX) - about_px)
    return (room_px / abreast - _GAP_PX - over_px) / len(grid.columns)


def _strip(strip: Strip, layout: _Layout, *, first_strip: bool) -> Spec:
    lines = layout.lines(strip)
    level = _level(strip, layout.cell_px)
    drawn: list[Spec] = [
        {
            "spacing": _GAP_PX,
            "hconcat": [
                _panel(one, layout, level, headed=first_strip or len(lines) > 1, first=place == 0)
                for place, one in enumerate(line)
            ],
        }
        for line in lines
    ]
    if strip.key is not None and level is None:
        drawn.append(strip.key(layout.map_px * layout.abreast))
    title: Spec = {"title": {"text": strip.title, "offset": 4}}
    return {**title, **drawn[0]} if len(drawn) == 1 else {**title, "spacing": 10, "vconcat": drawn}


def _level(strip: Strip, cell_px: float) -> int | None:
    """How short the texts of all tiles are to be; ``None`` if some have no room for any."""
    tiles = [tile for one in strip.maps for tile in one.tiles]
    levels = range(max((len(tile.texts) for tile in tiles), default=1))
    return next(
        (level for level in levels if all(_text(tile, level, cell_px) for tile in tiles)), None
    )


def _panel(one: Map, layout: _Layout, level: int | None, *, headed: bool, first: bool) -> Spec:
    grid, cell_px = layout.grid, layout.cell_px
    y_axis: Spec = {
        "labelFontSize": SMALL_PX,
        "labelColor": LIGHT["soft"],
        "minExtent": layout.label_px,
    }
    x_axis: Spec = {
        "orient": "top",
        "labelAngle": 0,
        "labelPadding": 3,
        "labelOverlap": "parity",
        "labelSeparation": 4,
    }
    panel: Spec = {
        "width": round(layout.map_px),
        "height": _CELL_HEIGHT_PX * len(grid.rows),
        "data": {
            "values": [
                {
                    "row": t.row,
                    "column": t.column,
                    "text": _text(t, level, cell_px),
                    "tone": t.tone,
                }
                for t in one.tiles
            ]
        },
        "encoding": {
            "x": _band("column", grid.columns, x_axis if headed else None),
            "y": _band("row", grid.rows, y_axis if first else None),
        },
        "layer": [_tiles(), _texts()],
    }
    if headed:
        panel["title"] = {
            "text": layout.heads.get(one.head, one.head),
            "fontWeight": 400,
            "anchor": "middle",
        }
    return panel


def _text(tile: Tile, level: int | None, width_px: float) -> str:
    """The text of a level, without one the shortest; nothing if it does not fit."""
    last = len(tile.texts) - 1
    text = tile.texts[last if level is None else min(level, last)]
    return text if extent_px([text], SMALL_PX) <= width_px + 4 else ""


def _band(field: str, order: Sequence[str], axis: Spec | None) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "sort": list(order),
        "scale": {"domain": list(order), "padding": 0},
        "title": None,
        "axis": axis,
    }


def _tiles() -> Spec:
    return {
        "mark": {"type": "rect", "stroke": LIGHT["paper"], "strokeWidth": 2, "aria": False},
        "encoding": {
            "color": toned(),
        },
    }


def _texts() -> Spec:
    return {
        "mark": {"type": "text", "fontSize": SMALL_PX},
        "encoding": {
            "text": {"field": "text"},
            "color": {
                "condition": {"test": "datum.tone === 'panel'", "value": LIGHT["soft"]},
                "value": LIGHT["ink"],
            },
        },
    }
