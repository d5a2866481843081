"""Two headlines of a program: the wall-clock time that a study is about, and CPU time beside it.

Each is a family by itself. The study ends once the wall-clock time is decided, and with it what is
known of CPU time. Noise of both is normal, and may be shared: who waits for a CPU often finds its
cache cold.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.designs import Outcome, bounds_of, outcome
from simulation.rates import EQUIVALENT_WITHIN
from simulation.section import Line, Section, percent, span, table
from tiltyard.analysis.contrast import MAX_FAILED_SHARE
from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import DIFFERENT, FamilyRules, judge_family
from tiltyard.stats.looks import LEVEL, LONG, TABULATED, looks
from tiltyard.stats.multiple import holm
from tiltyard.stats.sequential import Spending, profile_of_family
from tiltyard.stats.types import BoolArray, FloatArray

BLOCKS: Final = looks(LONG, strict=False, blocks=None)[-1][0]
NOISE: Final = (0.10, 0.02)
"""Of the value of a block: by the clock, on CPUs."""
CASES: Final = (
    ((0.0, 0.0), 0.0),
    ((0.0, 0.0), 0.5),
    ((0.0, 0.0), 0.9),
    ((0.05, 0.0), 0.5),
    ((0.10, 0.0), 0.5),
    ((0.02, 0.02), 0.5),
    ((0.05, 0.05), 0.5),
    ((0.10, 0.10), 0.5),
)
"""(true differences by the clock and on CPUs, correlation of their noise)."""
_FAMILIES: Final = 10
"""Of so many studies one is judged as one family of both, too: that is slow."""


@dataclass(frozen=True)
class CpuRates:
    """One case; shares of studies."""

    differences: tuple[float, float]
    correlation: float
    studies: int
    time: float
    """A difference is claimed of the wall-clock time."""
    cpu: float
    """Of CPU time, by the end of the study."""
    either: float
    time_blocks: float
    cpu_blocks: float
    """Until CPU time was decided, or the study ended."""
    both: float
    """A difference of the wall-clock time, if both were one family."""


@dataclass(frozen=True)
class CpuTimes:
    """All of it."""

    cases: tuple[CpuRates, ...]

    @property
    def equal(self) -> list[CpuRates]:
        """Where no difference is."""
        return [one for one in self.cases if not any(one.differences)]


def cpu_rates(
    differences: tuple[float, float], correlation: float, studies: int, rng: np.random.Generator
) -> CpuRates:
    """Studies of one case."""
    covariance = np.array([[1, correlation], [correlation, 1]])
    drawn = rng.multivariate_normal(np.zeros(2), covariance, (studies, BLOCKS))
    drawn *= np.sqrt(2) * np.array(NOISE)
    rope = float(np.log1p(EQUIVALENT_WITHIN))
    effects = [float(np.log1p(share)) for share in differences]
    time, cpu = (
        outcome(bounds_of(LONG)(drawn[..., place]), effects[place], rope) for place in (0, 1)
    )
    known = cpu.blocks <= time.blocks
    claimed = (cpu.claim != 0) & known
    every = drawn[::_FAMILIES] + np.array(effects)
    return CpuRates(
        differences,
        correlation,
        studies,
        time=_claimed(time),
        cpu=float(claimed.mean()),
        either=float(((time.claim != 0) | claimed).mean()),
        time_blocks=float(time.blocks.mean()),
        cpu_blocks=float(np.minimum(cpu.blocks, time.blocks).mean()),
        both=float(np.mean([_of_one_family(own.T)[0] for own in every])),
    )


def _claimed(found: Outcome) -> float:
    return float((found.claim != 0).mean())


def _of_one_family(rows: FloatArray) -> BoolArray:
    """Which of both differ, corrected together; shape (2, blocks)."""
    name = profile_of_family(LONG, False, 2)
    rules = FamilyRules(
        rope=float(np.log1p(EQUIVALENT_WITHIN)),
        adjust=holm,
        rate=LEVEL,
        together=True,
        futility=False,
        max_failed_share=MAX_FAILED_SHARE,
    )
    own = PairedBlocks(Spending(name, False, TABULATED[name]), rows)
    claimed: BoolArray = judge_family(own, rules, 0).outcome == DIFFERENT
    return claimed


def _simulate(paths: int, seed: int) -> CpuTimes:
    streams = [np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(len(CASES))]
    return CpuTimes(
        tuple(cpu_rates(*case, paths, rng) for case, rng in zip(CASES, streams, strict=True))
    )


def _lines(found: CpuTimes) -> list[Line]:
    error = 2 * float(np.sqrt(LEVEL * (1 - LEVEL) / found.cases[0].studies))
    bound = f"{percent(LEVEL)} ± {percent(error)} %"
    return [
        Line("programs that are equal: false claims by the clock", bound,
             span(one.time for one in found.equal)),
        Line("the same of their CPU time", bound, span(one.cpu for one in found.equal)),
        Line("the same of either", f"{percent(2 * LEVEL)} %",
             span(one.either for one in found.equal)),
    ]  # fmt: skip


def _told(found: CpuTimes) -> str:
    head = (
        "true difference by the clock, of CPU time",
        "correlation of noise",
        "claimed by the clock, %",
        "of CPU time, %",
        "of either, %",
        "blocks: by the clock",
        "of CPU time",
        "by the clock if both were one family, %",
    )
    rows = [
        (" and ".join(f"{percent(share, 0)} %" for share in one.differences),
         f"{one.correlation:g}",
         *(percent(share) for share in (one.time, one.cpu, one.either)),
         f"{one.time_blocks:.0f}", f"{one.cpu_blocks:.0f}", percent(one.both))
        for one in found.cases
    ]  # fmt: skip
    noise = [percent(share, 0) for share in NOISE]
    return f"""
## Wall-clock time and CPU time

Two programs on a busy host: the noise of a block's value is {noise[0]} % by the clock and
{noise[1]} % of CPU time, {found.cases[0].studies:,} studies of each kind, at the looks of *long*.
Each of the two is a family by itself, and a study ends once the wall-clock time is decided:

{table(head, rows)}

So each of the two statements is false in 5 % of equal programs, and either of them in up to 10 %:
a report that says "faster" means the wall-clock time, and names CPU time as such. What stands
beside it takes nothing from the wall-clock time. One family of both (last column, of every
{_FAMILIES}th study) would, where programs differ in how long they wait and not in CPU time.
"""


SECTION: Final = Section("CPU time", _simulate, _told, _lines)
"""Two families, and what they cost each other."""
