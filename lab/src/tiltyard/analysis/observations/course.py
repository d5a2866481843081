"""A course: one metric of one system along one axis of the grid, everything else being equal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final

import numpy as np

from tiltyard.analysis.axes import Axis, label_of
from tiltyard.analysis.observations.sample import sample
from tiltyard.analysis.quantity import GridCell, Measured
from tiltyard.stats.equivalence import PairwiseTost, pairwise_tost
from tiltyard.stats.types import FloatArray
from tiltyard.units import format_value, reading_unit

SAME_ALPHA: Final = 0.05
"""Of each one-sided test of sameness: their intervals have a level of 90 %, as is usual."""
MOST: Final = 240
"""Courses that are looked at in one workload; of a larger grid, a sample."""
MOST_LEVELS: Final = 50
"""Levels of a course: every two are compared. Of more, so many from the first to the last one."""


@dataclass(frozen=True)
class Line:
    """The cells of one metric along one axis, for all systems."""

    axis: Axis
    case: str
    """What stays the same along it, ``64 MiB file``; empty where nothing else varies."""
    places: tuple[int, ...]
    """Of its cells among the headline cells, by ascending level."""
    levels: tuple[int, ...]
    metric: str
    """As a sentence names it: ``iozone read``."""

    @property
    def topic(self) -> str:
        """What a sentence begins with: ``iozone read, 64 MiB file``."""
        return f"{self.metric}, {self.case}" if self.case else self.metric

    @property
    def dimension(self) -> str:
        """``record size``, ``threads``."""
        return f"{self.axis.name} size" if self.axis.is_sized(self.levels) else self.axis.name


@dataclass(frozen=True)
class Course:
    """The values of one system along a line."""

    line: Line
    system: str
    cell: GridCell
    """The first one: metric, unit, direction."""
    values: FloatArray
    """Natural logarithms, shape (blocks, levels): blocks in which no level is missing."""
    network: bool

    @property
    def blocks(self) -> int:
        """Complete ones."""
        return len(self.values)

    @property
    def axis(self) -> Axis:
        """What is varied along it."""
        return self.line.axis

    @property
    def levels(self) -> tuple[int, ...]:
        """Ascending, more than one."""
        return self.line.levels

    @property
    def subject(self) -> tuple[object, ...]:
        """What it shares with other systems and other cases."""
        return self.line.metric, self.axis

    @property
    def key(self) -> tuple[object, ...]:
        """Names it in a report."""
        return ("course", *self.subject, self.line.case, self.system)

    @property
    def place(self) -> str:
        """What tells it from the others of its subject: ``xfs``, ``xfs with 64 MiB file``."""
        return f"{self.system} with {self.line.case}" if self.line.case else self.system

    @property
    def ends(self) -> tuple[int, int]:
        """Lowest and highest level."""
        return self.levels[0], self.levels[-1]

    @property
    def sign(self) -> int:
        """1 where more is better, −1 where less is."""
        return 1 if self.cell.metric.direction == "higher" else -1

    @property
    def doublings(self) -> FloatArray:
        """Logarithms to base 2 of the levels."""
        return np.log2(np.array(self.levels, dtype=np.float64))

    @cached_property
    def same(self) -> PairwiseTost:
        """Which of its levels are the same; for several kinds, from five blocks on."""
        return pairwise_tost(self.values, SAME_ALPHA)

    def between(self, first: int, last: int) -> str:
        """``from 4 KiB to 1 MiB record``, ``from depth 1 to 32``, by places of levels."""
        start, end = self.levels[first], self.levels[last]
        if self.axis.label(end).startswith(self.axis.name):
            return f"from {self.axis.label(start)} to {self.axis.text(end)}"
        return f"from {self.axis.text(start)} to {self.axis.label(end)}"

    def at(self, place: int) -> str:
        """A level with its axis: ``64 KiB record``."""
        return self.axis.label(self.levels[place])

    def typical(self, place: int) -> str:
        """The median over blocks at a level, with its unit."""
        unit = reading_unit(self.cell.metric.unit, network=self.network)
        return format_value(float(np.exp(np.median(self.values[:, place]))), unit)


def lines(measured: Measured) -> Iterator[Line]:
    """Every line along a numeric axis with two levels or more; ``auto`` is not a level of it."""
    numbered = enumerate(measured.cells)
    for _, group in groupby(numbered, key=lambda found: found[1].metric.name):
        cells = list(group)
        axes = cells[0][1].axes
        for axis in axes:
            others = tuple(other for other in axes if other != axis)
            cases: dict[str, dict[int, int]] = {}
            for place, cell in cells:
                level = axis.level(cell.at)
                if isinstance(level, int) and level > 0:
                    cases.setdefault(label_of(cell.at, others), {})[level] = place
            name = cells[0][1].quantity.metric
            for case, places in cases.items():
                if len(places) > 1:
                    levels = _spread(sorted(places))
                    yield Line(axis, case, tuple(places[at] for at in levels), levels, name)


def _spread(levels: Sequence[int]) -> tuple[int, ...]:
    """All levels, or evenly spread ones if there are too many; the ends are among them."""
    taken = np.linspace(0, len(levels) - 1, min(len(levels), MOST_LEVELS)).round().astype(int)
    return tuple(levels[place] for place in taken)


def courses(measured: Measured) -> tuple[Course, ...]:
    """The courses of all systems, at most :data:`MOST` (but one of each system)."""
    most = max(1, MOST // max(1, len(measured.systems)))
    found = sample(list(lines(measured)), most)
    return tuple(
        _course(measured, line, column, system)
        for line in found
        for column, system in enumerate(measured.systems)
    )


def _course(measured: Measured, line: Line, column: int, system: str) -> Course:
    own = [measured.cells[place].quantity.log_values[:, column] for place in line.places]
    values = np.stack(own, axis=1)
    complete = values[np.isfinite(values).all(axis=1)]
    return Course(line, system, measured.cells[line.places[0]], complete, measured.network)
