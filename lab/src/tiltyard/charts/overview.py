"""Tests at a glance: each a row, each compared system a dot with its interval.

Two pictures of one kind: ``overview`` has the tests of a workload against the baseline, ``forest``
the tests of all workloads, each level of the compared factor against its base.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiltyard.analysis.line import line_in
from tiltyard.analysis.model import Findings, Index, WorkloadFindings
from tiltyard.analysis.statements.deltas import crossing, tests
from tiltyard.analysis.verdict import Estimated, Verdict
from tiltyard.charts import ratio
from tiltyard.charts.chart import Chart, Spec, StudyChart, series
from tiltyard.charts.theme import (
    LIGHT,
    SMALL_PX,
    extent_px,
    named_axis,
    system_colour,
    system_legend,
    system_shape,
)
from tiltyard.charts.titles import against_baseline, along_factor, tallied

_SYSTEM_PX = 11
_ROW_GAP_PX = 8
_LABELS_SHARE = 0.5
_MOST_ROWS = 24
"""Of a picture on the first page."""


@dataclass(frozen=True)
class _Dot:
    """One comparison in one test."""

    test: str
    system: str
    drawn: Estimated
    verdict: Verdict
    text: str = ""
    """Beside it, where each test has one dot."""


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """Every test's index relative to the baseline, in the workload's order."""
    dots = _dots(workload)
    if not dots:
        return None
    title = ratio.axis_title(findings, workload.by_metric)
    return _drawn(findings, _labels(workload.by_metric), dots, title, width_px)


def _dots(workload: WorkloadFindings) -> list[_Dot]:
    return [
        _Dot(index.label, pair.system, pair, pair.verdict)
        for index in workload.by_metric
        for pair in ratio.compared(index)
    ]


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """How the verdicts are spread over the tests."""
    tests = "; ".join(
        f"{index.label}: "
        + ", ".join(f"{comparison.system} {comparison.verdict}" for comparison in pairs)
        for index in workload.by_metric
        if (pairs := ratio.compared(index))
    )
    return f"{workload.display}: every test relative to {findings.baseline}. {tests}."


def _forest(findings: Findings, width_px: int) -> Spec | None:
    """All lines of the study; times count as speeds, so that the right side is always better."""
    dots = list(_pairs(findings))
    labels = {dot.test: dot.test for dot in dots}
    if not 1 < len(labels) <= _MOST_ROWS:
        return None
    title = f"speed relative to {crossing(findings).base}, log scale (right is better)"
    return _drawn(findings, labels, dots, title, width_px)


def _forest_alt(findings: Findings) -> str:
    found = "; ".join(f"{dot.test}, {dot.system} {dot.verdict}" for dot in _pairs(findings))
    return f"Every test relative to {crossing(findings).base}. {found}."


def _pairs(findings: Findings) -> Iterator[_Dot]:
    pairs = crossing(findings).pairs
    for row in tests(findings):
        for pair in pairs:
            if own := line_in(findings, row.of, pair):
                text = ""
                if len(pairs) == 1:
                    speed = own.as_speed.removesuffix(" as fast")
                    text = own.told + (f" ({speed})" if speed else "")
                yield _Dot(row.head, pair.system, own.gain, own.verdict, text)


def _drawn(
    findings: Findings, labels: dict[str, str], dots: Sequence[_Dot], title: str, width_px: int
) -> Spec:
    present = {dot.system for dot in dots}
    systems = [system for system in series(findings) if system in present]
    span = ratio.domain(findings, (edge for dot in dots for edge in ratio.edges(dot.drawn)))
    axis = named_axis(labels, most_px=_LABELS_SHARE * width_px)
    texts_px = extent_px((dot.text for dot in dots), SMALL_PX) if dots[0].text else 0
    plot_px = width_px - int(str(axis["minExtent"])) - 16 - texts_px
    legend: Spec = {**system_legend(findings, plot_px), "values": systems}
    layers = _marks(findings, axis, labels, ratio.axis(span, title, plot_px), legend)
    if texts_px:
        layers.append(_texts(layers[0]["encoding"]))
    return {
        "width": plot_px,
        "height": (_SYSTEM_PX * len(systems) + _ROW_GAP_PX) * len(labels),
        "padding": {"left": 0, "top": 0, "bottom": 4, "right": 12},
        "data": {"values": [_row(dot) for dot in dots]},
        "layer": [*ratio.backdrop(findings), *layers],
    }


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


def _texts(place: object) -> Spec:
    """Right of the plot, one a test."""
    own = place if isinstance(place, dict) else {}
    return {
        "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": SMALL_PX},
        "encoding": {
            "y": own["y"],
            "yOffset": own["yOffset"],
            "x": {"value": "width"},
            "text": {"field": "text"},
        },
    }


def _labels(indices: tuple[Index, ...]) -> dict[str, str]:
    """Label of each test → its text; only times have a mark: less is better."""
    marks = {"higher": "", "lower": " (less is better)"}
    return {index.label: index.label + marks[index.direction] for index in indices}


def _row(dot: _Dot) -> Spec:
    return {
        "test": dot.test,
        "system": dot.system,
        "ratio": dot.drawn.ratio,
        "low": dot.drawn.low,
        "high": dot.drawn.high,
        "decided": not _is_open(dot),
        **({"text": dot.text} if dot.text else {}),
    }


def _read(findings: Findings, dots: Sequence[_Dot]) -> str:
    """How to read what is drawn of these comparisons."""
    known = [dot for dot in dots if dot.drawn.ratio is not None]
    single = [dot for dot in known if dot.drawn.low is None]
    hollow = [
        word
        for word, there in {
            "undecided": any(_is_open(dot) for dot in known if dot.drawn.low is not None),
            "not repeated": bool(single),
        }.items()
        if there
    ]
    told = {
        "Line: interval.": len(single) < len(known),
        f"Hollow: {' or '.join(hollow)}.": bool(hollow),
        "Grey band: equivalence margin.": findings.design.equivalent_within > 0,
    }
    return " ".join(words for words, there in told.items() if there)


def _is_open(dot: _Dot) -> bool:
    return dot.verdict in ("undecided", "invalid")


def _legend(findings: Findings, workload: WorkloadFindings) -> str:
    return f"{_GRID} {_read(findings, _dots(workload))}"


def _forest_legend(findings: Findings) -> str:
    own = tests(findings)
    told = {
        "Of several cells their geometric mean.": any(row.cells > 1 for row in own),
        "Times count as speeds, so the right side is always better.": any(
            row.direction == "lower" for row in own
        ),
        _read(findings, list(_pairs(findings))): True,
    }
    return " ".join(words for words, there in told.items() if there)


_GRID = "Each test is the geometric mean over its grid."
_READ = "Line: interval. Hollow: undecided or not repeated. Grey band: equivalence margin."

CHART = Chart(
    name="overview",
    places=("overview",),
    title="All tests",
    caption=f"{_GRID} {_READ}",
    legend=_legend,
    draw=draw,
    alt=alt,
    finding=lambda findings, workload: tallied(
        against_baseline(findings, workload.by_metric), "test"
    ),
)
FOREST = StudyChart(
    name="forest",
    places=("headline",),
    title="All tests",
    caption="Of several cells their geometric mean. Times count as speeds, so the right side is "
    f"always better. {_READ}",
    legend=_forest_legend,
    draw=_forest,
    alt=_forest_alt,
    finding=lambda findings: tallied(
        along_factor(findings, [row.of for row in tests(findings)]),
        "test"
        if len(crossing(findings).pairs_of(crossing(findings).levels[-1])) == 1
        else "comparison",
    ),
)
