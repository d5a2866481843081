"""Values along one dimension: a line a system, its interval at each level, every block a point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiltyard.analysis.axes import Course
from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.abreast import Panel, layout
from tiltyard.charts.chart import Chart, Spec, few, series, too_many
from tiltyard.charts.ends import named_beside_px, named_ends
from tiltyard.charts.grid import course
from tiltyard.charts.measure import drawn_values, head_of, measure_of
from tiltyard.charts.scales import Places, Scale, apart, places_of, scale_of
from tiltyard.charts.spread import spread_of, whiskers
from tiltyard.charts.theme import system_colour, system_legend, system_shape

_HEIGHT_PX = 250
_AXIS_PX = 52
_GAP_PX = 34
_BARE_PX = 8
_LABEL_PX = 15
"""Distance of the names at the ends of the lines."""


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a metric (and case), beside each other where there is room."""
    along = course(workload)
    if along is None:
        return None
    panels = _panels(workload, along)
    paper = layout(len(panels), width_px, _GAP_PX)
    beside_px = named_beside_px(findings, paper.panel_px)
    legend = None if beside_px else system_legend(findings, width_px)
    plot_px = paper.panel_px - (beside_px or _BARE_PX) - _AXIS_PX
    drawn = [_drawn(findings, along, panel, legend, plot_px) for panel in panels]
    return paper.of(drawn, 26, _GAP_PX - 12)


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """Where each line begins and ends."""
    along = course(workload)
    panels = _panels(workload, along) if along else []
    told = (
        f"{panel.title}: " + ", ".join(_ends(panel, system) for system in series(findings))
        for panel in panels
    )
    span = along.axis.span(along.levels) if along else ""
    value = "values of the source" if findings.origin else "medians"
    return f"{workload.name} over {span}, {value}. {'; '.join(told)}."


def _ends(panel: Panel, system: str) -> str:
    """``xfs 0.42 Gbit/s to 9.41 Gbit/s``."""
    found = [
        (cell, summary.median)
        for cell in panel.cells
        for summary in cell.summaries
        if summary.system == system
    ]
    if not found:
        return f"{system} without values"
    first, last = (measure_of([cell]).text(median) for cell, median in (found[0], found[-1]))
    return f"{system} {first} to {last}"


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


@dataclass(frozen=True)
class _Drawing:
    """A panel with everything that says where its values stand."""

    panel: Panel
    along: Course
    places: Places
    scale: Scale
    factor: float
    """What the printed unit is worth."""
    systems: Sequence[str]
    plot_px: int

    def medians(self) -> list[Spec]:
        """Every system's median at every level, with its interval."""
        return [
            {
                "system": summary.system,
                "place": place,
                "part": "beside" if level in self.places.beside else "along",
                "value": summary.median / self.factor,
                "low": self._printed(spread.low if spread else None),
                "high": self._printed(spread.high if spread else None),
            }
            for level, place, summary in self._summaries()
            for spread in [spread_of(summary)]
        ]

    def blocks(self) -> list[Spec]:
        """Every value, or none where a panel would be too full of them."""
        if too_many(sum(len(summary.values) for _, _, summary in self._summaries())):
            return []
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
            {"system": name, "value": self.scale.at_share(share)}
            for name, share in apart(heights, _LABEL_PX / _HEIGHT_PX).items()
        ]

    def _summaries(self) -> Iterator[tuple[int, float, Summary]]:
        """Level, place and values, system by system."""
        for number, system in enumerate(self.systems):
            for cell in self.panel.cells:
                level = int(self.along.axis.level(cell.at))
                for summary in cell.summaries:
                    if summary.system == system:
                        yield level, self.places.of(level, number), summary

    def _printed(self, value: float | None) -> float | None:
        return None if value is None else value / self.factor


def _drawn(
    findings: Findings, along: Course, panel: Panel, legend: Spec | None, plot_px: int
) -> Spec:
    measure = panel.measure
    drawn = [v for cell in panel.peers for s in cell.summaries for v in drawn_values(s)]
    drawing = _Drawing(
        panel=panel,
        along=along,
        places=places_of(along, len(findings.systems), plot_px),
        scale=scale_of(value / measure.factor for value in drawn),
        factor=measure.factor,
        systems=series(findings),
        plot_px=plot_px,
    )
    return {
        "title": {
            "text": head_of(panel.title, measure, panel.cells[0]),
            "subtitle": whiskers(s for cell in panel.peers for s in cell.summaries),
        },
        "width": plot_px,
        "height": _HEIGHT_PX,
        "encoding": {
            "x": {**drawing.places.axis(), "field": "place"},
            "y": {**drawing.scale.axis(), "field": "value"},
            "color": {"field": "system", "scale": system_colour(findings), "legend": legend},
        },
        "layer": _layers(
            drawing, {"field": "system", "scale": system_shape(findings), "legend": legend}
        ),
    }


def _layers(drawing: _Drawing, shape: Spec) -> list[Spec]:
    """Blocks, line, intervals, medians, and where no legend has them the names."""
    medians = {"values": drawing.medians()}
    told = {"values": few(medians["values"])}
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
            "data": told,
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2.5},
            "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}},
        },
        {
            "data": told,
            "mark": {"type": "point", "filled": True, "size": 32, "opacity": 1},
            "encoding": {"shape": shape},
        },
        *(
            named_ends(drawing.ends(), "value", drawing.plot_px, shape)
            if not shape["legend"]
            else ()
        ),
    ]


CHART = Chart(
    name="curves",
    place="overview",
    title="From small to large, every block",
    caption="Line: median over blocks (the mean, where a source kept nothing else). Upright bars: "
    "its 95 % interval. Small points: the blocks; where they or the levels are too many, the line "
    "stands alone. Where the scale does not begin at zero, equal heights are equal ratios.",
    draw=draw,
    alt=alt,
    elsewhere=(
        "From small to large",
        "Values of the source; upright bars: intervals, where values were repeated. Where the "
        "scale does not begin at zero, equal heights are equal ratios.",
    ),
)
