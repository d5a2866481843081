"""What a run tells while it goes on, and what it asks.

Both are injected, so that a run needs neither a terminal nor statistics.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.record import RunRecord, TrialRecord


class Decision(Protocol):
    """What the analysis says at a look."""

    @property
    def done(self) -> bool:
        """Everything is decided: no further block is needed."""

    @property
    def reason(self) -> str:
        """Why, or what is still open, in one sentence."""

    @property
    def going_on(self) -> Collection[tuple[str, str]]:
        """(system, workload) that take part in something that is still open."""


Decide = Callable[[RunRecord], Decision]


@dataclass(frozen=True)
class Outlook:
    """How far the run is, and how long it may still take."""

    trials_done: int
    trials_to_look: int
    """Planned trials up to the next look, those that are done included."""
    trials_total: int
    """Planned trials up to the last look."""
    left_to_look_s: float | None
    """``None`` while nothing is known yet."""
    left_s: float | None
    """Up to the last look; an upper bound, because a look may end the run."""


class Observer(Protocol):
    """A display. Calls come from the thread that runs, between trials or once per engine line."""

    def started(self, plan: Plan, outlook: Outlook) -> None:
        """The run begins, or goes on."""

    def note(self, text: str) -> None:
        """Something a person should know."""

    def block_started(self, block: int, of: int) -> None:
        """A block begins; ``of`` is the number of blocks at the next look."""

    def preparing(self, system: str) -> None:
        """A system is being brought up."""

    def trial_started(self, key: TrialKey, slot: int, outlook: Outlook) -> None:
        """A trial begins."""

    def progress(self, fraction: float, what: str) -> None:
        """Share of the trial that is done, 0 … 1."""

    def trial_finished(self, record: TrialRecord, outlook: Outlook) -> None:
        """A trial is on disk."""

    def looked(self, blocks: int, decision: Decision) -> None:
        """The data were looked at after so many blocks."""
