"""The ratio axis: logarithmic, 1 in view, labelled as people say it (0.8×, 1×, 1.25×)."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from tiltyard.analysis.model import Comparison, Findings, Index
from tiltyard.charts.chart import Spec
from tiltyard.charts.figures import Estimated
from tiltyard.charts.theme import LIGHT

_LADDERS: tuple[tuple[float, ...], ...] = (
    (0.001, 0.01, 0.1, 1, 10, 100, 1000),
    (0.1, 0.2, 0.5, 1, 2, 5, 10),
    (0.25, 0.33, 0.5, 0.67, 1, 1.5, 2, 3, 4),
    (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2),
    (0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2),
    (0.92, 0.94, 0.96, 0.98, 1, 1.02, 1.04, 1.06, 1.08),
    (0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03),
    (0.985, 0.99, 0.995, 1, 1.005, 1.01, 1.015),
)
_ENOUGH = 4


def band(findings: Findings) -> tuple[float, float]:
    """The region of practical equivalence as two ratios."""
    upper = 1 + findings.design.equivalent_within
    return 1 / upper, upper


def domain(findings: Findings, ratios: Iterable[float | None]) -> tuple[float, float]:
    """The span of what is drawn, with the band and some air."""
    drawn = [*band(findings)]
    drawn += [ratio for ratio in ratios if ratio is not None and 0 < ratio < math.inf]
    air = (max(drawn) / min(drawn)) ** 0.04
    return min(drawn) / air, max(drawn) * air


def edges(estimate: Estimated) -> tuple[float | None, float | None, float | None]:
    """What is drawn of an estimate: its ends, and itself where it has no interval."""
    return estimate.low, estimate.ratio, estimate.high


def ticks(span: tuple[float, float]) -> list[float]:
    """Round ratios inside the span, from the coarsest ladder that gives enough of them."""
    for ladder in _LADDERS:
        inside = [ratio for ratio in ladder if span[0] <= ratio <= span[1]]
        if len(inside) >= _ENOUGH:
            break
    return inside


def axis(span: tuple[float, float], title: str) -> Spec:
    """Encoding of a ratio; ``title`` says of what to what."""
    return {
        "type": "quantitative",
        "scale": {"type": "log", "domain": list(span), "nice": False},
        "title": title,
        "axis": {
            "grid": True,
            "values": ticks(span),
            "labelExpr": "format(datum.value, '~r') + '×'",
        },
    }


def backdrop(findings: Findings, along: Literal["x", "y"] = "x") -> list[Spec]:
    """Layers behind the data: the band of equivalence and the line of 1."""
    low, high = band(findings)
    return [
        {
            "data": {"values": [{}]},
            "mark": {"type": "rect", "color": LIGHT["band"]},
            "encoding": {along: {"datum": low}, f"{along}2": {"datum": high}},
        },
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule", "color": LIGHT["faint"]},
            "encoding": {along: {"datum": 1}},
        },
    ]


def axis_title(findings: Findings, indices: Sequence[Index]) -> str:
    """What the axis shows and, where it is the same for all, which way is better."""
    title = f"relative to {findings.baseline}"
    directions = {index.direction for index in indices}
    if len(directions) > 1:
        return title
    return f"{title} ({'right' if 'higher' in directions else 'left'} is better)"


def compared(index: Index) -> list[Comparison]:
    """The comparisons of an index with the baseline, best system first."""
    return [s.comparison for s in index.standings if s.comparison is not None]
