"""Values along one dimension: a line a system, its interval at each level, every block a point."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiltyard.analysis.axes import Course
from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, extent_px, series, shortened
from tiltyard.charts.figures import with_unit
from tiltyard.charts.grid import course
from tiltyard.charts.scales import Places, Scale, apart, places_of, scale_of
from tiltyard.charts.theme import LIGHT, SMALL_PX, system_colour, system_shape
from tiltyard.units import display_unit, format_value

_HEIGHT_PX = 250
_AXIS_PX = 52
_GAP_PX = 34
_ROOMY_PX = 600
_NAME_LIMIT = 20
_LABEL_PX = 15
"""Distance of the names at the ends of the lines."""


@dataclass(frozen=True)
class _Panel:
    """The cells of one metric in one case, in the order of the levels."""

    title: str
    cells: tuple[Cell, ...]
    values: tuple[float, ...]
    """All values of the metric: panels of one metric have one scale."""


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a metric (and case), beside each other where there is room."""
    along = course(workload)
    if along is None:
        return None
    panels = _panels(workload, along)
    columns = 2 if width_px >= _ROOMY_PX and len(panels) > 1 else 1
    limit = _NAME_LIMIT if width_px >= _ROOMY_PX else _NAME_LIMIT // 2
    names = {name: shortened(name, limit) for name in series(findings)}
    names_px = extent_px(names.values()) + 8
    plot_px = (width_px - _GAP_PX * (columns - 1)) // columns - names_px - _AXIS_PX
    return {
        "padding": {"left": 0, "top": 2, "bottom": 2, "right": 4},
        "columns": columns,
        "spacing": {"row": 26, "column": _GAP_PX - 12},
        "concat": [_drawn(findings, along, panel, names, plot_px) for panel in panels],
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """Where each line begins and ends."""
    along = course(workload)
    panels = _panels(workload, along) if along else []
    told = (
        f"{panel.title}: " + ", ".join(_ends(panel, system) for system in series(findings))
        for panel in panels
    )
    span = along.axis.span(along.levels) if along else ""
    return f"{workload.name} over {span}, medians. {'; '.join(told)}."


def _ends(panel: _Panel, system: str) -> str:
    """``xfs 0.42 Gbit/s to 9.41 Gbit/s``."""
    medians = [
        format_value(summary.median, cell.shown_in)
        for cell in panel.cells
        for summary in cell.summaries
        if summary.system == system
    ]
    return f"{system} {medians[0]} to {medians[-1]}" if medians else f"{system} without values"


def _panels(workload: WorkloadFindings, along: Course) -> list[_Panel]:
    """Every metric in every case, the time of one operation last."""
    latencies = workload.latencies.cells if workload.latencies else ()
    panels: dict[tuple[str, str], list[Cell]] = {}
    values: dict[str, list[float]] = {}
    for cell in (*workload.cells, *latencies):
        panels.setdefault((cell.metric, along.case(cell.at)), []).append(cell)
        values.setdefault(cell.metric, []).extend(v for s in cell.summaries for v in s.values)
    return [
        _Panel(
            title=", ".join(filter(None, (cells[0].label, case))),
            cells=tuple(sorted(cells, key=lambda cell: along.axis.level(cell.at))),
            values=tuple(values[metric]),
        )
        for (metric, case), cells in panels.items()
    ]


def _drawn(
    findings: Findings, along: Course, panel: _Panel, names: dict[str, str], plot_px: int
) -> Spec:
    factor, unit = display_unit(max(panel.values, default=1.0), panel.cells[0].shown_in)
    scale = scale_of(value / factor for value in panel.values)
    places = places_of(along, len(names), plot_px)
    better = "" if panel.cells[0].direction == "higher" else " (less is better)"
    colour: Spec = {"field": "system", "scale": system_colour(findings), "legend": None}
    shape: Spec = {"field": "system", "scale": system_shape(findings), "legend": None}
    lines = [line for name in names for line in _line(panel, along, places, name, names, factor)]
    return {
        "title": {"text": with_unit(panel.title, unit) + better},
        "width": plot_px,
        "height": _HEIGHT_PX,
        "encoding": {
            "x": {**places.axis(), "field": "place"},
            "y": {**scale.axis(), "field": "value"},
            "color": colour,
        },
        "layer": [
            *_marks(lines, _points(panel, along, places, list(names), factor), shape),
            *_names(lines, scale, names, shape, plot_px),
        ],
    }


def _line(
    panel: _Panel,
    along: Course,
    places: Places,
    system: str,
    names: dict[str, str],
    factor: float,
) -> Iterable[Spec]:
    """The medians of a system with their intervals."""
    for level, summary in _summaries(panel, along, system):
        low, high = summary.median_low, summary.median_high
        yield {
            "system": system,
            "place": places.of(level, list(names).index(system)),
            "part": "beside" if level in places.beside else "along",
            "value": summary.median / factor,
            "low": None if low is None else low / factor,
            "high": None if high is None else high / factor,
        }


def _points(
    panel: _Panel, along: Course, places: Places, systems: list[str], factor: float
) -> list[Spec]:
    return [
        {"system": system, "place": places.of(level, number), "value": value / factor}
        for number, system in enumerate(systems)
        for level, summary in _summaries(panel, along, system)
        for value in summary.values
    ]


def _summaries(panel: _Panel, along: Course, system: str) -> Iterable[tuple[int, Summary]]:
    for cell in panel.cells:
        for summary in cell.summaries:
            if summary.system == system:
                yield int(along.axis.level(cell.at)), summary


def _marks(lines: list[Spec], points: list[Spec], shape: Spec) -> list[Spec]:
    return [
        {
            "data": {"values": points},
            "mark": {"type": "point", "filled": True, "size": 7, "opacity": 0.55},
        },
        {
            "data": {"values": lines},
            "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.8},
            "encoding": {"detail": {"field": "part"}},
        },
        {
            "data": {"values": lines},
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2.5},
            "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": {"values": lines},
            "mark": {"type": "point", "filled": True, "size": 32, "opacity": 1},
            "encoding": {"shape": shape},
        },
    ]


def _names(
    lines: list[Spec], scale: Scale, names: dict[str, str], shape: Spec, plot_px: int
) -> list[Spec]:
    """Each line's name at its end, moved apart where lines end together."""
    ends = {line["system"]: line["value"] for line in lines}
    heights = apart(
        {str(name): scale.share(float(str(value))) for name, value in ends.items()},
        _LABEL_PX / _HEIGHT_PX,
    )
    values = [
        {"system": name, "said": names[name], "value": scale.at_share(share)}
        for name, share in heights.items()
    ]
    return [
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
            "encoding": {"x": {"value": plot_px + 12}, "shape": shape},
        },
        {
            "data": {"values": values},
            "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": SMALL_PX},
            "encoding": {
                "x": {"value": plot_px + 12},
                "text": {"field": "said"},
                "color": {"value": LIGHT["ink"]},
            },
        },
    ]


CHART = Chart(
    name="curves",
    place="overview",
    title="From small to large, every block",
    caption="Line: median over blocks. Upright bars: its 95 % interval. Small points: the blocks. "
    "Where the scale does not begin at zero, equal heights are equal ratios.",
    draw=draw,
    alt=alt,
)
