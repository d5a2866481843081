"""Values along one dimension: a line a system, its interval at each level, every block a point."""

from tiltyard.analysis.axes import Course
from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, columns_of, few, series, side_by_side
from tiltyard.charts.figures import Panel, drawn_values, head_of, measure_of, spread_of, whiskers
from tiltyard.charts.grid import course
from tiltyard.charts.scales import named_ends, names_px, places_of, scale_of
from tiltyard.charts.theme import system_colour, system_legend, system_shape

_HEIGHT_PX = 250
_AXIS_PX = 52
_GAP_PX = 34
_BARE_PX = 8


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a metric (and case), beside each other where there is room."""
    along = course(workload)
    if along is None:
        return None
    panels = _panels(workload, along)
    columns, panel_px = columns_of(len(panels), width_px, _GAP_PX)
    beside_px = names_px(findings, panel_px)
    legend = None if beside_px else system_legend(findings, width_px)
    plot_px = panel_px - (beside_px or _BARE_PX) - _AXIS_PX
    drawn = [_drawn(findings, along, panel, legend, plot_px) for panel in panels]
    return side_by_side(drawn, columns, 26, _GAP_PX - 12)


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """Where each line begins and ends."""
    along = course(workload)
    panels = _panels(workload, along) if along else []
    lines = (
        f"{panel.title}: " + ", ".join(_ends(panel, system) for system in series(findings))
        for panel in panels
    )
    span = along.axis.span(along.levels) if along else ""
    value = "values of the source" if findings.origin else "medians"
    return f"{workload.name} over {span}, {value}. {'; '.join(lines)}."


def _ends(panel: Panel, system: str) -> str:
    """``xfs 0.42 Gbit/s to 9.41 Gbit/s``."""
    values = [
        measure_of([cell]).text(summary.median)
        for cell in panel.cells
        for summary in cell.summaries
        if summary.system == system
    ]
    return f"{system} {values[0]} to {values[-1]}" if values else f"{system} without values"


def _panels(workload: WorkloadFindings, along: Course) -> list[Panel]:
    """Every metric in every case, the time of one operation last."""
    latencies = workload.latencies.cells if workload.latencies else ()
    panels: dict[tuple[str, str], list[Cell]] = {}
    peers: dict[str, list[Cell]] = {}
    for cell in (*workload.cells, *latencies):
        panels.setdefault((cell.metric, along.case(cell.at)), []).append(cell)
        peers.setdefault(cell.metric, []).append(cell)
    return [
        Panel(
            title=", ".join(filter(None, (cells[0].label, case))),
            cells=tuple(sorted(cells, key=lambda cell: along.axis.level(cell.at))),
            peers=tuple(peers[metric]),
        )
        for (metric, case), cells in panels.items()
    ]


def _drawn(
    findings: Findings, along: Course, panel: Panel, legend: Spec | None, plot_px: int
) -> Spec:
    measure = panel.measure
    places = places_of(along, len(findings.systems))
    drawn = [v for cell in panel.peers for s in cell.summaries for v in drawn_values(s)]
    scale = scale_of(value / measure.factor for value in drawn)
    medians: list[Spec] = []
    blocks: list[Spec] = []
    ends: dict[str, float] = {}
    for number, system in enumerate(series(findings)):
        for cell in panel.cells:
            level = int(along.axis.level(cell.at))
            for summary in cell.summaries:
                if summary.system != system:
                    continue
                place: Spec = {"system": system, "place": places.of(level, number)}
                spread = spread_of(summary)
                ends[system] = summary.median / measure.factor
                medians.append(
                    {
                        **place,
                        "part": "beside" if level in places.beside else "along",
                        "value": ends[system],
                        "low": measure.scaled(spread.low if spread else None),
                        "high": measure.scaled(spread.high if spread else None),
                    }
                )
                blocks += [{**place, "value": value / measure.factor} for value in summary.values]
    shape = system_shape(findings, legend)
    names = [] if legend else named_ends(scale, ends, (plot_px, _HEIGHT_PX), shape)
    return {
        "title": {
            "text": head_of(panel.title, measure, panel.cells[0]),
            "subtitle": whiskers(s for cell in panel.peers for s in cell.summaries),
        },
        "width": plot_px,
        "height": _HEIGHT_PX,
        "encoding": {
            "x": {**places.axis(plot_px), "field": "place"},
            "y": {**scale.axis(), "field": "value"},
            "color": system_colour(findings, legend),
        },
        "layer": [*_layers(medians, blocks, shape), *names],
    }


def _layers(medians: list[Spec], blocks: list[Spec], shape: Spec) -> list[Spec]:
    """Blocks, line, intervals, medians."""
    marked: Spec = {"values": few(medians)}
    return [
        {
            "data": {"values": few(blocks)},
            "mark": {"type": "point", "filled": True, "size": 7, "opacity": 0.55},
        },
        {
            "data": {"values": medians},
            "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.8},
            "encoding": {"detail": {"field": "part"}},
        },
        {
            "data": marked,
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2.5},
            "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": marked,
            "mark": {"type": "point", "filled": True, "size": 32, "opacity": 1},
            "encoding": {"shape": shape},
        },
    ]


CHART = Chart(
    name="curves",
    places=("overview", "whitepaper workload"),
    title="From small to large, every block",
    caption="Line: median over blocks (the mean, where a source kept nothing else). Upright bars: "
    "its 95 % interval. Small points: the blocks; where they or the levels are too many, the line "
    "stands alone. A scale that does not begin at zero is logarithmic.",
    draw=draw,
    alt=alt,
    imported=(
        "From small to large",
        "Values of the source; upright bars: intervals, where values were repeated. A scale that "
        "does not begin at zero is logarithmic.",
    ),
)
