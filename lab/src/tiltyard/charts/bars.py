"""Bars from zero: medians or values of the source, their whiskers, and the blocks as points.

Four pictures of one kind: ``bars`` has every cell with every block, ``groups`` the quantities of a
workload and ``cells`` its cells with the value at the end of each bar, ``small_multiples`` the
quantities of all workloads.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from tiltyard.analysis.line import MARKS, line_in, marks_key
from tiltyard.analysis.model import Cell, Findings, Index, Summary, WorkloadFindings
from tiltyard.analysis.statements.deltas import crossing
from tiltyard.charts.chart import (
    IN_BLOCK,
    ROOMY_PX,
    WIDE_PX,
    Chart,
    Spec,
    StudyChart,
    columns_of,
    series,
    side_by_side,
)
from tiltyard.charts.figures import (
    Measure,
    Spread,
    head_of,
    in_words,
    measure_of,
    replicates,
    spread_of,
)
from tiltyard.charts.grid import by_test, course, grid_of
from tiltyard.charts.rows import Row, Rows, rows_of, texts
from tiltyard.charts.theme import (
    LIGHT,
    SMALL_PX,
    extent_px,
    system_colour,
    system_legend,
)
from tiltyard.charts.titles import along_factor, tallied

_ROW_PX = 22
_BAR_PX = 9
_LONE_BAR_PX = 20
_GROUP_GAP_PX = 7
_COLUMN_GAP_PX = 30
_COLUMN_PX = 360
_FEW_PANELS = 3
_MANY_CELLS = 12
"""More cells than this are a grid, which other charts show better."""
_MANY_TESTS = 24
_MOST_BLOCKS = 1500
"""More points than this in one picture are a smear."""


@dataclass(frozen=True)
class Bar:
    """One system's value of one quantity."""

    system: str
    value: float
    spread: Spread | None = None
    n: int | None = None

    @classmethod
    def of(cls, summary: Summary) -> "Bar":
        """The value of a summary with all that is known of it."""
        return cls(summary.system, summary.median, spread_of(summary), replicates(summary))

    def text(self, measure: Measure, delta: str = "") -> str:
        """``134.22``, ``134.22 (+12 %) · N = 3``."""
        behind = (f" ({delta})" if delta else "") + (f" · N = {self.n}" if self.n else "")
        return measure.number(self.value) + behind

    def datum(self, measure: Measure) -> Spec:
        """What is drawn, in the printed unit."""
        low = measure.scaled(self.spread.low) if self.spread else None
        high = measure.scaled(self.spread.high) if self.spread else None
        value = self.value / measure.factor
        return {
            "system": self.system,
            "value": value,
            "low": None if low is None else max(0.0, low),
            "high": high,
            "end": max(value, high or 0.0),
        }


@dataclass(frozen=True)
class Quantity:
    """One quantity of all systems: a panel."""

    label: str
    of: Cell | Index
    bars: tuple[Bar, ...] = field(default=())

    @classmethod
    def cell(cls, label: str, cell: Cell) -> "Quantity":
        """A single cell, by the values that stand beside ratios."""
        bars = (replace(Bar.of(one), value=one.value) for one in cell.summaries)
        return cls(label, cell, tuple(bars))


def quantities_of(workload: WorkloadFindings) -> list[Quantity]:
    """Each test of a workload; where it was measured at one point only, with its spread."""
    quantities = []
    for index in workload.by_metric or (workload.index,):
        cells = [cell for cell in workload.cells if index.name in (cell.metric, workload.name)]
        if index.cells == 1 and len(cells) == 1:
            quantities.append(Quantity.cell(index.label, cells[0]))
        elif index.standings:
            bars = tuple(Bar(standing.system, standing.value) for standing in index.standings)
            quantities.append(Quantity(index.label, index, bars))
    return quantities


def cells_of(workload: WorkloadFindings) -> list[Quantity]:
    """Each cell of a workload."""
    return [
        Quantity.cell(", ".join(filter(None, (cell.label, cell.at_label))), cell)
        for cell in workload.cells
    ]


def _tests_of(findings: Findings) -> list[Quantity]:
    """The quantities of all workloads; where there are several, with the workload's name."""
    several = len(findings.workloads) > 1
    return [
        replace(
            quantity, label=f"{workload.display}: {quantity.label}" if several else quantity.label
        )
        for workload in findings.workloads
        for quantity in quantities_of(workload)
    ]


