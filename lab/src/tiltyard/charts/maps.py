"""Heat maps of a grid: a row of maps a test, a map a system, all to one scale."""

import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiltyard.analysis.line import MARKS, has_open, marks_key, ratio_text
from tiltyard.analysis.model import Cell, Comparison, Findings, WorkloadFindings
from tiltyard.analysis.pairs import against
from tiltyard.charts.chart import Chart, Spec, series
from tiltyard.charts.figures import head_of, measure_of
from tiltyard.charts.grid import Grid, by_test, map_of
from tiltyard.charts.theme import (
    LIGHT,
    SMALL_PX,
    STRENGTHS,
    distinct,
    extent_px,
    text_px,
    toned,
)
from tiltyard.charts.titles import against_baseline, tallied
from tiltyard.units import format_ratio

TONES = 5
_CELL_HEIGHT_PX = 24
_GAP_PX = 10
_LEAST_CELL_PX = 12
_KEY_PX = 300


@dataclass(frozen=True)
class Tile:
    """One cell of the map of one system."""

    system: str
    row: str
    column: str
    texts: Sequence[str]
    """From the fullest to the shortest: the first is printed that fits in all tiles of a test."""
    ground: Spec
    """The field that its colour stands for."""


@dataclass(frozen=True)
class Strip:
    """The maps of one test, side by side."""

    title: str
    tiles: Sequence[Tile]
    colour: Spec
    """Encoding of the grounds; its legend is drawn only where tiles have no room for texts."""


@dataclass(frozen=True)
class _Layout:
    """How wide a tile is, how many maps stand side by side, and what stands over each."""

    grid: Grid
    cell_px: float
    over_px: float
    """By how much labels of the columns stand over the sides of a map."""
    columns: int
    heads: Mapping[str, str]

    @property
    def is_wrapped(self) -> bool:
        return len(self.heads) > self.columns


def small_multiples(
    strips: Sequence[Strip], grid: Grid, systems: Sequence[str], width_px: int
) -> Spec:
    """All maps in one specification; labels of the grid stand at its edges only."""
    layout = _layout(grid, systems, width_px)
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
        "resolve": {"scale": {"color": "independent"}},
        "vconcat": [
            _strip(strip, layout, headed=number == 0 or layout.is_wrapped)
            for number, strip in enumerate(strips)
        ],
    }


def _layout(grid: Grid, systems: Sequence[str], width_px: int) -> _Layout:
    """Lines of nearly as many maps, none so narrow that its tiles cannot be told apart."""
    room_px = width_px - extent_px(grid.rows, SMALL_PX) - 8 + _GAP_PX
    for lines in range(1, len(systems) + 1):
        columns = math.ceil(len(systems) / lines)
        map_px = room_px / columns - _GAP_PX
        # A label wider than its tile needs room at both sides of each map.
        over_px = max(0.0, extent_px(grid.columns, SMALL_PX) - map_px / len(grid.columns))
        cell_px = (map_px - over_px) / len(grid.columns)
        if cell_px >= _LEAST_CELL_PX:
            break
    return _Layout(grid, cell_px, over_px, columns, distinct(systems, map_px))


