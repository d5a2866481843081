"""What a calibration states: frozen, written as ``calibration.json``, printed as it is.

Thresholds are those of the acceptance table C1, C2, C4, C7 and C8 in ``docs/acceptance.md``.
"""

from pydantic import JsonValue

from tiltyard.folder import sha256
from tiltyard.frozen import Frozen
from tiltyard.host.calibrations import KeptCalibration

FORMAT = 1
_ID_DIGITS = 10


class Clock(Frozen):
    """The clock that everything rests on (C1)."""

    read_ns: float
    """What one reading costs."""
    step_ns: float
    """The smallest difference of two readings."""
    operation_ns: float
    """What the engine spends on an operation that does no I/O."""
    source: str
    """The kernel's clock source."""
    changed: bool
    """Whether the clock source was another one at some time during the calibration."""
    shortest_s: float | None
    """The shortest region that was timed; ``None`` while nothing was."""
    passed: bool
    """The step is at most a thousandth of that, and the source stayed."""


class Overhead(Frozen):
    """What the instrument adds to an operation, with and without timing each (C2)."""

    what: str
    """``reads of 64 KiB``."""
    operation_ns: float
    """Time of an operation, the clock being read around all of them."""
    loop_ns: float
    """What the engine itself spends on one of them: the same loop without I/O."""
    loop_share: float
    loop_allowed: float
    blocks: int
    timed_ns: float
    """What an operation takes longer if each is timed."""
    timed_low_ns: float
    timed_high_ns: float
    """95 % interval of that."""
    passed: bool | None
    """``None``: the interval of what timing costs leaves it open."""
    """The loop stays within its share, and timing costs at most 50 ns for certain."""


class Same(Frozen):
    """One system under two names, compared again and again (C4)."""

    comparisons: int
    false_verdicts: int
    """That found one of the two faster."""
    allowed: int
    """More than so many happen to a sound instrument in at most 2.5 % of calibrations."""
    equivalent: int
    """That proved equivalence."""
    uniform_p: float | None
    """Kolmogorov–Smirnov: whether p-values at 20 blocks are uniform; needs some comparisons."""
    resolution_percent: float
    """The smallest difference that 80 % of comparisons find: 1.35 times half the width of the
    interval at 20 blocks, median over the comparisons."""
    cv_percent: float
    """Standard deviation of a trial around its block."""
    blocks_disturbed: int
    passed: bool


class Delay(Frozen):
    """A known delay, injected and looked for (C7)."""

    delay_ns: int
    percent: float
    """Of the time of an operation without it, in the same blocks."""
    comparisons: int
    found: int
    """That saw the delayed system as the slower one."""
    wrong_sign: int
    covered: int
    """Whose interval contains the truth."""
    covered_needed: int
    recovered_ns: float
    """Estimate from all blocks together."""
    low_ns: float
    high_ns: float
    """95 % interval of that."""
    bias_ns: float
    """The estimate less the truth."""
    bias_allowed_ns: float
    """It passes as long as its interval reaches to within so much of the truth."""
    resolvable: bool
    """Whether the host is calm enough to demand that it be found: variation at most 3 %."""
    passed: bool


class Sensitivity(Frozen):
    """What becomes of the metric when its operations take twice as long (C8)."""

    call: str
    """Sort of call that was delayed."""
    blocks: int
    drop: float
    """Share by which the rate fell; one half, if nothing but these calls counts."""
    passed: bool
    """By 30 % at least."""


class SubjectFindings(Frozen):
    """All that was found on one workload."""

    name: str
    about: str
    use: str
    """The engine's workload."""
    kind: str
    """Kind of the systems."""
    parameters: dict[str, JsonValue]
    operation_ns: float | None
    """Median time of an operation; ``None`` where the workload does not tell."""
    same: Same | None
    sensitivity: Sensitivity | None
    delays: tuple[Delay, ...]


