"""All tests of a workload at a glance: each a row, each compared system a dot with its interval."""

from tiltyard.analysis.model import Comparison, Findings, Index, WorkloadFindings
from tiltyard.charts import ratio
from tiltyard.charts.chart import Chart, Spec, series
from tiltyard.charts.theme import (
    LIGHT,
    named_axis,
    system_colour,
    system_legend,
    system_shape,
)

_SYSTEM_PX = 11
_ROW_GAP_PX = 8
_LABELS_SHARE = 0.5


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Every test's index relative to the baseline, in the workload's order."""
    if not workload.by_metric:
        return None
    lines = [
        (index, comparison) for index in workload.by_metric for comparison in ratio.compared(index)
    ]
    labels = _labels(workload.by_metric)
    row_px = _SYSTEM_PX * (len(findings.systems) - 1) + _ROW_GAP_PX
    span = ratio.domain(findings, (edge for _, line in lines for edge in ratio.edges(line)))
    x = ratio.axis(span, ratio.axis_title(findings, workload.by_metric))
    systems = [system for system in series(findings) if system != findings.baseline]
    axis = named_axis(labels, most_px=_LABELS_SHARE * width_px)
    legend: Spec = {**system_legend(findings, width_px), "values": systems}
    return {
        "width": width_px - int(str(axis["minExtent"])) - 16,
        "height": row_px * len(labels),
        "padding": {"left": 0, "top": 0, "bottom": 4, "right": 12},
        "data": {"values": [_row(index, comparison) for index, comparison in lines]},
        "layer": [*ratio.backdrop(findings), *_marks(findings, axis, labels, x, legend)],
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """How the verdicts are spread over the tests."""
    tests = "; ".join(
        f"{index.label}: "
        + ", ".join(f"{comparison.system} {comparison.verdict}" for comparison in pairs)
        for index in workload.by_metric
        if (pairs := ratio.compared(index))
    )
    return f"{workload.name}: every test relative to {findings.baseline}. {tests}."


def _marks(
    findings: Findings, axis: Spec, labels: dict[str, str], x: Spec, legend: Spec
) -> list[Spec]:
    colour = system_colour(findings, legend)
    shape = system_shape(findings, legend)
    place: Spec = {
        "y": {
            "field": "test",
            "type": "nominal",
            "sort": list(labels),
            "title": None,
            "scale": {"paddingInner": 0.25, "paddingOuter": 0.12},
            "axis": {**axis, "grid": True},
        },
        "yOffset": {"field": "system", "type": "nominal", "sort": legend["values"]},
    }
    return [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2.5},
            "encoding": {
                **place,
                "x": {"field": "low", "type": "quantitative"},
                "x2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "transform": [{"filter": "isValid(datum.ratio)"}],
            "mark": {"type": "point", "size": 46, "opacity": 1, "strokeWidth": 2},
            "encoding": {
                **place,
                "x": {"field": "ratio", **x},
                "shape": shape,
                "stroke": colour,
                "fill": {
                    "condition": {"test": "datum.decided", **system_colour(findings)},
                    "value": LIGHT["paper"],
                },
            },
        },
    ]


def _labels(indices: tuple[Index, ...]) -> dict[str, str]:
    """Label of each test → its text; only times have a mark: less is better."""
    marks = {"higher": "", "lower": " (less is better)"}
    return {index.label: index.label + marks[index.direction] for index in indices}


def _row(index: Index, comparison: Comparison) -> Spec:
    return {
        "test": index.label,
        "system": comparison.system,
        "ratio": comparison.ratio,
        "low": comparison.low,
        "high": comparison.high,
        "decided": comparison.verdict not in ("undecided", "invalid"),
    }


CHART = Chart(
    name="overview",
    places=("overview",),
    title="All tests",
    caption="Each test is the geometric mean over its grid. Line: interval. Hollow: "
    "undecided. Grey band: equivalence margin.",
    draw=draw,
    alt=alt,
)