def _strip(strip: Strip, layout: _Layout, *, headed: bool) -> Spec:
    grid = layout.grid
    level = _level(strip.tiles, layout.cell_px)
    keyed = level is None and bool(strip.colour["legend"])
    header: Spec = {"labelExpr": f"{json.dumps(layout.heads)}[datum.value]", "labelPadding": 3}
    by_system: Spec = {
        "field": "system",
        "type": "nominal",
        "sort": list(layout.heads),
        "title": None,
        "header": {**header, "labelColor": LIGHT["ink"], "labelFontSize": 12} if headed else None,
    }
    x_axis: Spec = {
        "orient": "bottom" if layout.is_wrapped else "top",
        "labelAngle": 0,
        "labelPadding": 3,
        "labelOverlap": "parity",
        "labelSeparation": 4,
    }
    y_axis: Spec = {
        "labelFontSize": SMALL_PX,
        "labelColor": LIGHT["soft"],
        "minExtent": extent_px(grid.rows, SMALL_PX),
    }
    colour = strip.colour if keyed else {**strip.colour, "legend": None}
    return {
        "title": {"text": strip.title, "offset": 4},
        "data": {
            "values": [
                {
                    "system": tile.system,
                    "row": tile.row,
                    "column": tile.column,
                    "text": "" if keyed else _text(tile, level, layout.cell_px),
                    "told": "; ".join(
                        f"{name}: {one}"
                        for name, one in (
                            ("system", tile.system),
                            ("test", strip.title),
                            ("row", tile.row),
                            ("column", tile.column),
                            ("value", tile.texts[0]),
                        )
                    ),
                    **tile.ground,
                }
                for tile in strip.tiles
            ]
        },
        **(
            {"facet": by_system, "columns": layout.columns}
            if layout.is_wrapped
            else {"facet": {"column": by_system}}
        ),
        "spacing": _GAP_PX + layout.over_px,
        "spec": {
            "width": round(layout.cell_px * len(grid.columns)),
            "height": _CELL_HEIGHT_PX * len(grid.rows),
            "encoding": {
                "x": _band("column", grid.columns, x_axis if headed else None),
                "y": _band("row", grid.rows, y_axis),
            },
            "layer": _layers(colour),
        },
    }


def _layers(colour: Spec) -> list[Spec]:
    """Tiles, and the texts on them."""
    return [
        {
            "mark": {
                "type": "rect",
                "stroke": LIGHT["paper"],
                "strokeWidth": 2,
            },
            "encoding": {"color": colour, "description": {"field": "told"}},
        },
        {
            "mark": {"type": "text", "fontSize": SMALL_PX},
            "encoding": {
                "text": {"field": "text"},
                "color": {
                    "condition": {"test": "datum.tone === 'panel'", "value": LIGHT["soft"]},
                    "value": LIGHT["ink"],
                },
            },
        },
    ]


def _level(tiles: Sequence[Tile], cell_px: float) -> int | None:
    """How short the texts of all tiles are to be; ``None`` if some have no room for any."""
    levels = range(max((len(tile.texts) for tile in tiles), default=1))
    return next(
        (level for level in levels if all(_text(tile, level, cell_px) for tile in tiles)), None
    )


def _text(tile: Tile, level: int | None, width_px: float) -> str:
    """The text of a level; nothing if it does not fit."""
    last = len(tile.texts) - 1
    text = tile.texts[last if level is None else min(level, last)]
    return text if text_px(text, SMALL_PX) + 4 <= width_px else ""


def _band(field: str, order: Sequence[str], axis: Spec | None) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "sort": list(order),
        "scale": {"domain": list(order), "padding": 0},
        "title": None,
        "axis": axis,
    }


def edges_of(values: Iterable[float]) -> list[float]:
    """The values at which tones change, in equal ratios; none where all values are the same."""
    positive = [value for value in values if value > 0] or [1.0]
    low, ratio = min(positive), max(positive) / min(positive)
    return [low * ratio ** (step / TONES) for step in range(1, TONES)] if ratio > 1 else []


