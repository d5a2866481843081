"""Values along one dimension: a line a system, its interval at each level, every block a point."""

from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from tiltyard.analysis.axes import Course
from tiltyard.analysis.model import Cell, Findings, Pair, WorkloadFindings
from tiltyard.analysis.statements.deltas import crossing
from tiltyard.charts.chart import Chart, Spec, columns_of, few, series, side_by_side
from tiltyard.charts.figures import Panel, drawn_values, head_of, measure_of, spread_of, whiskers
from tiltyard.charts.grid import course
from tiltyard.charts.scales import named_ends, names_px, places_of, scale_of
from tiltyard.charts.theme import system_colour, system_legend, system_shape
from tiltyard.charts.titles import along_factor, tallied
from tiltyard.units import count_of

_HEIGHT_PX = 250
_AXIS_PX = 52
_GAP_PX = 34
_BARE_PX = 8
_HEADS = 2
_TOLD = 2
"""Panels whose lines are described."""
_DESCRIBED = 4
"""Of more systems the lines are not described."""
_FLAT = 0.05
"""A plateau: values within this share of their median."""
_PLATEAU = 3
_ENOUGH = 4
"""Levels, of a plateau and of a line that has a shape."""


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a metric (and case), beside each other where there is room."""
    along = course(workload)
    if along is None:
        return None
    panels = _panels(findings, workload, along)
    columns, panel_px = columns_of(len(panels), width_px, _GAP_PX)
    beside_px = names_px(findings, panel_px)
    legend = None if beside_px else system_legend(findings, width_px)
    plot_px = panel_px - (beside_px or _BARE_PX) - _AXIS_PX
    drawn = [_drawn(findings, along, panel, legend, plot_px) for panel in panels]
    return side_by_side(drawn, columns, 26, _GAP_PX - 12)


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """Where each line begins and ends."""
    along = course(workload)
    panels = _panels(findings, workload, along) if along else []
    lines = (
        f"{panel.title}: " + ", ".join(_ends(panel, system) for system in series(findings))
        for panel in panels
    )
    span = along.axis.span(along.levels) if along else ""
    value = "medians" if findings.planned else "values of the source"
    return f"{workload.display} over {span}, {value}. {'; '.join(lines)}."


def _ends(panel: Panel, system: str) -> str:
    """``xfs 0.42 Gbit/s to 9.41 Gbit/s``."""
    values = [
        measure_of([cell]).text(summary.median)
        for cell in panel.cells
        for summary in cell.summaries
        if summary.system == system
    ]
    return f"{system} {values[0]} to {values[-1]}" if values else f"{system} without values"


def _panels(findings: Findings, workload: WorkloadFindings, along: Course) -> list[Panel]:
    """Every metric in every case, the time of one operation last.

    Pictures of several workloads with one metric and one dimension are alike: they share a scale.
    """
    panels: dict[tuple[str, str], list[Cell]] = {}
    peers: dict[str, list[Cell]] = {}
    for cell in _cells(workload):
        panels.setdefault((cell.metric, along.case(cell.at)), []).append(cell)
        peers.setdefault(cell.metric, []).append(cell)
    for other in findings.workloads:
        across = course(other) if other.name != workload.name else None
        if across is None or across.axis.names != along.axis.names:
            continue
        for cell in _cells(other):
            if cell.metric in peers and cell.unit == peers[cell.metric][0].unit:
                peers[cell.metric].append(cell)
    return [
        Panel(
            title=", ".join(filter(None, (cells[0].label, case))),
            cells=tuple(sorted(cells, key=lambda cell: along.axis.level(cell.at))),
            peers=tuple(peers[metric]),
        )
        for (metric, case), cells in panels.items()
    ]


def _cells(workload: WorkloadFindings) -> tuple[Cell, ...]:
    return (*workload.cells, *(workload.latencies.cells if workload.latencies else ()))


def finding(findings: Findings, workload: WorkloadFindings) -> str:
    """Verdicts counted; of single values which line is above the other."""
    sides = along_factor(findings, workload.cells)
    if any(side.repeated for side in sides):
        return tallied(sides, "cell")
    along = course(workload)
    if along is None:
        return ""
    panel = _panels(findings, workload, along)[0]
    heads: dict[str, list[str]] = {}
    for pair in crossing(findings).pairs:
        within = f" {pair.within}" if pair.within else ""
        if (above := _above(findings, panel, along, pair)) is None:
            return ""
        heads.setdefault(above.head.replace(within, ""), []).append(pair.within)
    texts = (
        head if len(heads) == 1 else f"{head} ({', '.join(within)})"
        for head, within in heads.items()
    )
    return "; ".join(texts) if len(heads) <= _HEADS else ""


def story(findings: Findings, workload: WorkloadFindings) -> str:
    """The shape of each line, and of two which is above: a description of what is drawn."""
    along = course(workload)
    if along is None or len(findings.systems) > _DESCRIBED:
        return ""
    texts: list[str] = []
    for panel in _panels(findings, workload, along)[:_TOLD]:
        shapes = [
            f"{system} {shape}"
            for system in series(findings)
            if (shape := _shape(_line(panel, along, system), panel, along))
        ]
        pairs = [_above(findings, panel, along, pair) for pair in crossing(findings).pairs]
        if said := "; ".join([*shapes, *(pair.text for pair in pairs if pair)]):
            texts.append(f"{panel.title}: {said}.")
    return " ".join(texts)


def _line(panel: Panel, along: Course, system: str) -> dict[int, float]:
    """Level → value of one system, levels upwards."""
    return {
        int(along.axis.level(cell.at)): summary.median
        for cell in panel.cells
        for summary in cell.summaries
        if summary.system == system
    }


def _shape(line: dict[int, float], panel: Panel, along: Course) -> str:
    """``flat at 2.05 Gbit/s from 128 B on``; empty of few levels."""
    levels, values = list(line), list(line.values())
    if len(values) < _ENOUGH:
        return ""
    text = panel.measure.brief
    start = next(place for place in range(len(values)) if _is_flat(values[place:]))
    if start == 0:
        return f"flat at {text(median(values))}"
    if len(values) - start >= _PLATEAU:
        return f"flat at {text(median(values[start:]))} from {along.axis.text(levels[start])} on"
    most, least = max(line, key=line.__getitem__), min(line, key=line.__getitem__)
    ends = (f"{text(line[level])} ({along.axis.text(level)})" for level in (least, most))
    return "from " + " to ".join(ends)


def _is_flat(values: list[float]) -> bool:
    middle = median(values)
    return all(abs(value - middle) <= _FLAT * middle for value in values)


@dataclass(frozen=True)
class _Above:
    """Which of two lines is above the other one."""

    head: str
    """``B above A from 128 B on``."""
    most: str
    """Where they are farthest apart."""

    @property
    def text(self) -> str:
        return f"{self.head}, most at {self.most}"


def _above(findings: Findings, panel: Panel, along: Course, pair: Pair) -> _Above | None:
    """By more than the margin of equivalence; ``None`` where the lines cross more than once."""
    base, other = pair.against, pair.system
    lines = {system: _line(panel, along, system) for system in (base, other)}
    shared = [level for level in lines[base] if level in lines[other] and lines[base][level] > 0]
    margin = 1 + findings.design.equivalent_within
    ratios = {level: lines[other][level] / lines[base][level] for level in shared}
    apart = {level: ratio > 1 for level, ratio in ratios.items() if not 1 / margin < ratio < margin}
    turns = [level for before, level in pairwise(apart) if apart[before] != apart[level]]
    if not apart or len(turns) > 1:
        return None
    upper, lower = (other, base) if apart[max(apart)] else (base, other)
    side = [level for level in apart if apart[level] == (upper == other)]
    widest = max(side, key=lambda level: max(ratios[level], 1 / ratios[level]))
    ends = " against ".join(panel.measure.brief(lines[name][widest]) for name in (upper, lower))
    where = f"from {along.axis.text(turns[0])} on" if turns else "throughout"
    if not turns and len(apart) < len(shared):
        where = f"at {len(apart)} of {count_of(len(shared), 'point')}"
    return _Above(f"{upper} above {lower} {where}", f"{along.axis.text(widest)} ({ends})")


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
            "subtitle": "; ".join(
                filter(None, (whiskers(s for c in panel.peers for s in c.summaries), scale.words))
            ),
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
    "stands alone.",
    draw=draw,
    alt=alt,
    finding=finding,
    story=story,
    imported=(
        "From small to large",
        "Values of the source; upright bars: intervals, where values were repeated.",
    ),
)
