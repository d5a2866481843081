"""What collected values do along an axis: the findings of a study's own courses, by Welch's t."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tiltyard.analysis.axes import spoken_axes
from tiltyard.analysis.collected.tables import typical
from tiltyard.analysis.dataset import Dataset, Point, Sample
from tiltyard.analysis.estimators import Heaps, unpaired
from tiltyard.analysis.model import Observation
from tiltyard.analysis.statements.along_axis import SHAPES
from tiltyard.analysis.statements.evidence import SAME_ALPHA, Course, lines_of
from tiltyard.analysis.statements.registry import accept, make, select
from tiltyard.stats.equivalence import PairwiseTost
from tiltyard.stats.gaps import Gaps
from tiltyard.units import count_of, format_value


@dataclass(frozen=True)
class CollectedCourse(Course):
    """One system along a line, each level by its mean and the error of that."""

    places: tuple[Sample, ...]
    """By level; all have an error."""
    values: tuple[str, ...]
    """By level, with units."""

    test: ClassVar[str] = "Welch's t"

    @cached_property
    def gaps(self) -> Gaps:
        """Nothing pairs the levels."""
        count = len(self.places)
        estimate, error, rounding = (np.zeros((count, count)) for _ in range(3))
        freedom = np.ones((count, count))
        pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
        found = unpaired([(self.places[b], self.places[a]) for a, b in pairs])
        for at, one in zip(pairs, found, strict=True):
            if isinstance(one, Heaps):
                estimate[at], error[at] = one.estimate, one.error
                freedom[at], rounding[at] = one.freedom, one.rounding
        return Gaps(min(one.n for one in self.places), estimate, error, freedom, rounding)

    @cached_property
    def same(self) -> PairwiseTost:
        """By the intervals of the gaps."""
        return self.gaps.same(SAME_ALPHA)

    @property
    def basis(self) -> str:
        """``10 values a level``."""
        return f"{count_of(self.blocks, 'value')} a level"

    def typical(self, place: int) -> str:
        """The mean, with its unit."""
        return self.values[place]


@dataclass(frozen=True)
class Collected:
    """One workload as the tests of courses see it."""

    name: str
    courses: tuple[CollectedCourse, ...]
    margin: float
    """See :class:`tiltyard.analysis.statements.along_axis.Along`."""


def observe_courses(scenes: Sequence[Collected]) -> dict[str, tuple[Observation, ...]]:
    """Workload → what its values do along its axes; the tests of all are one family."""
    return select(accept([test for scene in scenes for test in make(SHAPES, scene)]))


def courses_of(dataset: Dataset, tests: Sequence[Sequence[Point]]) -> Iterator[CollectedCourse]:
    """The courses of every metric and system; levels without a known error make none."""
    for points in tests:
        numbered = [(place, point.at) for place, point in enumerate(points)]
        axes = spoken_axes(dict(point.at) for point in points)
        located = [dataset.samples([point.cell]) for point in points]
        metric = points[0].metric
        for line in lines_of(numbered, axes, metric.label):
            for system in points[line.places[0]].readings:
                found = [located[place].get(system) for place in line.places]
                known = tuple(one for one in found if one is not None and one.error is not None)
                if len(known) == len(found):
                    values = tuple(_value(points[place], system) for place in line.places)
                    yield CollectedCourse(
                        line, system, metric.name, metric.direction, known, values
                    )


def _value(point: Point, system: str) -> str:
    """As the source prints it; else with three digits."""
    value, printed = typical(point.readings[system]), point.metric.printed
    if printed is None:
        return format_value(value, point.metric.unit)
    return f"{value / printed.factor:,.{printed.decimals}f} {printed.unit}"