def _draw_bars(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a test, in it the systems of each cell below each other."""
    if not workload.cells or course(workload):
        return None
    tests = by_test(workload.cells)
    columns = max(1, min(len(tests), width_px // _COLUMN_PX))
    grid = grid_of(workload.cells)
    labels = {
        cell.at_label: " · ".join(filter(None, grid.places[cell.at_label])) if grid else ""
        for cell in workload.cells
    }
    blocks = sum(len(one.values) for cell in workload.cells for one in cell.summaries)
    panels = [
        _cells_panel(
            findings,
            cells,
            labels,
            width_px // columns,
            noted=place == 0,
            with_blocks=blocks <= _MOST_BLOCKS,
        )
        for place, cells in enumerate(tests)
    ]
    return side_by_side(panels, columns, 22, 28)


def _cells_panel(
    findings: Findings,
    cells: list[Cell],
    labels: dict[str, str],
    width_px: int,
    *,
    noted: bool,
    with_blocks: bool,
) -> Spec:
    measure = measure_of(cells)
    row_px = (_BAR_PX if len(cells) > 1 else _LONE_BAR_PX) * len(findings.systems) + _GROUP_GAP_PX
    lines = [Row(cell.at_label, labels[cell.at_label]) for cell in cells]
    rows = Rows(lines, row_px, width_px, gap=_GROUP_GAP_PX / row_px)
    plot_px = width_px - rows.labels_px - 16
    summaries = [
        (line, one) for line, cell in zip(lines, cells, strict=True) for one in cell.summaries
    ]
    bars = [{**line.place, **Bar.of(one).datum(measure)} for line, one in summaries]
    blocks: list[Spec] = [
        {**line.place, "system": one.system, "block": value / measure.factor, "number": number}
        for line, one in summaries
        for number, value in (zip_longest(one.blocks, one.values) if with_blocks else ())
    ]
    offset: Spec = {"field": "system", "type": "nominal", "sort": series(findings)}
    legend = system_legend(findings, plot_px)
    layers: list[Spec] = [
        *_marks(findings, {}, {"tickCount": 4}, 0.35, legend),
        {
            "data": {"values": blocks},
            "mark": {"type": "point", "filled": True, "size": 9, "opacity": 0.9},
            "encoding": {
                "x": {"field": "block", "type": "quantitative"},
                "color": system_colour(findings, legend),
                "detail": {"field": "number", "title": IN_BLOCK},
            },
        },
    ]
    return {
        "title": {
            "text": head_of(cells[0].label, measure, cells[0], noted=noted),
            "subtitle": in_words(spread_of(one) for _, one in summaries) if noted else "",
        },
        **rows.view(plot_px, bars, layers, {"yOffset": offset}),
    }


def _marks(
    findings: Findings, scale: Spec, axis: Spec, opacity: float, legend: Spec | None
) -> list[Spec]:
    """Bars and their whiskers."""
    x: Spec = {"type": "quantitative", "title": None, "scale": scale, "axis": axis}
    return [
        {
            "mark": {"type": "bar", "opacity": opacity},
            "encoding": {
                "x": {**x, "field": "value"},
                "color": system_colour(findings, legend),
            },
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "color": LIGHT["ink"]},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
        },
    ]


def _multiples(
    findings: Findings, quantities: Sequence[Quantity], width_px: int, columns: int
) -> Spec | None:
    """A panel a quantity; a unit is explained where it is first met."""
    if not quantities:
        return None
    columns = min(columns, len(quantities))
    panel_px = (width_px - _COLUMN_GAP_PX * (columns - 1)) // columns
    notes = [measure_of([quantity.of]).note for quantity in quantities]
    panels = [
        _panel(findings, quantity, panel_px, noted=notes.index(note) == place)
        for place, (quantity, note) in enumerate(zip(quantities, notes, strict=True))
    ]
    return side_by_side(panels, columns, 22, _COLUMN_GAP_PX - 12)


def _panel(findings: Findings, quantity: Quantity, width_px: int, *, noted: bool) -> Spec:
    measure = measure_of([quantity.of])
    bars = {bar.system: bar for bar in quantity.bars}
    rows = Rows([row for row in rows_of(findings) if row.key in bars], _ROW_PX, width_px)
    deltas = _deltas(findings, quantity.of)
    data: list[Spec] = [
        {
            **row.place,
            **bars[row.key].datum(measure),
            "text": bars[row.key].text(measure, deltas.get(row.key, "")),
        }
        for row in rows.rows
    ]
    most = max((float(str(datum["end"])) for datum in data), default=0.0) or 1.0
    texts_px = extent_px((str(datum["text"]) for datum in data), SMALL_PX)
    plot_px = width_px - rows.labels_px - texts_px
    axis: Spec = {
        "grid": False,
        "ticks": True,
        "tickColor": LIGHT["line"],
        "tickCount": 4,
        "labelExpr": "format(datum.value, ',~r')",
        "labelOverlap": "parity",
        "labelPadding": 2,
    }
    scale: Spec = {"domain": [0, most], "nice": False}
    end: Spec = {"field": "end", "type": "quantitative", "scale": scale, "axis": axis}
    layers = [*_marks(findings, scale, axis, 1, None), texts("text", end)]
    return {
        "title": {
            "text": head_of(quantity.label, measure, quantity.of, noted=noted),
            "subtitle": in_words(bar.spread for bar in quantity.bars),
            "frame": "bounds",
            "limit": width_px,
        },
        **rows.view(plot_px, data, layers),
    }


def _deltas(findings: Findings, of: Cell | Index) -> dict[str, str]:
    """System → improvement over the bar that it stands beside: ``▲ +12 %``, ``? −1 %``.

    The sign is that of the verdict; single values have none.
    """
    found = {}
    for pair in crossing(findings).pairs:
        own = line_in(findings, of, pair)
        if own is not None:
            mark = f"{MARKS[own.verdict]} " if own.interval else ""
            found[pair.system] = f"{mark}{own.told}"
    return found


def _tallied(findings: Findings, quantities: Sequence[Quantity]) -> str:
    """How often each level of the compared factor was found better and worse."""
    return tallied(along_factor(findings, [own.of for own in quantities]), "comparison")


def _values_in_words(quantities: Iterable[Quantity]) -> str:
    """``throughput: ext4 1.21 GB/s, xfs 1.31 GB/s.`` for each quantity."""
    return " ".join(
        f"{quantity.label}: "
        + ", ".join(
            f"{bar.system} {measure_of([quantity.of]).text(bar.value)}" for bar in quantity.bars
        )
        + "."
        for quantity in quantities
    )


def _bars_alt(findings: Findings, workload: WorkloadFindings) -> str:
    tests = ", ".join(cells[0].label for cells in by_test(workload.cells))
    systems = ", ".join(series(findings))
    return f"{workload.display}: absolute values of {systems}, every block a point. Tests: {tests}."


def _draw_groups(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    quantities = quantities_of(workload)
    columns = 2 if width_px >= ROOMY_PX and len(quantities) > _FEW_PANELS else 1
    return _multiples(findings, quantities, width_px, columns)


def _draw_cells(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    quantities = cells_of(workload)
    columns = 2 if width_px >= WIDE_PX else 1
    return (
        _multiples(findings, quantities, width_px, columns)
        if len(quantities) <= _MANY_CELLS
        else None
    )


def _draw_small_multiples(findings: Findings, width_px: int) -> Spec | None:
    quantities = _tests_of(findings)
    columns, _ = columns_of(len(quantities), width_px, _COLUMN_GAP_PX)
    return (
        _multiples(findings, quantities, width_px, columns)
        if len(quantities) <= _MANY_TESTS
        else None
    )


def _at_the_end(quantities: Iterable[Quantity] | None = None) -> str:
    """How to read what stands at the end of each bar."""
    key = marks_key(None if quantities is None else (one.of for one in quantities))
    return (
        "At each bar its value (with blocks the baseline's median × the ratio) and its improvement "
        "over the first bar of its group, paired where values were measured in blocks (higher rate "
        f"or lower time; {key}), and the number N of measurements where it is known."
    )


CHART = Chart(
    name="bars",
    places=("values",),
    title="Absolute values, every block",
    caption="Bar: median (the mean, where a source kept nothing else), from zero. Line: 95 % "
    "interval of the median. Points: the blocks, where they are not too many. More is better, "
    "unless said.",
    draw=_draw_bars,
    alt=_bars_alt,
    imported=(
        "Absolute values",
        "Bar: value of the source, from zero. Points: its values, where it keeps them. More is "
        "better, unless said.",
    ),
)
GROUPS = Chart(
    name="groups",
    places=("article workload", "results workload"),
    title="System by system",
    caption=_at_the_end(),
    legend=lambda _, workload: _at_the_end(quantities_of(workload)),
    draw=_draw_groups,
    finding=lambda findings, workload: _tallied(findings, quantities_of(workload)),
    alt=lambda _findings, workload: (
        f"{workload.display}, bars from zero. {_values_in_words(quantities_of(workload))}"
    ),
)
CELLS = Chart(
    name="cells",
    places=("results workload",),
    title="Cell by cell",
    caption=_at_the_end(),
    legend=lambda _, workload: _at_the_end(cells_of(workload)),
    draw=_draw_cells,
    finding=lambda findings, workload: _tallied(findings, cells_of(workload)),
    alt=lambda _findings, workload: (
        f"{workload.display}, bars from zero. {_values_in_words(cells_of(workload))}"
    ),
)
SMALL_MULTIPLES = StudyChart(
    name="multiples",
    places=("whitepaper summary",),
    title="Test by test",
    caption=_at_the_end(),
    legend=lambda findings: _at_the_end(_tests_of(findings)),
    draw=_draw_small_multiples,
    finding=lambda findings: _tallied(findings, _tests_of(findings)),
    alt=lambda findings: (
        f"One picture a test, bars from zero. {_values_in_words(_tests_of(findings))}"
    ),
)
