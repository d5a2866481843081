"""A bar for every system, from zero, in groups by the first factor, its value at its end."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiltyard.analysis.model import Cell, Findings, Index, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, extent_px
from tiltyard.charts.letters import fitted
from tiltyard.charts.measure import Measure, head_of, measure_of
from tiltyard.charts.rows import Row, Rows, rows_of
from tiltyard.charts.spread import Spread, in_words, replicates, spread_of
from tiltyard.charts.theme import LIGHT, SMALL_PX, TEXT_PX, system_colour

_ROW_PX = 22
_BAR_PX = 14
_COLUMN_GAP_PX = 30
_ROOMY_PX = 600
_FEW = 3


@dataclass(frozen=True)
class Bar:
    """One system's value of one quantity."""

    system: str
    value: float
    spread: Spread | None = None
    n: int | None = None

    def said(self, measure: Measure) -> str:
        """``134.22``, ``134.22 · N = 3``."""
        return measure.number(self.value) + (f" · N = {self.n}" if self.n else "")


@dataclass(frozen=True)
class Bars:
    """The bars of one quantity."""

    label: str
    of: Cell | Index
    bars: tuple[Bar, ...]

    @property
    def whiskers(self) -> str:
        """What they are, in words."""
        return in_words(bar.spread for bar in self.bars)


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel for each quantity of the workload; two abreast where they are many."""
    found = bars_of(workload)
    columns = 2 if width_px >= _ROOMY_PX and len(found) > _FEW else 1
    return multiples(findings, found, width_px, columns) if found else None


def alt(_findings: Findings, workload: WorkloadFindings) -> str:
    """Every value."""
    return f"{workload.name}, bars from zero. {told(bars_of(workload))}"


def told(found: Iterable[Bars]) -> str:
    """``throughput: ext4 1.21 GB/s, xfs 1.31 GB/s.`` for each quantity."""
    return " ".join(
        f"{one.label}: "
        + ", ".join(f"{bar.system} {measure_of([one.of]).text(bar.value)}" for bar in one.bars)
        + "."
        for one in found
    )


def bars_of(workload: WorkloadFindings) -> list[Bars]:
    """Each test of a workload; where it was measured at one point only, with its spread."""
    found = []
    for index in workload.by_metric or (workload.index,):
        own = [cell for cell in workload.cells if index.name in (cell.metric, workload.name)]
        if index.cells == 1 and len(own) == 1:
            bars = tuple(
                Bar(s.system, s.median, spread_of(s), replicates(s)) for s in own[0].summaries
            )
            found.append(Bars(index.label, own[0], bars))
        elif index.standings:
            bars = tuple(Bar(standing.system, standing.value) for standing in index.standings)
            found.append(Bars(index.label, index, bars))
    return found


def multiples(findings: Findings, found: list[Bars], width_px: int, columns: int) -> Spec:
    """Panels of bars with the same names at their left, one below the other or in columns."""
    columns = max(1, min(columns, len(found)))
    panel_px = (width_px - _COLUMN_GAP_PX * (columns - 1)) // columns
    rows = rows_of(findings)
    notes = [measure_of([one.of]).note for one in found]
    return {
        "padding": {"left": 0, "top": 2, "bottom": 2, "right": 2},
        "columns": columns,
        "spacing": {"row": 22, "column": _COLUMN_GAP_PX - 12},
        "concat": [
            _panel(findings, one, rows, panel_px, noted=notes.index(note) == place)
            for place, (one, note) in enumerate(zip(found, notes, strict=True))
        ],
    }


def _panel(findings: Findings, one: Bars, rows: list[Row], width_px: int, *, noted: bool) -> Spec:
    measure = measure_of([one.of])
    values = {bar.system: bar for bar in one.bars}
    layout = Rows([row for row in rows if row.key in values], _ROW_PX, width_px)
    said_px = extent_px((bar.said(measure) for bar in one.bars), SMALL_PX)
    plot_px = width_px - layout.labels_px - said_px
    most = max((max(b.value, b.spread.high if b.spread else 0.0) for b in one.bars), default=1.0)
    lines = [_line(values[row.key], measure, layout.places[row.key]) for row in layout.rows]
    head = head_of(one.label, measure, one.of, noted=noted)
    return {
        "title": {
            "text": fitted(head, width_px, TEXT_PX + 1),
            "subtitle": one.whiskers,
            "frame": "bounds",
        },
        "width": plot_px,
        "height": layout.height_px,
        "layer": [
            *_bars(findings, layout, lines, (most or 1.0) / measure.factor),
            *layout.layers(),
        ],
    }


def _bars(findings: Findings, layout: Rows, lines: list[Spec], most: float) -> list[Spec]:
    """Bars, whiskers, and values at their ends."""
    x: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, most], "nice": False},
        "axis": {
            "grid": False,
            "ticks": True,
            "tickColor": LIGHT["line"],
            "tickCount": 4,
            "labelExpr": "format(datum.value, ',~r')",
            "labelOverlap": "parity",
            "labelPadding": 2,
        },
    }
    data: Spec = {"values": lines}
    return [
        {
            "data": data,
            "mark": {"type": "rect"},
            "encoding": {
                "y": {**layout.y, "field": "top"},
                "y2": {"field": "foot"},
                "x": {**x, "field": "base"},
                "x2": {"field": "value"},
                "color": {"field": "system", "scale": system_colour(findings), "legend": None},
            },
        },
        {
            "data": data,
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "color": LIGHT["ink"]},
            "encoding": {"y": layout.y, "x": {**x, "field": "low"}, "x2": {"field": "high"}},
        },
        layout.texts(lines, {**x, "field": "end"}, align="left", dx=6, fontSize=SMALL_PX),
    ]


def _line(bar: Bar, measure: Measure, y: float) -> Spec:
    low = measure.scaled(bar.spread.low) if bar.spread else None
    high = measure.scaled(bar.spread.high) if bar.spread else None
    value = measure.scaled(bar.value) or 0.0
    return {
        "system": bar.system,
        "y": y,
        "top": y - _BAR_PX / 2,
        "foot": y + _BAR_PX / 2,
        "base": 0.0,
        "value": value,
        "low": None if low is None else max(0.0, low),
        "high": high,
        "end": max(value, high or 0.0),
        "said": bar.said(measure),
    }


CHART = Chart(
    name="groups",
    place="chosen",
    title="System by system",
    caption="Bars begin at zero; the value stands at the end of each.",
    draw=draw,
    alt=alt,
)
