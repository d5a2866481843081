"""The sessions of a study: which one is carried out next, and all of them as one record.

Each session is a run of its own, with its own journal; what is asked here of several sessions is
answered from what each of them has left behind.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from tiltyard.errors import BusyError, UsageError
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.host.processes import boot_id
from tiltyard.host.record import changes
from tiltyard.plan.model import Plan
from tiltyard.plan.sessions import pooled_plan, session_plan
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.history import History
from tiltyard.run.read import read_history, read_run
from tiltyard.run.record import RunRecord
from tiltyard.units import count_of

APART_H: Final = 8.0
"""Hours after which a session in the same boot counts as another one: another day's work."""
NEW_SESSION: Final = "--new-session"
"""The option that begins one regardless."""


@dataclass(frozen=True)
class Session:
    """A group of blocks with what they share, carried out by itself."""

    folder: StudyFolder
    plan: Plan

    @property
    def number(self) -> int:
        """Counted from 1."""
        return self.plan.session


@dataclass(frozen=True)
class Recorded:
    """The same with its record."""

    plan: Plan
    run: RunRecord

    @property
    def number(self) -> int:
        """Counted from 1."""
        return self.plan.session

    @property
    def is_begun(self) -> bool:
        """Whether it was started."""
        return self.run.starts > 0

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good."""
        return self.run.stopped is not None


def sessions_of(folder: StudyFolder) -> tuple[Session, ...]:
    """Every session that has a plan, those that were added included; at least the first one.

    Raises:
        UsageError: if a plan cannot be read, or does not follow from that of the first session.
    """
    first = read_plan(folder)
    found = [Session(folder, first)]
    while (own := folder.session(len(found) + 1)).plan.exists():
        plan = read_plan(own)
        if (plan.first_plan, plan.session) != (first.hash, len(found) + 1):
            raise UsageError(
                f"{own.plan}: is not the plan of session {len(found) + 1} of {folder.plan}. "
                "Fix: put it back from a copy"
            )
        found.append(Session(own, plan))
    if len(found) < first.design.sessions:
        number = len(found) + 1
        raise UsageError(
            f"{folder.session(number).plan}: the plan of session {number} of "
            f"{first.design.sessions} is gone. Fix: put it back from a copy"
        )
    return tuple(found)


def write_sessions(folder: StudyFolder, first: Plan) -> None:
    """Freeze the later sessions that a plan has; those that are there stay as they are."""
    for number in range(2, first.design.sessions + 1):
        _write_session(folder, first, number)


def hashes_before(folder: StudyFolder, session: int) -> dict[str, str]:
    """What the sessions before one have used, the first of each.

    See :attr:`tiltyard.run.record.Prepared.hashes`.
    """
    found: dict[str, str] = {}
    for history in _histories_before(folder, session):
        found = history.first_hashes | found
    return found


def executions_before(folder: StudyFolder, session: int) -> dict[str, int]:
    """The executions in each trial of the sessions before one: those of the first."""
    found: dict[str, int] = {}
    for history in _histories_before(folder, session):
        found = history.executions | found
    return found


def _histories_before(folder: StudyFolder, session: int) -> Iterator[History]:
    study = StudyFolder(folder.study_root)
    return (History.read(study.session(number).journal) for number in range(1, session))


def _write_session(folder: StudyFolder, first: Plan, number: int) -> Session:
    own = folder.session(number)
    own.root.mkdir(parents=True, exist_ok=True)
    if not own.plan.exists():
        write_whole(own.study, folder.study.read_bytes())
        write_plan(own, session_plan(first, number))
    return Session(own, read_plan(own))


def next_session(folder: StudyFolder, *, new: bool = False) -> Session:
    """The session that a run carries out now: the one that is not finished, or the next one.

    Args:
        folder: the study.
        new: begin the next session now, whenever the one before ended; add one after the last.

    Returns:
        The last session where all have ended and none is to be added.

    Raises:
        BusyError: if the one before ended too short a time ago, in the same boot.
        UsageError: if a new one is asked for and one is not finished.
    """
    sessions = sessions_of(folder)
    before: History | None = None
    for session in sessions:
        history = read_history(session.folder, session.plan)
        if history.stopped is None:
            _require_next(session, before, history, folder, new=new)
            return session
        before = history
    if new:
        return _write_session(folder, sessions[0].plan, len(sessions) + 1)
    return sessions[-1]


def _require_next(
    session: Session, before: History | None, own: History, folder: StudyFolder, *, new: bool
) -> None:
    if own.starts:
        if new:
            raise UsageError(
                f"{NEW_SESSION}: session {session.number} is not finished. "
                f"Go on with it first: tiltyard run {folder.root}"
            )
        return
    if before is None:
        return
    from_then = apart_from(before.last_at)
    if not new and boot_id() in before.boots and datetime.now(UTC) < from_then:
        raise BusyError(
            f"{folder.root}: session {session.number - 1} has ended in this boot, less than "
            f"{APART_H:g} h ago, and one more now would share its luck. Run the same command "
            f"after a boot, or from {from_then:%Y-%m-%d %H:%M} UTC on; or now: {NEW_SESSION}"
        )


def apart_from(ended: str) -> datetime:
    """From when on a session in the same boot is another one."""
    return datetime.fromisoformat(ended) + timedelta(hours=APART_H)


def replicates(groups: Sequence[Recorded]) -> dict[int, int]:
    """Session → the first one that shares its luck: that of its host, or of its boot and day.

    Sessions in one boot are of different days where the later one began :data:`APART_H` after the
    end of the one before; where boots are not known, only that tells.
    """
    found: dict[int, int] = {}
    hosts: dict[str, int] = {}
    before: Recorded | None = None
    for group in groups:
        own = group.number
        if group.is_begun and group.run.node:
            own = hosts.setdefault(group.run.node, own)
        elif group.is_begun and before and not _is_another(before.run, group.run):
            own = found[before.number]
        found[group.number] = own
        before = group if group.is_begun else before
    return found


def _is_another(before: RunRecord, own: RunRecord) -> bool:
    """Whether a session is of another boot or another day than the one before."""
    known = before.boots and own.boots
    if known and own.boots[0] not in before.boots:
        return True
    return datetime.fromisoformat(own.began) >= apart_from(before.ended)


def read_sessions(folder: StudyFolder) -> tuple[Recorded, ...]:
    """Every session that has a plan, with its record.

    Raises:
        UsageError: as :func:`tiltyard.run.read.read_run`.
    """
    return tuple(
        Recorded(session.plan, read_run(session.folder, session.plan))
        for session in sessions_of(folder)
    )


def pooled(groups: Sequence[Recorded]) -> tuple[Plan, RunRecord]:
    """Several sessions as one plan and one record; a single one is left as it is.

    Where the session is what is replicated, one that is not over counts for nothing yet.
    """
    plan = pooled_plan([group.plan for group in groups])
    first = groups[0].run
    if len(groups) == 1:
        return plan, first
    by_session = plan.design.unit == "session"
    runs = [group for group in groups if group.is_over or not by_session]
    begun = [group.run for group in groups if group.is_begun]
    slots, trials = 0, []
    for group in runs:
        root = "" if group.number == 1 else f"sessions/{group.number}/"
        for trial in group.run.trials:
            file = trial.file and f"{root}{trial.file}"
            trials.append(trial.model_copy(update={"slot": slots + trial.slot, "file": file}))
        slots += max((trial.slot for trial in group.run.trials), default=0)
    latest = begun[-1] if begun else first
    return plan, first.model_copy(
        update={
            "host_changes": tuple(_host_changes(groups)),
            "other_hosts": {k: v for run in reversed(begun) for k, v in run.other_hosts.items()},
            "boots": tuple(dict.fromkeys(boot for run in begun for boot in run.boots)),
            "ended": latest.ended,
            "starts": sum(run.starts for run in begun),
            "resumed_blocks": tuple(block for run in begun for block in run.resumed_blocks),
            "disturbed": {k: v for group in runs for k, v in group.run.disturbed.items()},
            "active_pairs": _active_pairs(runs),
            "calibration": latest.calibration,
            "isolation": latest.isolation,
            "prepared": tuple(one for group in runs for one in group.run.prepared),
            "trials": tuple(trials),
            "stopped": _stopped(groups),
            "seal": seal_of([run.seal for run in begun]),
        }
    )


def seal_of(seals: Sequence[str]) -> str:
    """One seal for several journals: that of the only one, else the SHA-256 of all in order."""
    if len(seals) < 2:
        return "".join(seals)
    return hashlib.sha256("".join(seals).encode()).hexdigest()


def _stopped(groups: Sequence[Recorded]) -> str | None:
    """Why all of them have ended."""
    if not all(group.is_over for group in groups):
        return None
    return f"all {count_of(len(groups), 'session')} are done"


def _active_pairs(groups: Sequence[Recorded]) -> dict[int, frozenset[tuple[str, str]]]:
    """What a look of one session leaves out is left out in that session only."""
    found: dict[int, frozenset[tuple[str, str]]] = {}
    for group in groups:
        plan = group.plan
        every = [(s.name, w.spec.name) for s in plan.systems for w in plan.workloads]
        found[plan.sequence[0].number] = frozenset(every)
        found.update(group.run.active_pairs)
    return found if any(group.run.active_pairs for group in groups) else {}


def _host_changes(groups: Sequence[Recorded]) -> Iterator[str]:
    """Within sessions, and from one to the next."""
    before = groups[0].run
    for group in groups:
        for change in changes(before.record, group.run.record) if group.is_begun else ():
            yield f"Session {group.number}: {change}"
        for change in group.run.host_changes:
            yield change if group.number == 1 else f"Session {group.number}, {change}"
        before = group.run if group.is_begun else before
