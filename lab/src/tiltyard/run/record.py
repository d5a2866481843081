"""What a run leaves behind, as later stages read it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf
from typing import Final, Literal

from pydantic import Field

from tiltyard.folder import HASHED
from tiltyard.frozen import Frozen
from tiltyard.host.commands import Command
from tiltyard.host.record import limits
from tiltyard.host.record.stack import DISK_UNDER_TEST as DISK_UNDER_TEST
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.model import TrialKey
from tiltyard.recipe import Recipe
from tiltyard.run.samples import Samples
from tiltyard.study.model import Covariate
from tiltyard.wire import Client, Connection, End, Hello, Interval, WarningNote


class Prepared(Frozen):
    """How a system was brought up for its turn, and what the kernel then said of it."""

    system: str
    block: int
    commands: tuple[Command, ...]
    facts: dict[str, str]
    """Names as a reader knows them: ``mount options``, ``block size``, ``device`` …"""
    failed_boots: tuple[str, ...] = ()
    """Why each boot failed that was made again before this one, a sentence each."""
    recipe: Recipe | None = None
    """Of the first turn of a system: how it is done again."""

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file that facts name: by its path, and by the fact of this system.

        The same name may stand for another file, and a study folder may be moved.
        """
        host = f" on {self.facts['host']}" if "host" in self.facts else ""
        parts = {name: fact.partition(HASHED) for name, fact in self.facts.items()}
        return {
            **{f"{path}{host}": digest for path, mark, digest in parts.values() if mark},
            **{
                f"{name} of {self.system}{host}": digest
                for name, (_, mark, digest) in parts.items()
                if mark
            },
        }


class TrialRecord(Frozen):
    """One finished trial."""

    key: TrialKey
    slot: int
    """Place in the order of the whole run, counted from 1."""
    started: str
    """UTC, ISO 8601."""
    elapsed_s: float
    outcome: Literal["done", "failed", "interrupted"]
    reason: str | None
    """Why it is not done, in one sentence."""
    hello: Hello | None
    samples: Samples
    intervals: tuple[Interval, ...]
    connections: tuple[Connection, ...]
    """How the kernel saw each TCP connection, from time to time."""
    warnings: tuple[WarningNote, ...]
    end: End | None
    telemetry: Telemetry | None = None
    """What the host's counters say beside ``end.usage``; ``None`` of a trial that was adopted after
    a kill."""
    file: str
    """Path of the verbatim stream, relative to the study folder."""
    clients: tuple[Client, ...] = ()
    """What each did, where there are several."""
    printed: tuple[str, ...] = ()
    """SHA-256 of each different output of the measured executions of a program."""
    alternated: bool = False
    """Whether its executions took turns with those of the other systems of its block."""

    @property
    def foreign_s(self) -> float | None:
        """CPU time of others; what serves the system under test is no stranger.

        Where the host does not tell who was on the CPUs that measured, that on all CPUs. ``None``
        where nobody has counted it.
        """
        if self.telemetry and self.telemetry.external_s is not None:
            return self.telemetry.external_s
        seen_s = self.end.usage.foreign_s if self.end else None
        served_s = self.telemetry.servers_s if self.telemetry else None
        return None if seen_s is None else max(0.0, seen_s - (served_s or 0.0))

    @property
    def steal_s(self) -> float | None:
        """Time that the hypervisor gave to others; ``None`` where it does not tell."""
        if self.telemetry and self.telemetry.external_steal_s is not None:
            return self.telemetry.external_steal_s
        return self.end.usage.steal_s if self.end else None

    def taken_s(self, by: Covariate) -> float | None:
        """What others had of the CPUs that measured; ``None`` where the host does not tell."""
        seen = self.telemetry
        if seen is None:
            return None
        return seen.external_s if by == "external_cpu" else seen.external_steal_s

    @property
    def watched_s(self) -> float:
        """Wall time over which ``foreign_s`` and ``steal_s`` were counted.

        Here it is the whole time of the trial by this host's clock: that of a guest stands still
        while the emulator works for it, and leaves out what goes on around the engine. Another
        host counts while its engine runs, and tells how long that was; where it has a guest or a
        server of the system, it counts over the whole trial, too.
        """
        seen = self.telemetry
        if seen and (not seen.host or seen.servers_s is not None):
            return seen.elapsed_s
        return self.end.elapsed_s if self.end else 0.0


class Reason(Frozen):
    """Why a block is disturbed: a signal beyond its limit. Nothing here comes from a result."""

    signal: str
    """Field of :class:`tiltyard.study.model.NoiseLimits`, or ``swap``, ``throttled``, ``quota``,
    ``clock``, ``kernel``."""
    system: str | None
    """Whose trial it was; ``None`` for the reference run, which stands outside all trials."""
    workload: str | None
    host: str = ""
    """The other host that it was seen on; empty: this one."""
    value: float
    limit: float
    text: str
    """In words, with both numbers."""
    usual: bool = False
    """Whether the host is so by itself: it was before the first block."""


