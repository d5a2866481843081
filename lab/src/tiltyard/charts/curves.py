"""Values along one dimension: a line a system, its interval at each level, every block a point."""

from collections.abc import Iterator, Mapping
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


@dataclass(frozen=True)
class _Drawing:
    """A panel with everything that says where its values stand."""

    panel: _Panel
    along: Course
    places: Places
    scale: Scale
    factor: float
    """What the printed unit is worth."""
    names: Mapping[str, str]
    """System → what stands at the end of its line."""
    plot_px: int

    def medians(self) -> list[Spec]:
        """Every system's median at every level, with its interval."""
        return [
            {
                "system": summary.system,
                "place": place,
                "part": "beside" if level in self.places.beside else "along",
                "value": summary.median / self.factor,
                "low": self._printed(summary.median_low),
                "high": self._printed(summary.median_high),
            }
            for level, place, summary in self._summaries()
        ]

    def blocks(self) -> list[Spec]:
        """Every value."""
        return [
            {"system": summary.system, "place": place, "value": value / self.factor}
            for _, place, summary in self._summaries()
            for value in summary.values
        ]

    def ends(self) -> list[Spec]:
        """Each system's name at the height of its last median, moved where lines end together."""
        last = {summary.system: summary.median for _, _, summary in self._summaries()}
        heights = {name: self.scale.share(value / self.factor) for name, value in last.items()}
        return [
            {"system": name, "said": self.names[name], "value": self.scale.at_share(share)}
            for name, share in apart(heights, _LABEL_PX / _HEIGHT_PX).items()
        ]

    def _summaries(self) -> Iterator[tuple[int, float, Summary]]:
        """Level, place and values, system by system."""
        for number, system in enumerate(self.names):
            for cell in self.panel.cells:
                level = int(self.along.axis.level(cell.at))
                for summary in cell.summaries:
                    if summary.system == system:
                        yield level, self.places.of(level, number), summary

    def _printed(self, value: float | None) -> float | None:
        return None if value is None else value / self.factor


def _drawn(
    findings: Findings, along: Course, panel: _Panel, names: Mapping[str, str], plot_px: int
) -> Spec:
    factor, unit = display_unit(max(panel.values, default=1.0), panel.cells[0].shown_in)
    drawing = _Drawing(
        panel=panel,
        along=along,
        places=places_of(along, len(names), plot_px),
        scale=scale_of(value / factor for value in panel.values),
        factor=factor,
        names=names,
        plot_px=plot_px,
    )
    better = "" if panel.cells[0].direction == "higher" else " (less is better)"
    return {
        "title": {"text": with_unit(panel.title, unit) + better},
        "width": plot_px,
        "height": _HEIGHT_PX,
        "encoding": {
            "x": {**drawing.places.axis(), "field": "place"},
            "y": {**drawing.scale.axis(), "field": "value"},
            "color": {"field": "system", "scale": system_colour(findings), "legend": None},
        },
        "layer": _layers(
            drawing, {"field": "system", "scale": system_shape(findings), "legend": None}
        ),
    }


def _layers(drawing: _Drawing, shape: Spec) -> list[Spec]:
    """Blocks, line, intervals, medians, and the names with their signs."""
    medians, ends = {"values": drawing.medians()}, {"values": drawing.ends()}
    beside: Spec = {"value": drawing.plot_px + 12}
    return [
        {
            "data": {"values": drawing.blocks()},
            "mark": {"type": "point", "filled": True, "size": 7, "opacity": 0.55},
        },
        {
            "data": medians,
            "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.8},
            "encoding": {"detail": {"field": "part"}},
        },
        {
            "data": medians,
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2.5},
            "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": medians,
            "mark": {"type": "point", "filled": True, "size": 32, "opacity": 1},
            "encoding": {"shape": shape},
        },
        {
            "data": ends,
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
            "encoding": {"x": beside, "shape": shape},
        },
        {
            "data": ends,
            "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": SMALL_PX},
            "encoding": {
                "x": beside,
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
