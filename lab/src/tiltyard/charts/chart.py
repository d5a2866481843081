"""What a chart is: words about it, where it hangs, and how it is drawn from findings.

There are three kinds, by what one picture shows: a :class:`Chart` one workload of all systems, a
:class:`SystemChart` one workload of one system (a size × record grid of its own), a
:class:`StudyChart` all workloads at once. Each is drawn for a width; ``None`` says that it does
not suit these findings, so a caller may try all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, TypeAlias

from tiltyard.analysis.model import Findings, WorkloadFindings

Spec: TypeAlias = dict[str, object]
"""A Vega-Lite v5 specification, or a part of one."""

Place = Literal[
    "headline",
    "verdict",
    "overview",
    "effects",
    "studies",
    "grid",
    "values",
    "order",
    "whitepaper summary",
    "whitepaper workload",
    "whitepaper charts",
    "whitepaper decided charts",
    "article workload",
    "results overview",
    "results workload",
]
"""Where a chart hangs: a section of the laboratory's style, or a style and one of its sections."""

WIDE_PX = 800
NARROW_PX = 340
IN_BLOCK = "in block"
"""What a mark says of the block that it is of; a page finds its trials by that."""
ROOMY_PX = 600
"""From this width on two panels stand side by side."""
_FEW = 800
"""More marks than this are not told apart in one panel."""


@dataclass(frozen=True)
class Picture:
    """One picture of a chart, not yet fitted to a width."""

    chart: str
    """Name of the chart."""
    title: str
    caption: str
    finding: Callable[[], str]
    """What it shows in one line, for its title; empty where that is not one thing."""
    story: Callable[[], str]
    """What more it shows, in sentences; a description, no inference. Mostly empty."""
    measure: Callable[[], str]
    """What is drawn, for the line below a title that is a finding."""
    draw: Callable[[int], Spec | None]
    """The specification for a width in px; ``None`` where there is nothing to show."""
    alt: Callable[[], str]
    """One sentence for those who cannot see it."""
    system: str = ""
    """Whose picture it is, where each system has one."""


@dataclass(frozen=True)
class _Described:
    """What all charts have."""

    name: str
    places: tuple[Place, ...]
    title: str
    caption: str
    """How to read it, in one or two sentences."""


def _nothing(*_: object) -> str:
    return ""


@dataclass(frozen=True)
class Chart(_Described):
    """One kind of picture, drawn for each workload to which it applies."""

    about: ClassVar[str] = "each workload"
    draw: Callable[[Findings, WorkloadFindings, int], Spec | None]
    alt: Callable[[Findings, WorkloadFindings], str]
    finding: Callable[[Findings, WorkloadFindings], str] = _nothing
    story: Callable[[Findings, WorkloadFindings], str] = _nothing
    measure: Callable[[Findings, WorkloadFindings], str] | None = None
    imported: tuple[str, str] | None = None
    """Title and caption for values that were not measured here, where there are no blocks."""
    legend: Callable[[Findings, WorkloadFindings], str] | None = None
    """The part of the caption that is about what is drawn of these findings."""

    def pictures(self, findings: Findings, workload: WorkloadFindings | None) -> Iterator[Picture]:
        """The picture of a workload."""
        if workload is not None:
            words = None if findings.planned else self.imported
            title, caption = words or (self.title, self.caption)
            yield Picture(
                chart=self.name,
                title=title,
                caption=self.legend(findings, workload) if self.legend else caption,
                draw=partial(self.draw, findings, workload),
                alt=partial(self.alt, findings, workload),
                finding=partial(self.finding, findings, workload),
                story=partial(self.story, findings, workload),
                measure=partial(self.measure, findings, workload)
                if self.measure
                else lambda: title,
            )


@dataclass(frozen=True)
class SystemChart(_Described):
    """One kind of picture of one system's part of a workload.

    The pictures of all systems of one workload have the same scales, so that they can be compared.
    """

    about: ClassVar[str] = "each system of a workload"
    draw: Callable[[Findings, WorkloadFindings, str, int], Spec | None]
    """Findings, workload, name of the system, width in px."""
    alt: Callable[[Findings, WorkloadFindings, str], str]

    def pictures(self, findings: Findings, workload: WorkloadFindings | None) -> Iterator[Picture]:
        """A picture of each system of a workload; the caption stands below the first one."""
        if workload is None:
            return
        for number, system in enumerate(series(findings)):
            yield Picture(
                chart=self.name,
                title=self.title,
                caption=self.caption if number == 0 else "",
                draw=partial(self.draw, findings, workload, system),
                alt=partial(self.alt, findings, workload, system),
                finding=_nothing,
                story=_nothing,
                measure=lambda: self.title,
                system=system,
            )


@dataclass(frozen=True)
class StudyChart(_Described):
    """One kind of picture of all workloads together."""

    about: ClassVar[str] = "the whole study"
    draw: Callable[[Findings, int], Spec | None]
    alt: Callable[[Findings], str]
    finding: Callable[[Findings], str] = _nothing
    legend: Callable[[Findings], str] | None = None
    """The part of the caption that is about what is drawn of these findings."""

    def pictures(self, findings: Findings, workload: WorkloadFindings | None) -> Iterator[Picture]:
        """The picture of the study."""
        if workload is None:
            yield Picture(
                chart=self.name,
                title=self.title,
                caption=self.legend(findings) if self.legend else self.caption,
                draw=partial(self.draw, findings),
                alt=partial(self.alt, findings),
                finding=partial(self.finding, findings),
                story=_nothing,
                measure=lambda: self.title,
            )


AnyChart: TypeAlias = Chart | SystemChart | StudyChart


def series(findings: Findings) -> list[str]:
    """The systems in the study's order: it fixes everybody's colour and shape."""
    return [system.name for system in findings.systems]


def few(marks: list[Spec]) -> list[Spec]:
    """Rows that are a mark each, or none where a panel would be too full of them."""
    return [] if len(marks) > _FEW else marks


def columns_of(panels: int, width_px: int, gap_px: int) -> tuple[int, int]:
    """How many panels stand side by side, and how wide each of them is."""
    columns = 2 if width_px >= ROOMY_PX and panels > 1 else 1
    return columns, (width_px - gap_px * (columns - 1)) // columns


def side_by_side(panels: Sequence[Spec], columns: int, row_px: int, column_px: int) -> Spec:
    """Panels as one picture, with so much room between rows and columns."""
    return {
        "padding": {"left": 0, "top": 2, "bottom": 2, "right": 4},
        "columns": columns,
        "spacing": {"row": row_px, "column": column_px},
        "resolve": {"scale": {"color": "shared", "shape": "shared"}},
        "concat": list(panels),
    }