class Amendment(Frozen):
    """What a person has changed of a plan that was frozen: never what is measured, or how."""

    keep: bool = False
    """Disturbed blocks count."""
    budget_s: float | None = None
    """Wall time of all starts together, after which no further block is begun."""

    def after(self, earlier: "Amendment") -> "Amendment":
        """Both."""
        return Amendment(
            keep=self.keep or earlier.keep,
            budget_s=earlier.budget_s if self.budget_s is None else self.budget_s,
        )


AS_PLANNED: Final = Amendment()


def out_of_the_usual(disturbed: Mapping[int, Sequence[Reason]]) -> set[int]:
    """Disturbed blocks that a replacement could mend: the host is not always so."""
    return {
        block
        for block, reasons in disturbed.items()
        if not all(reason.usual for reason in reasons)
    }  # fmt: skip


def told_briefly(reasons: Sequence[Reason]) -> str:
    """The reason that is farthest beyond its limit, and how many others there are."""
    worst = max(reasons, key=lambda reason: reason.value / reason.limit if reason.limit else inf)
    return worst.text if len(reasons) == 1 else f"{worst.text}, and {len(reasons) - 1} more"


class CalibrationNote(Frozen):
    """The calibration of this host that was in force when a study was run."""

    id: str
    date: str
    """UTC, ISO 8601."""
    resolution_percent: float
    """The smallest difference that this host could show then."""
    sentence: str


class IsolationNote(Frozen):
    """Whether others were kept off the CPUs that measure."""

    granted: bool
    text: str
    """What was done and what stays there, or why nothing was done."""


class RunRecord(Frozen):
    """Everything that the journal and the trials tell."""

    host: dict[str, str]
    """The host at first sight, at the first start."""
    record: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The system record of the host at the first start, section by section."""
    other_hosts: dict[str, dict[str, dict[str, str]]] = Field(default_factory=dict)
    """The same of other hosts that systems are on, or have their servers on."""
    host_changes: tuple[str, ...] = ()
    """What of it, or of another host, has changed during the run, a sentence each."""
    boots: tuple[str, ...] = ()
    """The boots of the host in which it was carried out."""
    began: str = ""
    """When it was begun: UTC, ISO 8601."""
    ended: str = ""
    """When the journal was written to last."""
    starts: int
    """How often the run was started; more than one means it was resumed."""
    resumed_blocks: tuple[int, ...]
    """Blocks whose trials were not all made in one go."""
    disturbed: dict[int, tuple[Reason, ...]] = Field(default_factory=dict)
    """Number of each disturbed block, with the reasons."""
    usual: dict[str, float] = Field(default_factory=dict)
    """What others did before the first block: signal → share; empty where it was not looked at."""
    amended: Amendment = AS_PLANNED
    reference_runs: int = 0
    """How often the reference run was run."""
    active_pairs: dict[int, frozenset[tuple[str, str]]] = Field(default_factory=dict)
    """Number of a block → (system, workload) that are run from it on: a look has decided the
    others."""
    calibration: CalibrationNote | None = None
    isolation: IsolationNote | None = None
    """Of the last start; ``None`` where the study does not ask for it."""
    prepared: tuple[Prepared, ...]
    trials: tuple[TrialRecord, ...]
    """In the order in which they were run."""
    stopped: str | None
    """Why the run ended, in words; ``None`` while it has not."""
    node: str = ""
    """The host of a placement that carried it out last; empty: this one."""
    lost: tuple[str, ...] = ()
    """Hosts that were lost while they carried it out, a sentence each."""
    seal: str = ""
    """Hash of the last line of the journal (:mod:`tiltyard.run.chain`): 64 hexadecimal digits."""

    @cached_property
    def by_workload(self) -> Mapping[str, tuple[TrialRecord, ...]]:
        """Workload → its trials, in the order in which they were run."""
        found: dict[str, list[TrialRecord]] = {}
        for trial in self.trials:
            found.setdefault(trial.key.workload, []).append(trial)
        return {name: tuple(trials) for name, trials in found.items()}

    @cached_property
    def blocks_begun(self) -> frozenset[int]:
        """Numbers of the blocks that have a trial."""
        return frozenset(trial.key.block for trial in self.trials)

    @property
    def quotas(self) -> dict[str, str]:
        """Host → its quota of CPU time, ``0.5 of 2 CPUs``, or empty; this host is the empty one."""
        return {
            host: limits.quota_of(record)
            for host, record in {"": self.record, **self.other_hosts}.items()
        }
