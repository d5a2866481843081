"""What a chart is: words about it, and how it is drawn from findings.

There are three kinds, by what one picture shows: a :class:`Chart` one workload of all systems, a
:class:`SystemChart` one workload of one system (a size × record grid of its own), a
:class:`StudyChart` all workloads at once. Each is drawn for a width; ``None`` says that it does
not suit these findings, so a caller may try all of them.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.charts.letters import width_em

Spec: TypeAlias = dict[str, object]
"""A Vega-Lite v5 specification, or a part of one."""

Place = Literal["verdict", "overview", "effects", "grid", "values", "order", "chosen"]
"""The room of the report in which a chart hangs; ``chosen``: only where a style asks for it."""

WIDE_PX = 800
NARROW_PX = 340
_FEW = 800
"""More marks than this are not told apart in one panel."""


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
    elsewhere: tuple[str, str] | None = None
    """Title and caption for values that were not measured here, where there are no blocks."""

    def words(self, findings: Findings) -> tuple[str, str]:
        """Title and caption."""
        return self.elsewhere if findings.origin and self.elsewhere else (self.title, self.caption)


@dataclass(frozen=True)
class SystemChart:
    """One kind of picture of one system's part of a workload.

    The pictures of all systems of one workload have the same scales, so that they can be compared.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[Findings, WorkloadFindings, str, int], Spec | None]
    """Findings, workload, name of the system, width in px."""
    alt: Callable[[Findings, WorkloadFindings, str], str]


@dataclass(frozen=True)
class StudyChart:
    """One kind of picture of all workloads together."""

    name: str
    title: str
    caption: str
    draw: Callable[[Findings, int], Spec | None]
    alt: Callable[[Findings], str]


def series(findings: Findings) -> list[str]:
    """The systems in the study's order: it fixes everybody's colour and shape."""
    return [system.name for system in findings.systems]


def few(marks: list[Spec]) -> list[Spec]:
    """Rows that are a mark each, or none where a panel would be too full of them."""
    return [] if too_many(len(marks)) else marks


def too_many(marks: int) -> bool:
    """Whether a panel would be too full of so many."""
    return marks > _FEW


def extent_px(texts: Iterable[str], size_px: int = 12) -> int:
    """Room for the widest of some texts in the typeface of the theme, with some air."""
    return math.ceil(size_px * max(map(width_em, texts), default=0.0)) + 8


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
