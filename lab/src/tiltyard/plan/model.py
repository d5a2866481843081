"""The plan: everything that is decided before the first trial."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue

from tiltyard.folder import sha256
from tiltyard.frozen import Frozen
from tiltyard.study.model import (
    Analysis,
    Clock,
    ConditionsSpec,
    Covariate,
    NoiseLimits,
    Placement,
    Scaled,
    SystemSpec,
    WorkloadSpec,
)
from tiltyard.study.program import CPU_TIME, WALL_TIME, Readings
from tiltyard.units import count_of
from tiltyard.wire import MetricCard

if TYPE_CHECKING:
    from tiltyard.stats.sequential import Spending

FORMAT = 1
STREAM_SUFFIX = ".jsonl.gz"
"""What the name of a trial's file ends in: lines of JSON, compressed (``zcat``)."""

MAX_DISTURBED_SHARE = 0.2
"""With a larger share of disturbed blocks a session says more about these than about systems."""

_ROUNDING = 1e-9
"""More than the error of a quotient of small numbers, less than any share of a block."""

Unit = Literal["block", "session"]
"""What is replicated: one round, or all rounds of one day or boot."""


class Look(Frozen):
    """One of the moments at which the data are looked at."""

    blocks: int
    c: int
    """Walsh averages cut off at either end of the sorted list; see ``stats.sequential``."""
    t: float | None = None
    """Where this look is by Student's t instead: the critical value, and ``c`` means nothing."""


class Design(Frozen):
    """The statistical rules, fixed beforehand."""

    profile: str
    """Names the table of its looks: that of the study, or of families of that; see
    ``stats.looks``."""
    strict: bool
    looks: tuple[Look, ...]
    alpha: float
    """Overall two-sided error rate of the looks for one comparison."""
    equivalent_within: float
    false_discovery_rate: float
    futility: bool = False
    """Stop a comparison that is not likely to be decided by the last look."""
    sessions: int = 1
    """How many sessions the verdicts rest on, as planned."""
    unit: Unit = "block"
    """What is counted by the looks: blocks, or sessions with the mean of their blocks."""
    adjust_for: tuple[Covariate, ...] = ()
    """Covariates of the adjusted analysis; none: there is none."""
    verdict: Analysis = "unadjusted"
    """The analysis whose verdicts are those of the study; the other one stands beside it."""

    def amount(self, units: int) -> str:
        """So many of what the looks count: ``20 blocks``, ``21 blocks of 3 sessions``."""
        words = count_of(units, self.unit)
        if self.sessions == 1 or self.unit == "session":
            return words
        return f"{words} of {count_of(self.sessions, 'session')}"

    @property
    def spending(self) -> "Spending":
        """How one comparison spends its error rate over the looks."""
        from tiltyard.stats.sequential import Spending

        looks = tuple((look.blocks, look.c) for look in self.looks)
        return Spending(self.profile, self.strict, looks)


class Further(Frozen):
    """Blocks that are made only while they cost little, where no budget was asked for."""

    beyond: int
    """So many blocks are made whatever time they take."""
    within_s: float
    """Wall time after which no block is begun beyond them."""


class Turn(Frozen):
    """One system's turn in a block: it is brought up, meets every workload, is taken down."""

    system: str
    workloads: tuple[str, ...]


class Block(Frozen):
    """One round: every system meets every workload once."""

    number: int
    """Counted from 1."""
    turns: tuple[Turn, ...]
    session: int = 1
    """Which of the sessions it belongs to, counted from 1."""


class PlannedWorkload(Frozen):
    """A workload with what the engine made of it, so that later stages need no engine."""

    spec: WorkloadSpec
    about: str
    lineage: str
    timing: str
    effective: dict[str, object]
    hash: str
    """The engine's hash of the effective configuration."""
    metrics: tuple[MetricCard, ...]
    grid: tuple[str, ...]
    target: Literal["directory", "far"] = "directory"
    """What it works on."""
    warm_up_s: float = 0.0
    """Left out at the start of each trial, as a pilot found; 0: nothing."""
    doubled: dict[str, JsonValue] | None = None
    """Parameters for twice the work, where instructions are counted: every other trial has them.
    ``None`` where they are not, and where no amount can be doubled."""
    title: str = ""
    """As people read it; empty: by its name, where the study gives it one."""
    program: dict[str, JsonValue] | None = None
    """Of a program: the parameters of the engine's workload that executes it, paths as typed."""
    readings: Readings | None = None
    """What is read of what a program prints; ``None``: nothing."""

    @property
    def display(self) -> str:
        """What people read: the title, else the name."""
        return self.title or self.spec.name

    @property
    def has_cpu_time(self) -> bool:
        """Whether the CPU time of a program is compared beside its wall-clock time."""
        roles = {card.name: card.role for card in self.metrics}
        return (roles.get(WALL_TIME), roles.get(CPU_TIME)) == ("headline", "detail")

    @property
    def amounts(self) -> int:
        """How many trials make one measurement."""
        return 1 if self.doubled is None else 2

    @property
    def trials(self) -> int:
        """Trials in each turn."""
        return (self.spec.trials or 1) * self.amounts

    def parameters(self, repeat: int) -> dict[str, JsonValue]:
        """Those of one trial of a turn, counted from 1, as the plan has them."""
        if self.program is not None:
            return self.program
        return self.doubled if self.doubled and repeat % 2 == 0 else self.spec.parameters

    def completes(self, repeat: int) -> bool:
        """Whether a measurement is complete with that trial of a turn."""
        return repeat % self.amounts == 0