def _draw_values(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Size × record maps of the median over blocks, one map a system, one scale a test."""
    grid = map_of(workload)
    if grid is None:
        return None
    strips = [
        _strip_of_values(cells, grid, noted=place == 0)
        for place, cells in enumerate(by_test(workload.cells))
    ]
    return small_multiples(strips, grid, series(findings), width_px)


def _strip_of_values(cells: list[Cell], grid: Grid, *, noted: bool) -> Strip:
    measure = measure_of(cells)
    summaries = [(cell, summary) for cell in cells for summary in cell.summaries]
    edges = edges_of(one.median for _, one in summaries)
    texts = {str(step): measure.short(edge) for step, edge in enumerate(edges, 1)}
    tones = [LIGHT[f"amount-{step}"] for step in range(1, TONES + 1)]
    steps = list(range(1, len(edges) + 1))
    scale: Spec = {"type": "threshold", "domain": steps, "range": tones[: len(edges) + 1]}
    legend: Spec = {
        "orient": "bottom",
        "gradientLength": _KEY_PX,
        "gradientThickness": 8,
        "labelExpr": f"{json.dumps(texts)}[datum.value] || ''",
        "labelFontSize": SMALL_PX,
        "labelOverlap": "greedy",
        "labelSeparation": 8,
    }
    return Strip(
        title=head_of(cells[0].label, measure, cells[0], noted=noted),
        tiles=[
            Tile(
                one.system,
                *grid.places[cell.at_label],
                [write(one.median) for write in (measure.number, measure.whole, measure.short)],
                {"step": bisect_right(edges, one.median)},
            )
            for cell, one in summaries
        ],
        colour={
            "field": "step",
            "type": "quantitative",
            "scale": scale,
            "legend": legend if edges else None,
        },
    )


def _values_alt(findings: Findings, workload: WorkloadFindings) -> str:
    tests = ", ".join(cells[0].label for cells in by_test(workload.cells))
    systems = ", ".join(series(findings))
    value = "median over blocks" if findings.planned else "value of the source"
    return f"{workload.display}: {value} in every cell, for {systems}. Tests: {tests}."


def _draw_differences(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Size × record maps of the ratio to the baseline, coloured by which is better."""
    grid = map_of(workload)
    systems = [system for system in series(findings) if system != findings.baseline]
    if grid is None or not systems:
        return None
    strips = [
        Strip(
            title=f"{cells[0].label}, relative to {findings.baseline}",
            tiles=[
                Tile(
                    pair.system,
                    *grid.places[cell.at_label],
                    _ratio_texts(pair),
                    {"tone": tone(pair)},
                )
                for cell in cells
                for pair in against(cell.comparisons, findings.baseline)
            ],
            colour=toned(),
        )
        for cells in by_test(workload.cells)
    ]
    return small_multiples(strips, grid, systems, width_px)


def tone(comparison: Comparison) -> str:
    """The colour of a difference: its side by the verdict, its strength by the ratio."""
    if comparison.verdict == "equivalent":
        return "equal"
    if comparison.ratio is None or comparison.verdict in ("undecided", "invalid"):
        return "panel"
    factor = max(comparison.ratio, 1 / comparison.ratio)
    strength = next(strength for limit, strength in STRENGTHS if factor <= limit)
    return f"{'better' if comparison.verdict == 'faster' else 'worse'}-{strength}"


def _ratio_texts(comparison: Comparison) -> list[str]:
    mark = MARKS[comparison.verdict]
    if comparison.ratio is None:
        return [mark]
    return [f"{mark} {ratio_text(comparison)}", f"{mark}{format_ratio(comparison.ratio)}", mark]


def _differences_alt(findings: Findings, workload: WorkloadFindings) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in workload.tally.items() if count)
    return (
        f"{workload.display}: ratio to {findings.baseline} in every cell. Of all pairs: {counts}."
    )


def _differences_read(cells: Sequence[Cell] | None = None) -> str:
    without = " Undecided cells have no colour." if has_open(cells) else ""
    strength = "The stronger the colour, the larger the ratio: up to 1.1, 1.25, 2, and beyond."
    return f"{marks_key(cells)}. {strength}{without}"


VALUES = Chart(
    name="values",
    places=("grid", "whitepaper charts"),
    title="Values, cell by cell",
    caption="Median over blocks. Darker = higher (on a dark page lighter), in equal ratios within "
    "each test.",
    draw=_draw_values,
    alt=_values_alt,
    imported=(
        "Values, cell by cell",
        "Values of the source. Darker = higher (on a dark page lighter), in equal ratios within "
        "each test.",
    ),
)
DIFFERENCES = Chart(
    name="differences",
    places=("grid", "whitepaper decided charts"),
    title="Differences, cell by cell",
    caption=_differences_read(),
    legend=lambda _, workload: _differences_read(workload.cells),
    draw=_draw_differences,
    alt=_differences_alt,
    finding=lambda findings, workload: tallied(against_baseline(findings, workload.cells), "cell"),
)
