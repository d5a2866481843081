"""The plan: everything that is decided before the first trial."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from tiltyard.folder import sha256
from tiltyard.study.model import ConditionsSpec, Frozen, SystemSpec, WorkloadSpec
from tiltyard.wire import MetricCard

FORMAT = 1


class Look(Frozen):
    """One of the moments at which the data are looked at."""

    blocks: int
    c: int
    """Walsh averages cut off at either end of the sorted list; see ``stats.sequential``."""


class Design(Frozen):
    """The statistical rules, fixed beforehand."""

    profile: str
    strict: bool
    looks: tuple[Look, ...]
    alpha: float
    """Overall two-sided error rate of the looks for one comparison."""
    equivalent_within: float
    false_discovery_rate: float


class Turn(Frozen):
    """One system's turn in a block: it is brought up, meets every workload, is taken down."""

    system: str
    workloads: tuple[str, ...]


class Block(Frozen):
    """One round: every system meets every workload once."""

    number: int
    """Counted from 1."""
    turns: tuple[Turn, ...]


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
    target: Literal["directory", "far"] = Field(
        "directory", exclude_if=lambda at: at == "directory"
    )
    """What it works on. A directory is not written down, so that older plans keep their hash."""


class TrialKey(Frozen):
    """Names one trial: one workload on one system in one block."""

    block: int
    system: str
    workload: str

    @property
    def file_name(self) -> str:
        """Name of its file in ``trials/``; safe for any system name."""
        words = f"{self.system}-{self.workload}"
        safe = "".join(ch if ch.isalnum() or ch in "-._" else "_" for ch in words)
        return f"b{self.block:03}-{safe}-{sha256(words.encode())[:6]}.jsonl"


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
    seed: int
    systems: tuple[SystemSpec, ...]
    baseline: str
    workloads: tuple[PlannedWorkload, ...]
    design: Design
    conditions: ConditionsSpec
    budget_s: float | None
    blocks: tuple[Block, ...]
    """All blocks up to the last look, in order."""

    def document(self) -> bytes:
        """The plan as it is written to ``plan.json``."""
        return f"{self.model_dump_json(indent=2)}\n".encode()

    @property
    def hash(self) -> str:
        """SHA-256 of the plan as written: what ``sha256sum plan.json`` prints."""
        return sha256(self.document())

    def system(self, name: str) -> SystemSpec:
        """The system of that name."""
        return next(system for system in self.systems if system.name == name)

    def workload(self, name: str) -> PlannedWorkload:
        """The workload of that name."""
        return next(workload for workload in self.workloads if workload.spec.name == name)

    def trials_of(self, block: Block) -> Iterator[TrialKey]:
        """The trials of a block in the order in which they run."""
        for turn in block.turns:
            for workload in turn.workloads:
                yield TrialKey(block=block.number, system=turn.system, workload=workload)
