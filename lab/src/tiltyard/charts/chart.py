"""What a chart is: words about it, and how it is drawn from findings."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tiltyard.analysis.model import Findings, WorkloadFindings

Spec: TypeAlias = dict[str, object]
"""A Vega-Lite v5 specification, or a part of one."""

Place = Literal["verdict", "overview", "effects", "grid", "values", "order"]
"""The room of the report in which a chart hangs."""

WIDE_PX = 800
NARROW_PX = 340


@dataclass(frozen=True)
class Chart:
    """One kind of picture, drawn for each workload to which it applies."""

    name: str
    place: Place
    title: str
    caption: str
    """How to read it, in one or two sentences."""
    draw: Callable[[Findings, WorkloadFindings, int], Spec | None]
    """The picture, fitted to a width in px; ``None`` where there is nothing to show."""
    alt: Callable[[Findings, WorkloadFindings], str]
    """One sentence for those who cannot see it."""


def series(findings: Findings) -> list[str]:
    """The systems in the study's order: it fixes everybody's colour and shape."""
    return [system.name for system in findings.systems]


def extent_px(texts: Iterable[str], size_px: int = 12) -> int:
    """Room for the widest of some texts, generous, since the reader's font is not known."""
    return round(0.6 * size_px * max(map(len, texts), default=0)) + 8


def shortened(text: str, limit: int) -> str:
    """At most ``limit`` characters, the last an ellipsis if something was left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def named_axis(names: Mapping[str, str], size_px: int = 12) -> Spec:
    """An axis that shows other words than the data hold: value → what stands at the axis."""
    return {
        "labelExpr": f"{json.dumps(names)}[datum.value]",
        "labelFontSize": size_px,
        "labelLimit": 0,
        "minExtent": extent_px(names.values(), size_px),
    }
