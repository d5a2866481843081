"""The ranking: each system a line, its interval a bar, every block a dot.

Systems are named beside their lines, so colour is free to say one thing: decided to differ from
the baseline, or not.
"""

from itertools import zip_longest

from tiltyard.analysis.line import alone_note, interval_text, pooled, ratio_text, word_of
from tiltyard.analysis.model import Comparison, Findings, Standing, WorkloadFindings
from tiltyard.charts import ratio
from tiltyard.charts.chart import IN_BLOCK, ROOMY_PX, Chart, Spec
from tiltyard.charts.theme import FIT, distinct, named_axis, toned
from tiltyard.charts.titles import ranked

_ROW_PX = 38
_NAMES_SHARE = 0.27
_TITLE_SHARE = 0.5
"""Of the width, for the title of the axis."""


def draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec | None:
    """The workload's index relative to the baseline, best system first.

    All workloads have one scale: their rankings stand below each other.
    """
    index = workload.index
    if not index.standings:
        return None
    roomy = width_px >= ROOMY_PX
    names = distinct((s.system for s in index.standings), _NAMES_SHARE * width_px)
    span = ratio.domain(
        findings,
        (
            drawn
            for other in findings.workloads
            for comparison in ratio.compared(other.index)
            for drawn in (*ratio.edges(pooled(comparison)), *comparison.differences)
        ),
    )
    x = ratio.axis(span, ratio.axis_title(findings, [index]), _TITLE_SHARE * width_px)
    lines = [_line(s, _text(s, findings, roomy=roomy)) for s in index.standings]
    y: Spec = {
        "field": "system",
        "type": "nominal",
        "sort": list(names),
        "title": None,
        "axis": named_axis(names),
    }
    return {
        **FIT,
        "width": width_px,
        "height": _ROW_PX * len(lines),
        "padding": {"left": 2, "top": 2, "bottom": 2, "right": 2},
        "data": {"values": lines},
        "layer": [
            *ratio.backdrop(findings),
            _dots(workload, y),
            *_interval(y, x),
            {
                "mark": {"type": "text", "align": "left", "dx": 8},
                "encoding": {"y": y, "text": {"field": "text"}, "x": {"value": "width"}},
            },
        ],
    }


def alt(findings: Findings, workload: WorkloadFindings) -> str:
    """The ranking in one sentence."""
    places = "; ".join(
        f"{s.system}: {_text(s, findings, roomy=True)}" for s in workload.index.standings
    )
    named = dict.fromkeys((workload.display, workload.index.label))
    return f"{', '.join(named)}, relative to {findings.baseline}. {places}."


def _interval(y: Spec, x: Spec) -> list[Spec]:
    """The interval as a bar and the estimate as a stroke on it."""
    return [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "bar", "height": 8, "cornerRadius": 4, "opacity": 0.45},
            "encoding": {
                "y": y,
                "x": {"field": "low", "type": "quantitative"},
                "x2": {"field": "high"},
                "color": toned(),
            },
        },
        {
            "transform": [{"filter": "isValid(datum.ratio)"}],
            "mark": {"type": "tick", "thickness": 3, "size": 20},
            "encoding": {"y": y, "x": {"field": "ratio", **x}, "color": toned()},
        },
    ]


def _dots(workload: WorkloadFindings, y: Spec) -> Spec:
    """Every block, the first at the top of its row: a drift would slant the column of dots."""
    standings = workload.index.standings
    return {
        "data": {
            "values": [
                {
                    "system": standing.system,
                    "tone": _tone(standing),
                    "place": place,
                    "difference": difference,
                    "number": number,
                }
                for standing in standings
                if (pair := standing.comparison) is not None
                for place, (difference, number) in enumerate(
                    zip_longest(pair.differences, _numbers(workload, pair)), 1
                )
            ]
        },
        "mark": {"type": "point", "filled": True, "size": 20, "opacity": 0.75},
        "encoding": {
            "y": y,
            "x": {"field": "difference", "type": "quantitative"},
            "yOffset": {"field": "place", "type": "ordinal"},
            "color": toned(),
            "detail": {"field": "number", "title": IN_BLOCK},
        },
    }


def _numbers(workload: WorkloadFindings, pair: Comparison) -> list[int]:
    """Those of the blocks in which both have all values; none where that is not certain."""
    both = [
        set(one.blocks)
        for cell in workload.cells
        for one in cell.summaries
        if one.system in (pair.system, pair.against)
    ]
    found = sorted(set.intersection(*both)) if both else []
    return found if len(found) == len(pair.differences) else []


def _line(standing: Standing, text: str) -> Spec:
    comparison = standing.comparison
    bounds: Spec = {"ratio": 1.0, "low": None, "high": None}
    if comparison is not None:
        drawn = pooled(comparison)
        bounds = {"ratio": drawn.ratio, "low": drawn.low, "high": drawn.high}
    return {"system": standing.system, "text": text, "tone": _tone(standing), **bounds}


def _tone(standing: Standing) -> str:
    """The accent for a decided difference, grey for all else."""
    found = standing.comparison
    return "accent" if found and found.verdict in ("faster", "slower") else "faint"


def _text(standing: Standing, findings: Findings, *, roomy: bool) -> str:
    comparison = standing.comparison
    if comparison is None:
        return "1, the baseline"
    word, drawn = word_of(comparison, findings.clock), pooled(comparison)
    if drawn.ratio is None:
        return word
    known = roomy and drawn.low is not None
    interval = f" ({interval_text(drawn)})" if known else ""
    return f"{ratio_text(drawn)}{interval}, {word}"


def _drawn(findings: Findings, workload: WorkloadFindings) -> dict[str, bool]:
    """Which of the kinds of marks are there."""
    pairs = [one.comparison for one in workload.index.standings if one.comparison]
    decided = {_tone(one) == "accent" for one in workload.index.standings if one.comparison}
    return {
        _BAR: any(pooled(pair).low is not None for pair in pairs),
        _STROKE: any(pair.ratio is not None for pair in pairs),
        _DOTS: any(pair.differences for pair in pairs),
        _COLOURS: True in decided,
        _BAND: findings.design.equivalent_within > 0,
    }


def _legend(findings: Findings, workload: WorkloadFindings) -> str:
    drawn = [words for words, there in _drawn(findings, workload).items() if there]
    told = " ".join(drawn).replace("blocks", _dots_are(findings))
    return " ".join(filter(None, (told, alone_note(ratio.compared(workload.index)))))


def _dots_are(findings: Findings) -> str:
    """What each dot is the ratio of."""
    if findings.unit == "study":
        return "studies"
    return f"{findings.design.unit}s"


def _measure(findings: Findings, workload: WorkloadFindings) -> str:
    drawn = _drawn(findings, workload)
    names = {_STROKE: "estimate", _BAR: "interval", _DOTS: _dots_are(findings)}
    own = ", ".join(name for words, name in names.items() if drawn[words])
    return f"Ratio to {findings.baseline}{f': {own}' if own else ''}"


_BAR = "Bar: interval of the ratio."
_STROKE = "Stroke: estimate."
_DOTS = "Dots: the blocks, the first on top."
_COLOURS = "Coloured: decided to differ from the baseline; grey: not."
_BAND = "Grey band: equivalence margin."

CHART = Chart(
    name="ranking",
    places=("verdict",),
    title="Ranking",
    caption=f"{_BAR} {_STROKE} {_DOTS} {_COLOURS} {_BAND}",
    legend=_legend,
    draw=draw,
    alt=alt,
    finding=lambda findings, workload: ranked(findings, workload.index),
    measure=_measure,
)
