"""Where the parts of a calibration are carried out, and what holds for all of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import numpy as np

from tiltyard.analysis.quantity import collect
from tiltyard.analysis.workload import quantities_of
from tiltyard.app.freeze import frozen, place_study
from tiltyard.app.run import run_whole
from tiltyard.errors import HostLacksError, TrialsFailedError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.facts import facts_of_another
from tiltyard.host.place import Place as HostPlace
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.observer import Observer
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.stats.types import FloatArray
from tiltyard.units import count_of
from tiltyard.wire import Floor
from tiltyard_calibrate.examine import clock_of, delay_of, same_of, sensitivity_of
from tiltyard_calibrate.model import Clock, Delay, SubjectFindings
from tiltyard_calibrate.studies import (
    SHARES,
    Part,
    delays_part,
    same_part,
    sensitivity_part,
)
from tiltyard_calibrate.subjects import Place, Subject

FEWEST_BLOCKS: Final = 7
"""That an interval needs: the first look of the standard rules."""


@dataclass(frozen=True)
class Outcome:
    """A part that was carried out."""

    plan: Plan
    run: RunRecord

    @property
    def disturbed(self) -> int:
        """Blocks that something disturbed."""
        return len(self.run.disturbed)

    def log_values(self, workload: str) -> FloatArray:
        """The headline of a workload, shape (blocks, systems): nan where there is no value.

        Systems are in the order of the study. Blocks that were replaced are left out.
        """
        measured = collect(self.plan, self.run, self.plan.workload(workload))
        quantities = quantities_of(measured)
        if quantities is None:
            failed = next((t.reason for t in self.run.trials if t.reason), "no trial was made")
            raise TrialsFailedError(f"{workload}: not one trial was done: {failed}")
        kept = np.array([number not in self._replaced for number in measured.blocks])
        values: FloatArray = quantities.index.log_values[kept]
        return values

    @property
    def _replaced(self) -> frozenset[int]:
        """Numbers of the blocks that do not count."""
        limits = self.plan.noise_limits
        return frozenset(self.run.disturbed if limits and limits.disturbed == "replace" else ())

    def require_calm(self) -> None:
        """Make sure that enough blocks count.

        Raises:
            HostLacksError: if the host was too busy for them.
        """
        begun = {trial.key.block for trial in self.run.trials}
        counted = len(begun - self._replaced)
        if counted < FEWEST_BLOCKS:
            reason = next((one.text for own in self.run.disturbed.values() for one in own), "")
            raise HostLacksError(
                f"{self.plan.where} is too busy to be calibrated: {len(self._replaced)} of "
                f"{count_of(len(begun), 'block')} were disturbed ({reason}). Stop what else runs "
                "and remove the folder, or "
                "count such blocks: --keep-disturbed"
            )

    def times_ns(self, workload: str) -> FloatArray:
        """Time of an operation, shape (blocks, systems), of a workload whose headline is a rate."""
        headline = {m.name for m in self.plan.workload(workload).metrics if m.role == "headline"}
        units = {s.unit for t in self.run.trials for s in t.samples if s.metric in headline}
        assert units == {"1/s"}, f"{workload} is not measured in operations per second"
        times: FloatArray = 1e9 * np.exp(-self.log_values(workload))
        return times


def carry_out(root: Path, part: Part, engine: Engine, observer: Observer) -> Outcome:
    """Carry a part out, or go on with it; a finished one is only read.

    Args:
        root: The folder of the calibration; the part has its own folder in it.
        part: The study.
        engine: Measures.
        observer: Sees what goes on.

    Raises:
        UsageError: if another study is in the folder.
        InterruptedRunError: after Ctrl-C; everything finished is kept.
        HostLacksError: if this host cannot run it, or is too busy.
    """
    folder = StudyFolder(root / part.name)
    place_study(folder, part.text.encode())
    for name in part.directories:
        (folder.root / name).mkdir(exist_ok=True)
    if not folder.plan.exists():
        write_plan(folder, frozen(folder.study, engine, None))
    plan = read_plan(folder)
    run_whole(folder, plan, engine, observer, "all blocks are done")
    outcome = Outcome(plan, read_run(folder, plan))
    outcome.require_calm()
    return outcome


Fate = Literal["replace", "keep"]


@dataclass
class Bench:
    """Carries parts out, and keeps what it learns of the host and of the clock on the way."""

    root: Path
    engine: Engine
    observer: Observer
    disturbed: Fate
    place: HostPlace
    """The host that is calibrated."""
    floors: list[Floor] = field(default_factory=list)
    hosts: list[dict[str, str]] = field(default_factory=list)
    """The host as each part found it."""
    shortest_s: float | None = None
    """The shortest region that was timed so far."""
    last_started: str = ""
    """UTC, ISO 8601, of the latest trial."""

    def carry_out(self, part: Part) -> Outcome:
        """One part to its end; see :func:`carry_out` for errors."""
        outcome = carry_out(self.root, part, self.engine, self.observer)
        there = facts_of_another(self.place) if self.place.is_remote else outcome.run.host
        trials = outcome.run.trials
        self.floors += [trial.end.floor for trial in trials if trial.end]
        self.hosts.append(there)
        regions = [sample.elapsed_s for trial in trials for sample in trial.samples]
        self.shortest_s = min([*regions, *([self.shortest_s] if self.shortest_s else [])])
        self.last_started = max(self.last_started, *(trial.started for trial in trials))
        return outcome

    @property
    def clock(self) -> Clock:
        """The clock, as all trials so far found it."""

        def median(name: str) -> float:
            return float(np.median([getattr(floor, name) for floor in self.floors]))

        return clock_of(
            Floor(
                clock_ns=median("clock_ns"),
                clock_step_ns=median("clock_step_ns"),
                operation_ns=median("operation_ns"),
            ),
            [host["clock source"] for host in self.hosts],
            self.shortest_s,
        )


@dataclass
class SubjectBench:
    """One subject, round by round; a round yields several comparisons of each sort."""

    bench: Bench
    subject: Subject
    place: Place
    same: list[FloatArray] = field(default_factory=list)
    """Logarithms under two names, each of shape (blocks, 2)."""
    delayed: list[FloatArray] = field(default_factory=list)
    """Times of an operation in ns, each of shape (blocks, 1 + delays)."""
    doubled: list[FloatArray] = field(default_factory=list)
    """Logarithms with calls as they are and twice as long, shape (blocks, 2)."""
    operation_ns: float | None = None
    """As the first round found it: the delays are cut from it, and then stay."""
    disturbed: int = 0

    def round(self, number: int, *, delays: bool) -> None:
        """The parts of one round, counted from 1; known delays if they are wanted in it."""
        disturbed, name = self.bench.disturbed, self.subject.name
        outcome = self.bench.carry_out(same_part(self.subject, self.place, number, disturbed))
        self.same.append(outcome.log_values(name))
        self.disturbed += outcome.disturbed
        if self.subject.call is None or not delays:
            return
        if self.operation_ns is None:
            self.operation_ns = float(np.nanmedian(outcome.times_ns(name)))
            part = sensitivity_part(self.subject, self.place, self.operation_ns, disturbed)
            self.doubled.append(self.bench.carry_out(part).log_values(name))
        part = delays_part(self.subject, self.place, number, self.operation_ns, disturbed)
        self.delayed.append(self.bench.carry_out(part).times_ns(name))

    def findings(self) -> SubjectFindings:
        """What all rounds together say."""
        subject = self.subject
        call = subject.call or ""
        return SubjectFindings(
            name=subject.name,
            about=subject.about,
            use=subject.use,
            kind=self.place.kind,
            parameters=subject.parameters,
            operation_ns=self.operation_ns,
            same=same_of(np.concatenate(self.same), self.disturbed),
            sensitivity=sensitivity_of(call, self.doubled[0]) if self.doubled else None,
            delays=tuple(self._delays()),
        )

    def _delays(self) -> list[Delay]:
        """Each known delay against none, in the same blocks."""
        if not self.delayed or self.operation_ns is None:
            return []
        times = np.concatenate(self.delayed)
        found = [
            delay_of(max(1, round(share * self.operation_ns)), times[:, 0], times[:, n])
            for n, share in enumerate(SHARES, start=1)
        ]
        return [delay for delay in found if delay is not None]