class Step(Frozen):
    """A known step of bandwidth, brought about by a throttle of the kernel."""

    limit: str
    """What the throttle was set to."""
    true_percent: float
    blocks: int
    percent: float
    low: float
    high: float
    """95 % interval, in percent."""
    error: float
    """Found less set, in percentage points."""
    passed: bool


class Ladder(Frozen):
    """Steps of one throttle."""

    name: str
    about: str
    full: str
    """The limit that the steps are relative to."""
    allowed: float
    """Percentage points that the interval of a step may stay away from it."""
    steps: tuple[Step, ...]
    missing: str | None
    """Why there are no steps: what this host lacks."""


class RuleRates(Frozen):
    """One way to compare, over all simulated kinds of noise; shares of all comparisons."""

    name: str
    false_low: float
    false_high: float
    """Of comparisons of equal systems: a difference was claimed."""
    covered_low: float
    covered_high: float
    """Of those: the interval holds equality."""
    power_low: float
    power_high: float
    """Of comparisons with a difference of 5 %: it was claimed."""
    blocks: float
    """Trials of each system that equal systems take, on average, at most."""


class Simulated(Frozen):
    """Error rates of the rules, by simulation (C3)."""

    paths: int
    """Comparisons of each kind."""
    seed: int
    scenarios: int
    """Kinds of noise."""
    rules: tuple[RuleRates, ...]
    known_to: float
    """Two standard errors of a share near 5 % from so many paths."""
    passed: bool
    """The standard rules claim a false difference in 4.2 to 5.5 %, whatever the noise, give or take
    what the share is known to."""


class Calibration(Frozen):
    """One calibration of one host."""

    format: int = FORMAT
    date: str
    """UTC, ISO 8601: when its last trial had ended."""
    tiltyard: str
    engine: str
    machine: str
    """:func:`tiltyard.host.calibrations.machine`."""
    kernel: str
    host: dict[str, str]
    comparisons: int
    """That were asked for."""
    keeps_disturbed: bool
    """Whether blocks counted that something disturbed."""
    clock: Clock
    overheads: tuple[Overhead, ...]
    subjects: tuple[SubjectFindings, ...]
    ladders: tuple[Ladder, ...]
    simulated: Simulated | None
    remarks: tuple[str, ...]
    """What was left out, and why."""

    @property
    def id(self) -> str:
        """Short hash of all that it states."""
        return sha256(self.document())[:_ID_DIGITS]

    def document(self) -> bytes:
        """The calibration as it is written to ``calibration.json``."""
        return self.model_dump_json(indent=1).encode()

    @property
    def false_verdicts(self) -> tuple[int, int]:
        """False verdicts, of how many comparisons."""
        found = [subject.same for subject in self.subjects if subject.same]
        return sum(s.false_verdicts for s in found), sum(s.comparisons for s in found)

    @property
    def passed(self) -> bool:
        """Whether everything that was examined is as it should be."""
        return all(one.passed is not False for one in self.examined)

    @property
    def examined(
        self,
    ) -> tuple[Clock | Overhead | Same | Delay | Sensitivity | Step | Simulated, ...]:
        """Everything that passes or does not."""
        return (
            self.clock,
            *self.overheads,
            *(subject.same for subject in self.subjects if subject.same),
            *(subject.sensitivity for subject in self.subjects if subject.sensitivity),
            *(delay for subject in self.subjects for delay in subject.delays),
            *(step for ladder in self.ladders for step in ladder.steps),
            *((self.simulated,) if self.simulated else ()),
        )

    def kept(self) -> KeptCalibration:
        """What studies on this host will quote."""
        return KeptCalibration(
            id=self.id,
            date=self.date,
            machine=self.machine,
            kernel=self.kernel,
            resolution_percent={
                subject.use: subject.same.resolution_percent
                for subject in self.subjects
                if subject.same
            },
        )


class Asked(Frozen):
    """What a folder is a calibration of; written first, so that it is gone on with the same."""

    machine: str
    kernel: str
    systems: tuple[str, ...]
    workloads: tuple[str, ...]
    keeps_disturbed: bool