class TrialKey(Frozen):
    """Names one trial: one workload on one system in one block."""

    block: int
    system: str
    workload: str
    repeat: int = 1
    """Counted from 1 within the turn."""

    @property
    def file_name(self) -> str:
        """Name of its file in ``trials/``; safe for any system name."""
        words = f"{self.system}-{self.workload}"
        safe = "".join(ch if ch.isalnum() or ch in "-._" else "_" for ch in words)
        again = f"-r{self.repeat}" if self.repeat > 1 else ""
        return f"b{self.block:03}-{safe}-{sha256(words.encode())[:6]}{again}{STREAM_SUFFIX}"


class Plan(Frozen):
    """Frozen once; a run never edits it."""

    format: int
    tiltyard: str
    engine: str
    created: str
    """UTC, ISO 8601."""
    study_sha256: str
    question: str
    decide: str | None
    asks: str | None = None
    """The factor that the question is about, where the study names it."""
    seed: int
    systems: tuple[SystemSpec, ...]
    baseline: str
    workloads: tuple[PlannedWorkload, ...]
    design: Design
    conditions: ConditionsSpec
    budget_s: float | None
    further: Further | None = None
    """``None``: with a budget, and where no look is so late."""
    blocks: tuple[Block, ...]
    """All blocks up to the last look, in order."""
    spares: tuple[Block, ...] = ()
    """Blocks that take the place of disturbed ones and make up for failed trials, in order; their
    numbers go on from the last."""
    noise_limits: NoiseLimits | None = None
    """``None``: no block is disturbed."""
    placement: Placement | None = None
    """Hosts that carry it out, each a session; ``None``: this host does."""
    scaled: Scaled | None = None
    """``None``: the study is carried out as it was written."""
    session: int = 1
    """Which session it is the plan of."""
    paths_from: str = ""
    """Where relative paths of programs begin, relative to the study folder; empty: there."""
    first_plan: str = ""
    """Of a later session: hash of the first one's plan, which it follows from."""
    plugins: dict[str, str] = Field(default_factory=dict)
    """Packages that have a part in it → their versions."""

    def document(self) -> bytes:
        """The plan as it is written to ``plan.json``."""
        return f"{self.model_dump_json(indent=2)}\n".encode()

    @property
    def hash(self) -> str:
        """SHA-256 of the plan as written: what ``sha256sum plan.json`` prints."""
        return sha256(self.document())

    @property
    def sequence(self) -> tuple[Block, ...]:
        """Every block that may be run, in order: the spares come last."""
        return (*self.blocks, *self.spares)

    @property
    def where(self) -> str:
        """Where it is measured, as a sentence has it: ``this host``, ``bench@srv1``."""
        named = dict.fromkeys(
            str(host)
            for one in self.systems
            for host in (one.settings.get("host") or "this host", one.settings.get("server"))
            if host
        )
        if self.placement or len(named) > 2:
            return "several hosts"
        return " and ".join(named) or "this host"

    @property
    def is_of_one_host(self) -> bool:
        """Whether all systems are on the same one."""
        return not self.placement and len({one.settings.get("host") for one in self.systems}) <= 1

    @property
    def is_remote(self) -> bool:
        """Whether all systems are on other hosts: this one has no part in what is measured."""
        far = [bool(self.placement or one.settings.get("host")) for one in self.systems]
        return bool(far) and all(far)

    @property
    def clock(self) -> Clock:
        """What the clock of all of its systems counts."""
        return self.systems[0].clock if self.systems else "time"

    def system(self, name: str) -> SystemSpec:
        """The system of that name."""
        return next(system for system in self.systems if system.name == name)

    def workload(self, name: str) -> PlannedWorkload:
        """The workload of that name."""
        return next(workload for workload in self.workloads if workload.spec.name == name)

    @property
    def most_clients(self) -> int:
        """So many work at once in the workload that has the most of them."""
        return max((len(workload.spec.clients) for workload in self.workloads), default=0) or 1

    @property
    def titles(self) -> dict[str, str]:
        """Name of a workload → what people read."""
        return {workload.spec.name: workload.display for workload in self.workloads}

    @property
    def trials_in_a_turn(self) -> dict[str, int]:
        """Name of each workload → how many trials it has in a turn."""
        return {workload.spec.name: workload.trials for workload in self.workloads}

    def trials_of(self, block: Block) -> Iterator[TrialKey]:
        """The trials of a block in the order in which they run."""
        for turn in block.turns:
            yield from self.trials_in(block.number, turn)

    def trials_in(self, block: int, turn: Turn) -> Iterator[TrialKey]:
        """The trials of a turn in order: every workload once, then those that have more trials."""
        trials = self.trials_in_a_turn
        for repeat in range(1, max((trials[name] for name in turn.workloads), default=0) + 1):
            for name in turn.workloads:
                if repeat <= trials[name]:
                    yield TrialKey(block=block, system=turn.system, workload=name, repeat=repeat)


def spares_for(blocks: int) -> int:
    """Largest number of spares s for which s of ``blocks`` + s is no more than the allowed share.

    So 20 blocks have 5 spares, 7 have 1.
    """
    return int(blocks * MAX_DISTURBED_SHARE / (1 - MAX_DISTURBED_SHARE) + _ROUNDING)
