"""The time of single operations from the median to the slowest: a line a system."""

import math
from collections.abc import Sequence

from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.charts.abreast import layout
from tiltyard.charts.chart import Chart, Spec
from tiltyard.charts.ends import named_beside_px, named_ends
from tiltyard.charts.figures import with_unit
from tiltyard.charts.letters import fitted
from tiltyard.charts.scales import Scale, apart, scale_of
from tiltyard.charts.theme import TEXT_PX, system_colour, system_legend, system_shape
from tiltyard.units import display_unit, format_value

_HEIGHT_PX = 220
_AXIS_PX = 52
_GAP_PX = 30
_BARE_PX = 8
_LABEL_PX = 15
_PANELS = 4


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """A panel a point of the grid; of many points a few, from the first to the last."""
    cells = shown(workload)
    if not cells:
        return None
    paper = layout(len(cells), width_px, _GAP_PX)
    times = [time for cell in cells for s in cell.summaries for time in s.percentiles.values()]
    factor, unit = display_unit(math.sqrt(min(times) * max(times)), "s")
    scale = scale_of(time / factor for time in times)
    beside_px = named_beside_px(findings, paper.panel_px)
    legend = None if beside_px else system_legend(findings, width_px)
    plot_px = paper.panel_px - (beside_px or _BARE_PX) - _AXIS_PX
    drawn = [_panel(findings, cell, scale, (factor, unit), plot_px, legend) for cell in cells]
    return paper.of(drawn, 24, _GAP_PX - 12)


def alt(_findings: Findings, workload: WorkloadFindings) -> str:
    """First and last percentile of each system."""
    told = "; ".join(
        ", ".join(filter(None, (cell.label, cell.at_label)))
        + ": "
        + ", ".join(_ends(s.system, s.percentiles) for s in cell.summaries if s.percentiles)
        for cell in shown(workload)
    )
    return f"{workload.name}, percentiles of the time of one operation. {told}."


def shown(workload: WorkloadFindings) -> list[Cell]:
    """The points that are drawn: those with percentiles, evenly picked where they are many."""
    latencies = workload.latencies.cells if workload.latencies else ()
    found = [
        cell
        for cell in latencies or (*workload.cells, *workload.details)
        if sum(len(summary.percentiles) > 1 for summary in cell.summaries)
    ]
    if len(found) <= _PANELS:
        return found
    return [found[round(place * (len(found) - 1) / (_PANELS - 1))] for place in range(_PANELS)]


def share_text(name: str) -> str:
    """``p50`` → ``50 %``, ``p999`` → ``99.9 %``."""
    digits = name.removeprefix("p")
    return f"{digits[:2]}{'.' if digits[2:] else ''}{digits[2:]} %"


def _ends(system: str, percentiles: dict[str, float]) -> str:
    ordered = _ordered(percentiles)
    first, last = ordered[0], ordered[-1]
    return (
        f"{system} {format_value(percentiles[first], 's')} at {share_text(first)} "
        f"to {format_value(percentiles[last], 's')} at {share_text(last)}"
    )


def _ordered(names: Sequence[str] | dict[str, float]) -> list[str]:
    return sorted(names, key=lambda name: float(f"0.{name.removeprefix('p')}"))


def _panel(
    findings: Findings,
    cell: Cell,
    scale: Scale,
    unit: tuple[float, str],
    plot_px: int,
    legend: Spec | None,
) -> Spec:
    levels = _ordered({name: 0.0 for s in cell.summaries for name in s.percentiles})
    topic = with_unit(", ".join(filter(None, (cell.label, cell.at_label))), unit[1])
    head = f"{topic} (less is better)"
    return {
        "title": {"text": fitted(head, plot_px + _AXIS_PX, TEXT_PX + 1), "frame": "bounds"},
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
            "color": {"field": "system", "scale": system_colour(findings), "legend": legend},
        },
        "layer": _layers(
            cell,
            scale,
            unit[0],
            plot_px,
            {"field": "system", "scale": system_shape(findings), "legend": legend},
        ),
    }


def _layers(cell: Cell, scale: Scale, factor: float, plot_px: int, shape: Spec) -> list[Spec]:
    """Lines, points, and where no legend has them the systems' names at their right ends."""
    values = [
        {"system": s.system, "share": share_text(name), "time": s.percentiles[name] / factor}
        for s in cell.summaries
        for name in _ordered(s.percentiles)
    ]
    last = {
        s.system: s.percentiles[_ordered(s.percentiles)[-1]] / factor
        for s in cell.summaries
        if s.percentiles
    }
    heights = apart(
        {name: scale.share(time) for name, time in last.items()}, _LABEL_PX / _HEIGHT_PX
    )
    ends: list[Spec] = [
        {"system": name, "time": scale.at_share(share)} for name, share in heights.items()
    ]
    return [
        {"data": {"values": values}, "mark": {"type": "line", "strokeWidth": 1.5}},
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 32, "opacity": 1},
            "encoding": {"shape": shape},
        },
        *(named_ends(ends, "time", plot_px, shape) if not shape["legend"] else ()),
    ]


CHART = Chart(
    name="percentiles",
    place="values",
    title="From the typical operation to the slowest",
    caption="Each point: the time within which so many of all operations were done, median over "
    "blocks. Of many points of a grid a few are shown. Where the scale does not begin at zero, "
    "equal heights are equal ratios.",
    draw=draw,
    alt=alt,
)
