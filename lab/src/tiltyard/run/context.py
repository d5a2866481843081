"""What every step of a run needs."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from tiltyard.executors.engine import ConditionsWanted, Engine, Inject
from tiltyard.executors.runner import Runner, Runners
from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import Place
from tiltyard.host.telemetry import Watches
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.estimate import outlook
from tiltyard.run.history import History, Slots
from tiltyard.run.interrupt import Interrupt
from tiltyard.run.journal import Journal, TrialFinished
from tiltyard.run.observer import Observer, Outlook
from tiltyard.run.progress import PlanProgress
from tiltyard.run.read import read_trial
from tiltyard.run.record import TrialRecord
from tiltyard.run.samples import SampleTable
from tiltyard.run.sizing import Tried
from tiltyard.run.stream import EMPTY, Stream
from tiltyard.systems import kind
from tiltyard.systems.kind import Up

_BRIEF_S: Final = 1.0


@dataclass(frozen=True)
class Context:
    """One start of a run."""

    folder: StudyFolder
    plan: Plan
    engine: Engine
    journal: Journal
    history: History
    """What the journal says now: it receives each line."""
    ledger: Ledger
    interrupt: Interrupt
    observer: Observer
    slots: Slots
    stop_on_failure: bool
    wait_s: float
    """How long to wait for what others have at the moment."""
    place: Place
    """The host of a placement that carries this session out; else this one."""
    watches: Watches
    """Of trials that come close after each other."""
    runners: Runners
    """Execute trials, and end with what they are behind: the turn of a system, or the block."""
    apart: tuple[str, ...] = ()
    """Starts what measures where others are kept off its CPUs."""
    records: dict[TrialKey, TrialRecord] = field(default_factory=dict)
    """Trials that this start has finished of the block that it is at."""
    tried: dict[str, list[Tried]] = field(default_factory=dict)
    """Workload → what systems have told of its executions in this block, before their trials."""

    @cached_property
    def conditions(self) -> ConditionsWanted:
        """What the engine shall bring about; isolation is the lab's own matter."""
        asked = self.plan.conditions.model_dump(exclude={"isolate"})
        return ConditionsWanted(**asked, settle=self.plan.clock == "instructions")

    @cached_property
    def injected(self) -> dict[str, Inject | None]:
        """System → the delay that it asks for."""
        systems = self.plan.systems
        return {one.name: kind(one.kind).inject(one.settings) for one in systems}

    def runner(self, up: Up | None = None, workload: str = "", place: int = 0) -> Runner:
        """What executes trials on a system that is up, or on this host.

        Args:
            up: the system.
            workload: what is executed; by default one of our own engine.
            place: which of several that are there at the same time.
        """
        if up is None:
            return self.runners.of(self._own)
        engine = self.engine.of(workload)
        if not up.engine:
            argv = (*self.apart, *up.prefix, str(engine.path))
        elif engine is self.engine:
            argv = (*up.prefix, *up.engine)
        else:
            argv = (*up.prefix, *up.another(engine.path))
        return self.runners.of(argv, place, is_far=up.place.is_remote)

    def leave(self) -> None:
        """End the runners behind a system, which is to change or to go."""
        self.runners.close(self._own)

    def renew_runners(self) -> None:
        """End all: what the engine executes itself meets another layout of memory in each block.

        A program has a layout of its own in each execution.
        """
        if any(workload.program is None for workload in self.plan.workloads):
            self.runners.renew(self._own)
        else:
            self.leave()

    @property
    def _own(self) -> tuple[str, ...]:
        """Starts a runner on this host."""
        return (*self.apart, str(self.engine.path))

    @cached_property
    def programs_from(self) -> Path:
        """Where relative paths of programs begin."""
        return (self.folder.study_root / self.plan.paths_from).resolve()

    @property
    def course(self) -> PlanProgress:
        """How far the plan is carried out now."""
        return self.history.course(self.plan)

    @property
    def outlook(self) -> Outlook:
        """How far the run is now."""
        return outlook(self.plan, self.history)

    def is_brief(self, workload: str) -> bool:
        """Whether a workload executes a program, and its trials take less than a second.

        What is done around such trials is to take less than they do.
        """
        known = self.history.times_of_workload.get(workload)
        is_program = self.plan.workload(workload).program is not None
        return is_program and known is not None and known.median_s < _BRIEF_S

    def finish(self, event: TrialFinished, stream: Stream = EMPTY, *, waits: bool = False) -> None:
        """Write down that a trial is finished, and tell it.

        Args:
            event: how it went.
            stream: what is in its file.
            waits: the line may be on disk later.
        """
        self.journal.append(event, waits=waits)
        record = self.records[event.key] = stream.record(event, SampleTable())
        self.observer.trial_finished(record, self.outlook)

    def record_of(self, event: TrialFinished) -> TrialRecord:
        """A finished trial of the block that the run is at."""
        return self.records.get(event.key) or read_trial(self.folder, self.plan, event)
