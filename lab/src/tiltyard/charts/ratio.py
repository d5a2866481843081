"""The ratio axis: logarithmic, 1 in view, labelled as people say it (0.8×, 1×, 1.25×)."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from tiltyard.analysis.model import Comparison, Findings, Index
from tiltyard.analysis.verdict import Estimated
from tiltyard.charts.chart import Spec
from tiltyard.charts.theme import LIGHT, SMALL_PX, text_px

_STEPS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
"""Of ratios near 1."""
_PARTS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
"""Of each decade, or of every so many of them, where ratios are far apart."""
_DECADES = (1, 2, 3)
_FEWEST, _MOST = 3, 9


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
    """Round ratios over the whole span, 1 among them: those that leave the smallest stretch bare.

    Of ladders that are nearly as good, the one with the fewest ticks.
    """
    found = [inside for inside in _ladders(span) if _FEWEST <= len(inside) <= _MOST]
    return min(found, key=lambda inside: _bare(span, inside) + 0.02 * len(inside), default=[1.0])


def _ladders(span: tuple[float, float]) -> Iterator[list[float]]:
    low, high = span
    for step in _STEPS:
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first < _MOST:
            yield [round(place * step, 6) for place in range(max(1, first), last + 1)]
    edges = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for every in _DECADES:
        for parts in _PARTS:
            decades = (place for place in range(edges[0], edges[1] + 1) if place % every == 0)
            ticks = (float(f"{part:g}e{decade}") for decade in decades for part in parts)
            yield [tick for tick in ticks if low <= tick <= high]


def _bare(span: tuple[float, float], ticks: Sequence[float]) -> float:
    """The longest stretch without a tick, as a share of the span."""
    edges = [math.log(place) for place in (span[0], *ticks, span[1])]
    return max(b - a for a, b in pairwise(edges)) / (edges[-1] - edges[0])


def axis(span: tuple[float, float], title: str, room_px: float = math.inf) -> Spec:
    """Encoding of a ratio.

    Args:
        span: of what is drawn.
        title: of what to what; where there is no room, what stands before ``, log scale`` is left
            out: the row of the baseline says it too.
        room_px: for the title.
    """
    if text_px(title, SMALL_PX) > room_px:
        title = title.rpartition(", ")[2]
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
    title = f"relative to {findings.baseline}, log scale"
    directions = {index.direction for index in indices}
    if len(directions) > 1:
        return title
    return f"{title} ({'right' if 'higher' in directions else 'left'} is better)"


def compared(index: Index) -> list[Comparison]:
    """The comparisons of an index with the baseline, best system first."""
    return [s.comparison for s in index.standings if s.comparison is not None]
