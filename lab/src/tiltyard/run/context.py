"""What every step of a run needs."""

from dataclasses import dataclass
from pathlib import Path

from tiltyard.executors.engine import ConditionsWanted, Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import Ledger
from tiltyard.plan.model import Plan
from tiltyard.run.course import PlanProgress
from tiltyard.run.estimate import outlook
from tiltyard.run.history import History, Slots
from tiltyard.run.interrupt import Interrupt
from tiltyard.run.journal import Journal, TrialFinished
from tiltyard.run.observer import Observer, Outlook
from tiltyard.run.read import read_trial


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

    @property
    def conditions(self) -> ConditionsWanted:
        """What the engine shall bring about; isolation is the lab's own matter."""
        asked = self.plan.conditions.model_dump(exclude={"isolate"})
        return ConditionsWanted(**asked, settle=self.plan.clock == "instructions")

    @property
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

    def finish(self, event: TrialFinished) -> None:
        """Write down that a trial is finished, and tell it."""
        self.journal.append(event)
        self.observer.trial_finished(read_trial(self.folder, self.plan, event), self.outlook)
