"""Small multiples of heat maps: a row of maps a test, a map a system, all to one measure."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltyard.charts.chart import Spec, extent_px, shortened
from tiltyard.charts.grid import Grid
from tiltyard.charts.theme import LIGHT, SMALL_PX

_CELL_HEIGHT_PX = 24
_GAP_PX = 10


@dataclass(frozen=True)
class Tile:
    """One cell of one map."""

    row: str
    column: str
    texts: Sequence[str]
    """From the fullest to the shortest; the first that fits is printed."""
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


def small_multiples(strips: Sequence[Strip], grid: Grid, width_px: int) -> Spec:
    """All maps in one specification; labels of the grid stand at its edges only."""
    label_px = extent_px(grid.rows, SMALL_PX)
    maps = len(strips[0].maps)
    map_px = (width_px - label_px - 8 - _GAP_PX * (maps - 1)) / maps
    cell_px = map_px / len(grid.columns)
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
            {
                "title": {"text": strip.title, "offset": 4},
                "spacing": _GAP_PX,
                "hconcat": [
                    _panel(one, grid, label_px, cell_px, first_row=number == 0, first=place == 0)
                    for place, one in enumerate(strip.maps)
                ],
            }
            for number, strip in enumerate(strips)
        ],
    }


def _panel(
    one: Map, grid: Grid, label_px: int, cell_px: float, *, first_row: bool, first: bool
) -> Spec:
    y_axis: Spec = {"labelFontSize": SMALL_PX, "labelColor": LIGHT["soft"], "minExtent": label_px}
    x_axis: Spec = {"orient": "top", "labelAngle": 0, "labelPadding": 3}
    limit = max(4, int(cell_px * len(grid.columns) / 7))
    panel: Spec = {
        "width": round(cell_px * len(grid.columns)),
        "height": _CELL_HEIGHT_PX * len(grid.rows),
        "data": {
            "values": [
                {
                    "row": t.row,
                    "column": t.column,
                    "text": _fitting(t.texts, cell_px),
                    "tone": t.tone,
                }
                for t in one.tiles
            ]
        },
        "encoding": {
            "x": _band("column", grid.columns, x_axis if first_row else None),
            "y": _band("row", grid.rows, y_axis if first else None),
        },
        "layer": [_tiles(), _texts()],
    }
    if first_row:
        panel["title"] = {"text": shortened(one.head, limit), "fontWeight": 400, "anchor": "middle"}
    return panel


def _fitting(texts: Sequence[str], width_px: float) -> str:
    """The fullest text that fits; nothing if none does."""
    return next((text for text in texts if extent_px([text], SMALL_PX) <= width_px + 4), "")


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
    names = list(LIGHT)
    return {
        "mark": {"type": "rect", "stroke": LIGHT["paper"], "strokeWidth": 2},
        "encoding": {
            "color": {
                "field": "tone",
                "type": "nominal",
                "scale": {"domain": names, "range": [LIGHT[name] for name in names]},
                "legend": None,
            },
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
