"""How far a study is: of each session, what is done, what failed, what is left."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from tiltyard.folder import StudyFolder
from tiltyard.frozen import Frozen
from tiltyard.plan.model import Plan
from tiltyard.run.estimate import next_look, outlook
from tiltyard.run.history import History
from tiltyard.run.lock import running_pid
from tiltyard.run.read import read_history
from tiltyard.run.record import told_briefly
from tiltyard.run.sessions import Session, sessions_of


class DisturbedBlock(Frozen):
    """A block beyond a noise limit."""

    block: int
    replaced: bool
    """Another block counts in its place; else it counts all the same."""
    reason: str


class FailedTrial(Frozen):
    """A trial that yielded nothing."""

    block: int
    system: str
    workload: str
    title: str
    """Of the workload, as people read it."""
    reason: str


class TimeLeft(Frozen):
    """How long a session may still take."""

    look: int
    """Blocks at the next look."""
    to_look_s: float
    last: int
    """Blocks at the last look."""
    to_last_s: float
    """An upper bound: a look may end the run."""


class SessionStatus(Frozen):
    """One session; most studies have one."""

    session: int
    state: Literal["not begun", "running", "interrupted", "ended"]
    ended: str
    """Why it ended; empty: it has not."""
    node: str
    """The host of a placement that carries it out; empty: this one, or none yet."""
    pid: int | None
    """The process that runs it."""
    blocks: int
    """Those that are complete and count."""
    blocks_max: int
    trials: int
    """Those that are kept."""
    disturbed: tuple[DisturbedBlock, ...]
    failed: tuple[FailedTrial, ...]
    pairs: int
    """Systems × workloads."""
    open_pairs: int | None
    """Those that a look lets go on; ``None`` before the first look and after the end."""
    left: TimeLeft | None
    """``None`` at the end, and before every workload has been run once."""


class Status(Frozen):
    """How far a study is."""

    study: str
    """Its folder."""
    question: str
    sessions: tuple[SessionStatus, ...]


def status_of(study: Path) -> Status:
    """How far a study is; looks only.

    Raises:
        UsageError: if there is no study, or its journal was changed.
    """
    folder = StudyFolder.of(study)
    sessions = sessions_of(folder)
    return Status(
        study=str(folder.root),
        question=sessions[0].plan.question,
        sessions=tuple(_session(session) for session in sessions),
    )


def _session(session: Session) -> SessionStatus:
    plan = session.plan
    history = read_history(session.folder, plan)
    course = history.course(plan)
    ended, active = history.stopped is not None, course.active_pairs
    pid = None if ended else running_pid(session.folder)
    return SessionStatus(
        session=session.number,
        state=(
            "ended"
            if ended
            else "running"
            if pid is not None
            else "interrupted"
            if history.starts
            else "not begun"
        ),
        ended=history.stopped or "",
        node=history.starts[-1].node if history.starts else "",
        pid=pid,
        blocks=len(course.counted),
        blocks_max=len(plan.blocks),
        trials=len(course.ended),
        disturbed=tuple(
            DisturbedBlock(
                block=block, replaced=block in course.replaced, reason=told_briefly(reasons)
            )
            for block, reasons in history.disturbed.items()
        ),
        failed=tuple(_failed(plan.titles, history)),
        pairs=len(plan.systems) * len(plan.workloads),
        open_pairs=len(active[max(active)]) if active and not ended else None,
        left=None if ended else _left(plan, history),
    )


def _failed(titles: Mapping[str, str], history: History) -> Iterator[FailedTrial]:
    for trial in history.finished.values():
        if trial.outcome != "done":
            key = trial.key
            yield FailedTrial(
                block=key.block,
                system=key.system,
                workload=key.workload,
                title=titles[key.workload],
                reason=trial.reason or "",
            )


def _left(plan: Plan, history: History) -> TimeLeft | None:
    found = outlook(plan, history)
    if found.left_to_look_s is None or found.left_s is None:
        return None
    return TimeLeft(
        look=next_look(plan, history),
        to_look_s=found.left_to_look_s,
        last=plan.design.looks[-1].blocks,
        to_last_s=found.left_s,
    )
