"""What a kind of observation is, what it looks at, and what it hands back."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from tiltyard.analysis.observations.course import Course, courses
from tiltyard.analysis.observations.memory import TrialReads, trial_reads
from tiltyard.analysis.observations.sample import sample
from tiltyard.analysis.order import relative_log_values
from tiltyard.analysis.quantity import GridCell, Measured
from tiltyard.analysis.workload import JudgedWorkload
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord
from tiltyard.stats.types import FloatArray

ALPHA: Final = 0.01
"""Of every test; the intervals in sentences have a level of 99 %."""
SAME_WITHIN: Final = 0.05
"""Levels are the same when they differ by less than this."""
TESTS: Final = 240
"""Of one kind in the cells of one workload: a report with thousands of cells is neither held up nor
its correction diluted by them. In larger grids a sample of the cells is looked at."""

Key: TypeAlias = tuple[object, ...]
"""Names something that may be told; equal keys are the same thing."""


@dataclass(frozen=True)
class Claim:
    """A sentence that holds if its test has rejected."""

    subject: Key
    """Claims of one kind on one subject are told together, by the largest of them."""
    place: str
    """How this one is named where another of the subject is told: a system, a point."""
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
    """What is said by it, itself first: it is not told if an earlier kind has told that, and no
    later one tells any of it again."""
    grounds: Key | None = None
    """What it makes worth saying."""
    needs: Key | None = None
    """It is worth saying only if another claim gives these grounds."""
    at: "Callable[[float], Claim | None] | None" = None
    """The same by an interval of another error rate, for having been selected; ``None`` comes of it
    where such an interval does not show it. Without it the interval stays as it is."""
    p_adjusted: float | None = None
    """Where its verdicts have been corrected in a family of their own."""


@dataclass(frozen=True)
class Result:
    """One test that was made, with what it lets one say."""

    p: float
    claim: Claim | None
    """``None`` where nothing is to be said whatever the p-value is."""


Correction = Literal["family", "verdicts", "sameness"]
"""How false claims are held down: by Benjamini–Hochberg over all tests of a report; by what has
corrected the verdicts that a claim is made of; by the intersection–union principle."""


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

    @cached_property
    def courses(self) -> tuple[Course, ...]:
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


@dataclass(frozen=True)
class Kind:
    """One line of the registry."""

    name: str
    says: str
    """Template of the sentence."""
    test: str
    """Which test, and when it rejects."""
    min_blocks: int
    """Fewer blocks than these are not tested."""
    correction: Correction
    look: Callable[[Scene], Iterable[Result]]
    """All tests of this kind in one workload, those that reject nothing included."""


def some(cells: Sequence[GridCell], tests: int) -> tuple[GridCell, ...]:
    """The cells to look at, where each needs so many tests: at most :data:`TESTS` together."""
    return sample(cells, max(1, TESTS // max(1, tests)))
