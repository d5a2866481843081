"""Means with their deviation: a row a test, a dot a system; write tests apart from read tests."""

from collections.abc import Iterator

from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, columns_of, series, side_by_side
from tiltyard.charts.figures import (
    SPREADS,
    Measure,
    Panel,
    deviation_of,
    head_of,
    kind_of,
    measure_of,
)
from tiltyard.charts.rows import Row, Rows, rows_of, texts
from tiltyard.charts.scales import Scale, scale_of
from tiltyard.charts.theme import (
    SMALL_PX,
    extent_px,
    system_colour,
    system_legend,
    system_shape,
)

_SYSTEM_PX = 10
_ROW_GAP_PX = 8
_LONE_ROW_PX = 22
_COLUMN_GAP_PX = 30
_MANY_PANELS = 24


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a point of the grid and kind of test, beside each other where there is room."""
    panels = panels_of(workload)
    if not 0 < len(panels) <= _MANY_PANELS:
        return None
    columns, panel_px = columns_of(len(panels), width_px, _COLUMN_GAP_PX)
    single = all(len(panel.cells) == 1 for panel in panels)
    legend = None if single else system_legend(findings, width_px)
    drawn = [
        _drawn(findings, panel, panel_px, legend, noted=place == 0)
        for place, panel in enumerate(panels)
    ]
    return side_by_side(drawn, columns, 20, _COLUMN_GAP_PX - 14)


def alt(_findings: Findings, workload: WorkloadFindings) -> str:
    """Every mean with its deviation."""
    means = " ".join(
        f"{_head(panel, cell)}: {_in_words(cell)}."
        for panel in panels_of(workload)
        for cell in panel.cells
    )
    return f"{workload.display}, means with their standard deviation. {means}"


def panels_of(workload: WorkloadFindings) -> list[Panel]:
    """The cells by point, kind of test and unit; none where no deviation is known."""
    if not any(summary.sd is not None for cell in workload.cells for summary in cell.summaries):
        return []
    kinds = {kind_of(cell.label) for cell in workload.cells}
    points = list(dict.fromkeys(cell.at_label for cell in workload.cells))
    panels: dict[tuple[str, tuple[object, ...]], list[Cell]] = {}
    peers: dict[tuple[object, ...], list[Cell]] = {}
    for cell in sorted(workload.cells, key=lambda cell: points.index(cell.at_label)):
        kind = kind_of(cell.label) if len(kinds) > 1 else ""
        alike = (kind, cell.shown_in, cell.direction, cell.printed)
        panels.setdefault((cell.at_label, alike), []).append(cell)
        peers.setdefault(alike, []).append(cell)
    return [
        Panel(", ".join(filter(None, (str(alike[0]), point))), tuple(cells), tuple(peers[alike]))
        for (point, alike), cells in panels.items()
    ]


def _head(panel: Panel, cell: Cell) -> str:
    return ", ".join(filter(None, (panel.title, cell.label)))


def _in_words(cell: Cell) -> str:
    measure = measure_of([cell])
    return ", ".join(
        f"{summary.system} {_mean_text(summary, measure)} {measure.unit}".rstrip()
        for summary in cell.summaries
    )


def _mean_text(summary: Summary, measure: Measure) -> str:
    """``100,476.5 ± 167.3``."""
    deviation = "" if summary.sd is None else f" ± {measure.number(summary.sd)}"
    return measure.number(summary.mean) + deviation


def _drawn(
    findings: Findings, panel: Panel, width_px: int, legend: Spec | None, *, noted: bool
) -> Spec:
    measure = panel.measure
    lone = len(panel.cells) == 1
    if lone:
        rows = Rows(rows_of(findings), _LONE_ROW_PX, width_px)
    else:
        names = [Row(str(place), cell.label) for place, cell in enumerate(panel.cells)]
        row_px = _SYSTEM_PX * len(findings.systems) + _ROW_GAP_PX
        rows = Rows(names, row_px, width_px, gap=_ROW_GAP_PX / row_px)
    scale = _scale(panel)
    data = list(_data(panel, rows, scale, with_texts=legend is None))
    label = _head(panel, panel.cells[0]) if lone else panel.title or "means"
    texts_px = extent_px((str(datum["text"] or "") for datum in data), SMALL_PX)
    plot_px = width_px - rows.labels_px - texts_px - 8
    offset: Spec = {"field": "system", "type": "nominal", "sort": series(findings)}
    return {
        "title": {
            "text": head_of(label, measure, panel.cells[0], noted=noted),
            "subtitle": "; ".join(filter(None, (SPREADS["sd"] if noted else "", scale.words))),
            "frame": "bounds",
            "limit": width_px,
        },
        **rows.view(
            plot_px,
            data,
            [
                *_marks(findings, scale, legend),
                texts("text", {"value": plot_px + 8}, dx=0),
            ],
            {} if lone else {"yOffset": offset},
        ),
    }


def _scale(panel: Panel) -> Scale:
    """Of the means and of the outer ends of their whiskers."""
    summaries = [summary for cell in panel.peers for summary in cell.summaries]
    ends = [summary.mean + (summary.sd or 0.0) for summary in summaries]
    means = [summary.mean for summary in summaries]
    return scale_of(end / panel.measure.factor for end in (*ends, *means))


def _data(panel: Panel, rows: Rows, scale: Scale, *, with_texts: bool) -> Iterator[Spec]:
    """Each system of each cell; one cell has a row for each system."""
    places = {row.key: row.place for row in rows.rows}
    for place, cell in enumerate(panel.cells):
        for summary in cell.summaries:
            deviation = deviation_of(summary)
            low = panel.measure.scaled(deviation.low) if deviation else None
            yield {
                **places[summary.system if len(panel.cells) == 1 else str(place)],
                "system": summary.system,
                "value": summary.mean / panel.measure.factor,
                "low": None if low is None else max(scale.low, low),
                "high": panel.measure.scaled(deviation.high) if deviation else None,
                "text": _mean_text(summary, panel.measure) if with_texts else None,
            }


def _marks(findings: Findings, scale: Scale, legend: Spec | None) -> list[Spec]:
    """Whiskers and dots, the systems of one test below each other."""
    x = scale.axis(across=True)
    colour = system_colour(findings, legend)
    shape = system_shape(findings, legend)
    return [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 44, "opacity": 1},
            "encoding": {"x": {**x, "field": "value"}, "color": colour, "shape": shape},
        },
    ]


CHART = Chart(
    name="means",
    places=("article workload",),
    title="Means and their deviation",
    caption="Dot: mean.",
    draw=draw,
    alt=alt,
)
