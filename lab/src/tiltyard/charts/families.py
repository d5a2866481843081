"""One system's size × record grid as a family of lines: over records, a line a file size."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltyard.analysis.axes import Course, spoken_axes
from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.charts.chart import Spec, SystemChart, extent_px
from tiltyard.charts.differences import by_test
from tiltyard.charts.extremes import spans, values_of
from tiltyard.charts.measure import Measure, head_of, measure_of
from tiltyard.charts.scales import Places, Scale, apart, places_of, scale_of
from tiltyard.charts.sequence import toned
from tiltyard.charts.theme import HEIGHTS, LIGHT, SMALL_PX

_HEIGHT_PX = 280
_AXIS_PX = 74
_LABEL_PX = 14
_ENOUGH = 3
"""Levels from which on a line says more than two numbers."""


@dataclass(frozen=True)
class _Family:
    """The lines of one test."""

    cells: Sequence[Cell]
    system: str
    along: Course
    measure: Measure
    scale: Scale
    """Of all systems."""
    places: Places

    def lines(self) -> dict[str, list[Spec]]:
        """Each case with its values, in the order of the levels."""
        found: dict[str, list[Spec]] = {}
        own = sorted(values_of(self.cells, self.system), key=lambda one: self._level(one[0]))
        for cell in self.cells:
            found.setdefault(self.along.case(cell.at), [])
        for cell, value in own:
            place = self.places.of(self._level(cell), 0)
            found[self.along.case(cell.at)].append({"place": place, "value": self._drawn(value)})
        return {case: line for case, line in found.items() if line}

    def _level(self, cell: Cell) -> int:
        return int(self.along.axis.level(cell.at))

    def _drawn(self, value: float) -> float:
        return max(value / self.measure.factor, self.scale.low)


def draw(
    _findings: Findings, workload: WorkloadFindings, system: str, width_px: int
) -> Spec | None:
    """A panel a test; the axes are those of all systems, so that their pictures can be compared."""
    along = course_across(workload)
    tests = [cells for cells in by_test(workload.cells) if any(values_of(cells, system))]
    if along is None or not tests:
        return None
    return {
        "padding": {"left": 0, "top": 2, "bottom": 2, "right": 4},
        "spacing": 22,
        "vconcat": [
            _panel(cells, system, along, width_px, noted=place == 0)
            for place, cells in enumerate(tests)
        ],
    }


def alt(_findings: Findings, workload: WorkloadFindings, system: str) -> str:
    """The span of each test."""
    along = course_across(workload)
    over = along.axis.span(along.levels) if along else ""
    return f"{workload.name}, {system}, lines over {over}. {spans(workload, system)}"


def course_across(workload: WorkloadFindings) -> Course | None:
    """The last dimension of a grid of two or more; ``None`` where it cannot be followed."""
    axes = spoken_axes(cell.at for cell in workload.cells)
    if len(axes) < 2:
        return None
    levels = {axes[-1].level(cell.at) for cell in workload.cells}
    numbers = sorted(level for level in levels if isinstance(level, int))
    if len(numbers) < max(len(levels), _ENOUGH):
        return None
    return Course(axes[-1], tuple(numbers), axes[:-1])


def _panel(cells: list[Cell], system: str, along: Course, width_px: int, *, noted: bool) -> Spec:
    measure = measure_of(cells)
    cases_px = extent_px((along.case(cell.at) for cell in cells), SMALL_PX) + 8
    plot_px = width_px - cases_px - _AXIS_PX
    family = _Family(
        cells=cells,
        system=system,
        along=along,
        measure=measure,
        scale=scale_of(s.median / measure.factor for cell in cells for s in cell.summaries),
        places=places_of(along, 1, plot_px),
    )
    lines = family.lines()
    tones = {case: f"height-{1 + HEIGHTS * n // len(lines)}" for n, case in enumerate(lines)}
    return {
        "title": {"text": head_of(f"{cells[0].label}, {system}", measure, cells[0], noted=noted)},
        "width": plot_px,
        "height": _HEIGHT_PX,
        "encoding": {
            "x": {**family.places.axis(), "field": "place"},
            "y": {**family.scale.axis(), "field": "value"},
        },
        "layer": [
            {
                "data": {
                    "values": [
                        {**point, "case": case, "tone": tones[case]}
                        for case, line in lines.items()
                        for point in line
                    ]
                },
                "mark": {"type": "line", "strokeWidth": 1.75, "point": {"size": 14}},
                "encoding": {"detail": {"field": "case"}, "color": toned()},
            },
            *_names(family, lines, tones),
        ],
    }


def _names(family: _Family, lines: dict[str, list[Spec]], tones: dict[str, str]) -> list[Spec]:
    """Each line's case at its right end, moved where lines end together, with a stroke to it."""
    last = {case: float(str(line[-1]["value"])) for case, line in lines.items()}
    shares = {case: family.scale.share(value) for case, value in last.items()}
    edge = family.places.edges[1]
    ends: list[Spec] = [
        {
            "said": case,
            "tone": tones[case],
            "place": lines[case][-1]["place"],
            "edge": edge,
            "value": last[case],
            "beside": family.scale.at_share(share),
        }
        for case, share in apart(shares, _LABEL_PX / _HEIGHT_PX).items()
    ]
    look: Spec = {"align": "left", "dx": 4, "fontSize": SMALL_PX, "color": LIGHT["ink"]}
    return [
        {
            "data": {"values": ends},
            "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.6},
            "encoding": {"x2": {"field": "edge"}, "y2": {"field": "beside"}, "color": toned()},
        },
        {
            "data": {"values": ends},
            "mark": {"type": "text", **look},
            "encoding": {
                "x": {**family.places.axis(), "field": "edge"},
                "y": {**family.scale.axis(), "field": "beside"},
                "text": {"field": "said"},
            },
        },
    ]


CHART = SystemChart(
    name="families",
    title="Line by line",
    caption="The axes are the same for all systems.",
    draw=draw,
    alt=alt,
)
