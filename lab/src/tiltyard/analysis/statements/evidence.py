"""What the tests of further findings look at: one workload, its series along axes, its reads."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from statistics import median
from typing import ClassVar, Final, TypeAlias, TypeVar

import numpy as np

from tiltyard.analysis.axes import Axis, Level, label_of
from tiltyard.analysis.contrast import Contrasts, NoVerdict
from tiltyard.analysis.model import WorkloadFindings
from tiltyard.analysis.order import relative_log_values
from tiltyard.analysis.quantity import Direction, GridCell, Measured
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord
from tiltyard.stats.equivalence import PairwiseTost, pairwise_tost
from tiltyard.stats.gaps import Gaps, paired_gaps
from tiltyard.stats.types import FloatArray
from tiltyard.units import SIZE_UNITS, count_of, format_value, reading_unit

T = TypeVar("T")


def sample(items: Sequence[T], most: int) -> tuple[T, ...]:
    """All items, or one at random of each of ``most`` equal stretches; always the same ones.

    Not every so-and-so-many-th: in a grid those would all have one level of the inner axes.
    """
    if len(items) <= most:
        return tuple(items)
    rng = np.random.default_rng(0)
    bounds = np.linspace(0, len(items), most + 1).astype(int)
    return tuple(items[int(place)] for place in rng.integers(bounds[:-1], bounds[1:]))


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
class Course(ABC):
    """One system along a line."""

    line: Line
    system: str
    metric: str
    """Its name."""
    direction: Direction

    test: ClassVar[str] = "paired t"
    """How two levels are compared."""

    @property
    @abstractmethod
    def gaps(self) -> Gaps:
        """Between every two levels."""

    @property
    @abstractmethod
    def same(self) -> PairwiseTost:
        """Which of its levels are the same."""

    @abstractmethod
    def typical(self, place: int) -> str:
        """The value at a level, with its unit."""

    @property
    def blocks(self) -> int:
        """Complete ones; values of a level where nothing pairs them."""
        return self.gaps.n

    @property
    def basis(self) -> str:
        """What an interval rests on: ``7 blocks``."""
        return count_of(self.blocks, "block")

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
        return 1 if self.direction == "higher" else -1

    def between(self, first: int, last: int) -> str:
        """``from 4 KiB to 1 MiB record``, ``from depth 1 to 32``, by places of levels."""
        start, end = self.levels[first], self.levels[last]
        if self.axis.label(end).startswith(self.axis.name):
            return f"from {self.axis.label(start)} to {self.axis.text(end)}"
        return f"from {self.axis.text(start)} to {self.axis.label(end)}"

    def at(self, place: int) -> str:
        """A level with its axis: ``64 KiB record``."""
        return self.axis.label(self.levels[place])


@dataclass(frozen=True)
class MeasuredCourse(Course):
    """The values of one system along a line, block by block."""

    values: FloatArray
    """Natural logarithms, shape (blocks, levels): blocks in which no level is missing."""
    unit: str
    """In which values are read."""

    @cached_property
    def gaps(self) -> Gaps:
        """Of at least two blocks."""
        return paired_gaps(self.values)

    @property
    def blocks(self) -> int:
        """Complete ones."""
        return len(self.values)

    @cached_property
    def same(self) -> PairwiseTost:
        """Which of its levels are the same; for several kinds, from five blocks on."""
        return pairwise_tost(self.values, SAME_ALPHA)

    def typical(self, place: int) -> str:
        """The median over blocks at a level, with its unit."""
        return format_value(float(np.exp(np.median(self.values[:, place]))), self.unit)


def lines(measured: Measured) -> Iterator[Line]:
    """Every line along a numeric axis with two levels or more; ``auto`` is not a level of it."""
    numbered = enumerate(measured.cells)
    for _, group in groupby(numbered, key=lambda found: found[1].metric.name):
        cells = list(group)
        points = [(place, cell.at) for place, cell in cells]
        yield from lines_of(points, cells[0][1].axes, cells[0][1].named)


def lines_of(
    points: Sequence[tuple[int, Mapping[str, Level]]], axes: Sequence[Axis], metric: str
) -> Iterator[Line]:
    """The lines through the points of one metric, each with its place."""
    for axis in axes:
        others = tuple(other for other in axes if other != axis)
        cases: dict[str, dict[int, int]] = {}
        for place, at in points:
            level = axis.level(dict(at))
            if isinstance(level, int) and level > 0:
                cases.setdefault(label_of(dict(at), others), {})[level] = place
        for case, places in cases.items():
            if len(places) > 1:
                levels = _spread(sorted(places))
                yield Line(axis, case, tuple(places[at] for at in levels), levels, metric)


def _spread(levels: Sequence[int]) -> tuple[int, ...]:
    """All levels, or evenly spread ones if there are too many; the ends are among them."""
    taken = np.linspace(0, len(levels) - 1, min(len(levels), MOST_LEVELS)).round().astype(int)
    return tuple(levels[place] for place in taken)


def courses(measured: Measured) -> tuple[MeasuredCourse, ...]:
    """The courses of all systems, at most :data:`MOST` (but one of each system)."""
    most = max(1, MOST // max(1, len(measured.systems)))
    found = sample(list(lines(measured)), most)
    return tuple(
        _course(measured, line, column, system)
        for line in found
        for column, system in enumerate(measured.systems)
    )


def _course(measured: Measured, line: Line, column: int, system: str) -> MeasuredCourse:
    own = [measured.cells[place].log_values[:, column] for place in line.places]
    values = np.stack(own, axis=1)
    complete = values[np.isfinite(values).all(axis=1)]
    metric = measured.cells[line.places[0]].metric
    unit = reading_unit(metric.unit, network=measured.network)
    return MeasuredCourse(line, system, metric.name, metric.direction, complete, unit)


FACTS: Final = ("memory available at start", "memory")
"""Of the host, the one that says most first."""
_SIZE: Final = re.compile(r"([\d.]+) (B|KiB|MiB|GiB|TiB)")


@dataclass(frozen=True)
class TrialReads:
    """What one trial read, and how much of its work each level had."""

    system: str
    read_bytes: int
    device_read_bytes: int
    work_bytes: dict[str, dict[Level, int]]
    """Axis → level → bytes of all metrics there."""


@dataclass(frozen=True)
class Cache:
    """What is there to cache with."""

    size_bytes: float
    source: str


@dataclass(frozen=True)
class DeviceReads:
    """Where reads came from; medians over trials."""

    overall: float
    """Bytes that the device read, over bytes that were read."""
    before_at_least: float
    """The same of the reads at the levels before a point, even if every read beyond it had gone to
    the device."""
    beyond_at_least: float
    """The same of the reads beyond it, even if every one before it had."""
    trials: int


def cache_of(run: RunRecord, measured: Measured) -> Cache | None:
    """The limit that trials were put under, else what the host had; ``None`` if nothing tells."""
    limits = [
        access.memory_limit_bytes
        for trial in measured.done
        if trial.end and (access := trial.end.access) and access.memory_limit_bytes
    ]
    if limits:
        return Cache(float(median(limits)), "memory limit of the trials")
    for fact in FACTS:
        if found := _SIZE.fullmatch(run.host.get(fact, "")):
            return Cache(float(found[1]) * SIZE_UNITS[found[2]], fact)
    return None


def trial_reads(measured: Measured) -> tuple[TrialReads, ...]:
    """The trials in which the counters of the device tell what was read."""
    found = []
    for trial in measured.done:
        access = trial.end.access if trial.end else None
        if access is None or access.device_read_bytes is None or access.read_bytes == 0:
            continue
        work: dict[str, dict[Level, int]] = {}
        for sample in trial.samples:
            for axis, level in sample.at.items():
                levels = work.setdefault(axis, {})
                levels[level] = levels.get(level, 0) + sample.bytes
        found.append(
            TrialReads(trial.key.system, access.read_bytes, access.device_read_bytes, work)
        )
    return tuple(found)


def device_reads(
    reads: Iterable[TrialReads], system: str, axis: Axis, beyond: int
) -> DeviceReads | None:
    """What the device read at levels from ``beyond`` on; ``None`` where no counter tells.

    A trial has one counter for all levels. They have the same share of reads, because every metric
    is measured at each of them.
    """
    found = [
        shares for one in reads if one.system == system and (shares := _shares(one, axis, beyond))
    ]
    if not found:
        return None
    overall, before, after = (median(shares) for shares in zip(*found, strict=True))
    return DeviceReads(overall, before, after, len(found))


def _shares(one: TrialReads, axis: Axis, beyond: int) -> tuple[float, float, float] | None:
    levels = one.work_bytes.get(axis.names[0], {})
    after = sum(
        work for level, work in levels.items() if isinstance(level, int) and level >= beyond
    )
    total = sum(levels.values())
    if not 0 < after < total:
        return None
    read_beyond = one.read_bytes * after / total
    read_before = one.read_bytes - read_beyond
    return (
        one.device_read_bytes / one.read_bytes,
        _share_of(read_before, one.device_read_bytes - read_beyond),
        _share_of(read_beyond, one.device_read_bytes - read_before),
    )


def _share_of(whole: float, part: float) -> float:
    return min(1.0, max(0.0, part / whole))


ALPHA: Final = 0.01
"""Of every test; the intervals in sentences have a level of 99 %."""
SAME_WITHIN: Final = 0.05
"""Levels are the same when they differ by less than this."""
TESTS: Final = 240
"""Of one kind in the cells of one workload: a report with thousands of cells is neither held up nor
its correction diluted by them. In larger grids a sample of the cells is looked at."""

Key: TypeAlias = tuple[object, ...]
"""Names something that may be printed; equal keys are the same thing."""


@dataclass(frozen=True)
class Candidate:
    """A sentence that holds if its test has rejected."""

    subject: Key
    """Candidates of one kind on one subject are printed together, by the largest of them."""
    place: str
    """How this one is named where another of the subject is printed: a system, a point."""
    metric: str | None
    systems: tuple[str, ...]
    blocks: int
    size: float
    """The effect at least, on the log scale."""
    sentence: str
    """Effect, interval and number of blocks; without the full stop."""
    evidence: str
    """The test, in words, with its numbers."""
    covers: tuple[Key, ...] = ()
    """What it says, itself first: it is not printed if an earlier kind has said that, and no later
    one repeats any of it."""
    grounds: Key | None = None
    """What it makes worth saying."""
    needs: Key | None = None
    """It is worth saying only if another claim gives these grounds."""
    at: "Callable[[float], Candidate | None] | None" = None
    """The same by an interval of another error rate, for having been selected; ``None`` comes of it
    where such an interval does not show it. Without it the interval stays as it is."""
    p_adjusted: float | None = None
    """Where its verdicts have been corrected in a family of their own."""


@dataclass(frozen=True)
class Result:
    """One test that was made, with what it lets one say."""

    p: float
    claim: Candidate | None
    """``None`` where nothing is to be said whatever the p-value is."""


@dataclass(frozen=True)
class Scene:
    """One workload, as kinds see it."""

    measured: Measured
    judged: JudgedWorkload | None
    """``None`` while nothing is measured."""
    plan: Plan
    run: RunRecord

    @property
    def name(self) -> str:
        """Of the workload."""
        return self.measured.workload.spec.name

    @property
    def display(self) -> str:
        """The workload as people read it."""
        return self.measured.workload.display

    @property
    def margin(self) -> float:
        """Half-width of the region of equivalence, on the log scale."""
        return math.log1p(self.plan.design.equivalent_within)

    @cached_property
    def courses(self) -> tuple[MeasuredCourse, ...]:
        """The courses along the axes of the grid, at most so many."""
        return courses(self.measured)

    @cached_property
    def relative(self) -> FloatArray:
        """How far each trial is from what is typical of its system, shape (blocks, systems), ln."""
        return relative_log_values(self.measured)

    @cached_property
    def reads(self) -> tuple[TrialReads, ...]:
        """What the trials read, and from where."""
        return trial_reads(self.measured)

    def some_cells(self, tests: int) -> tuple[GridCell, ...]:
        """The headline cells to look at one by one, with so many tests in each."""
        return some(self.measured.cells, tests)


def some(cells: Sequence[GridCell], tests: int) -> tuple[GridCell, ...]:
    """The cells to look at, where each needs so many tests: at most :data:`TESTS` together."""
    return sample(cells, max(1, TESTS // max(1, tests)))


@dataclass(frozen=True)
class Evidence:
    """What limitations and warnings are made of."""

    plan: Plan
    run: RunRecord
    judged: Sequence[JudgedWorkload] = ()
    workloads: Sequence[WorkloadFindings] = ()
    withheld: NoVerdict | None = None
    """Why there is no verdict at all."""

    @property
    def measured(self) -> list[Measured]:
        """The values of every workload."""
        return [workload.measured for workload in self.judged]

    @cached_property
    def contrasts(self) -> Contrasts:
        """All comparisons."""
        return Contrasts.together(one.contrasts for own in self.judged for one in own.every)
