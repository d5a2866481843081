"""The time of single operations from the median to the slowest: a line a system."""

import math
from collections.abc import Iterable, Iterator
from itertools import chain

from tiltyard.analysis.model import Cell, Findings, Summary, WorkloadFindings
from tiltyard.charts.chart import Chart, Spec, columns_of, side_by_side
from tiltyard.charts.figures import SPREADS, with_unit
from tiltyard.charts.scales import Scale, named_ends, names_px, scale_of
from tiltyard.charts.theme import system_colour, system_legend, system_shape
from tiltyard.units import display_unit, format_value

_HEIGHT_PX = 220
_AXIS_PX = 52
_GAP_PX = 30
_BARE_PX = 8
_PANELS = 4


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a point of the grid; of many points a few, from the first to the last."""
    cells = shown(workload)
    if not cells:
        return None
    columns, panel_px = columns_of(len(cells), width_px, _GAP_PX)
    times = [time for cell in cells for s in cell.summaries for time in _times(s)]
    unit = display_unit(math.sqrt(min(times) * max(times)), "s")
    scale = scale_of(time / unit[0] for time in times)
    beside_px = names_px(findings, panel_px)
    legend = None if beside_px else system_legend(findings, width_px)
    plot_px = panel_px - (beside_px or _BARE_PX) - _AXIS_PX
    drawn = [_panel(findings, cell, scale, unit, plot_px, legend) for cell in cells]
    return side_by_side(drawn, columns, 24, _GAP_PX - 12)


def _times(summary: Summary) -> Iterator[float]:
    """Percentiles and the ends of their intervals."""
    yield from summary.percentiles.values()
    yield from chain(*summary.percentile_intervals.values())


def alt(_findings: Findings, workload: WorkloadFindings) -> str:
    """First and last percentile of each system."""
    ends = "; ".join(
        f"{_topic(cell)}: "
        + ", ".join(_ends(s.system, s.percentiles) for s in cell.summaries if s.percentiles)
        for cell in shown(workload)
    )
    return f"{workload.display}, percentiles of the time of one operation. {ends}."


def shown(workload: WorkloadFindings) -> list[Cell]:
    """The points that are drawn: those with percentiles, evenly picked where they are many."""
    latencies = workload.latencies.cells if workload.latencies else ()
    cells = [
        cell
        for cell in latencies or (*workload.cells, *workload.details)
        if sum(len(summary.percentiles) > 1 for summary in cell.summaries)
    ]
    if len(cells) <= _PANELS:
        return cells
    return [cells[round(place * (len(cells) - 1) / (_PANELS - 1))] for place in range(_PANELS)]


def share_text(name: str) -> str:
    """``p50`` → ``50 %``, ``p999`` → ``99.9 %``."""
    digits = name.removeprefix("p")
    return f"{digits[:2]}{'.' if digits[2:] else ''}{digits[2:]} %"


def _topic(cell: Cell) -> str:
    return ", ".join(filter(None, (cell.label, cell.at_label)))


def _ends(system: str, percentiles: dict[str, float]) -> str:
    ordered = _ordered(percentiles)
    first, last = ordered[0], ordered[-1]
    return (
        f"{system} {format_value(percentiles[first], 's')} at {share_text(first)} "
        f"to {format_value(percentiles[last], 's')} at {share_text(last)}"
    )


def _ordered(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: float(f"0.{name.removeprefix('p')}"))


def _panel(
    findings: Findings,
    cell: Cell,
    scale: Scale,
    unit: tuple[float, str],
    plot_px: int,
    legend: Spec | None,
) -> Spec:
    summaries = [summary for summary in cell.summaries if summary.percentiles]
    levels = _ordered({name for summary in summaries for name in summary.percentiles})
    values = [
        {
            "system": s.system,
            "share": share_text(name),
            "time": s.percentiles[name] / unit[0],
            **_interval(s, name, unit[0]),
        }
        for s in summaries
        for name in _ordered(s.percentiles)
    ]
    last = {s.system: s.percentiles[_ordered(s.percentiles)[-1]] / unit[0] for s in summaries}
    shape = system_shape(findings, legend)
    return {
        "title": {
            "text": f"{with_unit(_topic(cell), unit[1])} (less is better)",
            "subtitle": "; ".join(filter(None, (_whiskers(summaries), scale.words))),
            "frame": "bounds",
            "limit": plot_px + _AXIS_PX,
        },
        "width": plot_px,
        "height": _HEIGHT_PX,
        "encoding": {
            "x": {
                "field": "share",
                "type": "ordinal",
                "sort": [share_text(level) for level in levels],
                "scale": {"type": "point", "padding": 0.3},
                "title": "of all operations are at least as fast",
                "axis": {"labelAngle": 0, "labelOverlap": "parity"},
            },
            "y": {**scale.axis(), "field": "time"},
            "color": system_colour(findings, legend),
        },
        "layer": [
            {"data": {"values": values}, "mark": {"type": "line", "strokeWidth": 1.5}},
            {
                "data": {"values": values},
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {"y": {"field": "low"}, "y2": {"field": "high"}},
            },
            {
                "data": {"values": values},
                "mark": {"type": "point", "filled": True, "size": 32, "opacity": 1},
                "encoding": {"shape": shape},
            },
            *([] if legend else named_ends(scale, last, (plot_px, _HEIGHT_PX), shape)),
        ],
    }


def _interval(summary: Summary, name: str, unit: float) -> Spec:
    found = summary.percentile_intervals.get(name)
    low, high = (None, None) if found is None else (end / unit for end in found)
    return {"low": low, "high": high}


def _whiskers(summaries: Iterable[Summary]) -> str:
    """What the upright lines are; nothing where there is none."""
    return SPREADS["interval"] if any(s.percentile_intervals for s in summaries) else ""


CHART = Chart(
    name="percentiles",
    places=("values",),
    title="From the typical operation to the slowest",
    caption="Each point: the time within which so many of all operations were done, median over "
    "blocks; upright lines: its 95 % interval, with what the buckets of a histogram leave open. Of "
    "many points of a grid a few are shown.",
    draw=draw,
    alt=alt,
)
