"""Carry a plan out: block by block, resumable at any moment, with nothing left behind."""

import os

from tiltyard import __version__
from tiltyard.errors import HostLacksError, InterruptedRunError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.facts import host_facts
from tiltyard.host.isolation import isolate
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.place import UnreachableError
from tiltyard.host.record import changes
from tiltyard.plan.model import Plan
from tiltyard.run.adopt import adopt_trials
from tiltyard.run.block import run_block
from tiltyard.run.boot import arrive, insist_allowed
from tiltyard.run.calibrated import calibration_note
from tiltyard.run.context import Context
from tiltyard.run.ending import ending_before, ending_of
from tiltyard.run.history import History, slots
from tiltyard.run.host_record import host_record
from tiltyard.run.interrupt import Interrupt
from tiltyard.run.journal import Interrupted, Isolated, Journal, Looked, Started, Stopped
from tiltyard.run.lock import hold_lock
from tiltyard.run.observer import Decide, Observer
from tiltyard.run.read import read_run
from tiltyard.run.record import IsolationNote
from tiltyard.run.workshop import open_systems, workshop
from tiltyard.systems.kind import System


def run_study(
    folder: StudyFolder,
    plan: Plan,
    engine: Engine,
    decide: Decide,
    observer: Observer,
    *,
    stop_on_failure: bool = False,
    allow_reboot: bool = False,
) -> str:
    """Carry a plan out, or go on with it; finished trials are never run again.

    Args:
        folder: where the journal and the trials are kept.
        plan: what to do; it is not changed.
        engine: measures.
        decide: called at each look with everything measured so far.
        observer: is told what goes on.
        stop_on_failure: stop at the first failed trial.
        allow_reboot: boot this host, where the study asks for it.

    Returns:
        Why the run ended, in words; at once, if it had ended earlier.

    Raises:
        InterruptedRunError: after Ctrl-C or SIGTERM; everything is taken down.
        RefusedError: if the study is being run already, or would boot this host unasked.
        BootingError: if this host is being booted; the run goes on by itself.
        HostLacksError: if a system cannot come up here; nothing was changed.
    """
    go_on = f"Everything finished is kept. Go on with: tiltyard run {folder.root}"
    with hold_lock(folder), workshop(folder), Interrupt(go_on) as interrupt:
        recovered = recover()
        journal, torn = Journal.open(folder.journal)
        with journal:
            for note in (*recovered, *_torn_note(folder, torn)):
                observer.note(note)
            history = History(journal.entries)
            _insist_on_plan(folder, plan, history)
            if history.stopped is not None:
                return history.stopped
            insist_allowed(folder, plan, allowed=allow_reboot)
            with Ledger(study=folder.root) as ledger:
                arrive(ledger)
                context = Context(
                    folder, plan, engine, journal, ledger, interrupt, observer, slots(plan),
                    stop_on_failure,
                )  # fmt: skip
                reason = _carry_on(context, decide, tuple(recovered))
                _let_go(ledger, observer)
                return reason


def _carry_on(context: Context, decide: Decide, recovered: tuple[str, ...]) -> str:
    """From wherever the journal ends to the end of the run, or to an interrupt."""
    systems = open_systems(
        context.folder,
        context.plan.systems,
        context.ledger,
        context.interrupt.check,
        context.observer.note,
    )
    _insist_on_host(systems, context.observer)
    _begin(context, recovered)
    _isolate(context)
    try:
        reason = _run_blocks(context, systems, decide)
    except InterruptedRunError:
        received = context.interrupt.received
        context.journal.append(Interrupted(by=received.name if received else "a person"))
        raise
    context.journal.append(Stopped(reason=reason))
    return reason


def _let_go(ledger: Ledger, observer: Observer) -> None:
    """What is left on another host that is not reached does not undo a run; it stays recorded."""
    try:
        ledger.close()
    except UnreachableError as error:
        observer.note(str(error))


def _begin(context: Context, recovered: tuple[str, ...]) -> None:
    """Tell the journal that we start, and give it the trials that it missed."""
    history = context.history
    calibration = calibration_note(context.plan)
    engine = context.engine.describe().engine
    record = host_record(context.folder.root, engine)
    for last in history.starts[-1:]:
        for change in changes(last.record, record):
            context.observer.note(f"The host has changed since the last start: {change}")
    context.journal.append(
        Started(
            number=len(history.starts) + 1,
            pid=os.getpid(),
            tiltyard=__version__,
            engine=engine,
            plan_hash=context.plan.hash,
            host=host_facts(record),
            record=record,
            recovered=recovered,
            calibration=calibration,
        )
    )
    for event in adopt_trials(context.folder, context.plan, history):
        context.journal.append(event)
        context.observer.note(f"kept {event.file}, which was finished when the run was killed")
    context.observer.started(context.plan, context.outlook)
    if calibration is not None:
        context.observer.note(calibration.sentence)


def _isolate(context: Context) -> None:
    """Keep others off the CPUs that measure, if the study wants it; the ledger takes it back."""
    asked = context.plan.conditions
    if not asked.isolate:
        return
    found = isolate(context.ledger, asked.cpus)
    note = IsolationNote(granted=found.granted, text=found.text)
    context.journal.append(Isolated(note=note))
    context.observer.note(f"{'Isolation' if found.granted else 'No isolation'}: {found.text}")


def _run_blocks(context: Context, systems: dict[str, System], decide: Decide) -> str:
    """Block after block until a look decides, the budget is used up, or none is left."""
    looks = [look.blocks for look in context.plan.design.looks]
    for block in context.plan.sequence:
        if reason := ending_before(context, block):
            return reason
        run_block(context, systems, block)
        course = context.course
        if block.number not in course.counted:
            continue
        done = course.counted.index(block.number) + 1
        if done in looks and (looked := _look(context, decide, done)).done:
            return looked.reason
        if done == looks[-1]:
            break
    return ending_of(context.course)


def _look(context: Context, decide: Decide, blocks: int) -> Looked:
    """Look at the data, once for each number of blocks that count."""
    if known := context.history.look_after(blocks):
        return known
    decision = decide(read_run(context.folder, context.plan))
    looked = Looked(
        blocks=blocks,
        done=decision.done,
        reason=decision.reason,
        going_on=tuple(sorted(decision.going_on)),
    )
    context.journal.append(looked)
    context.observer.looked(blocks, decision)
    return looked


def _insist_on_host(systems: dict[str, System], observer: Observer) -> None:
    """Refuse to begin what cannot end well."""
    for name, system in systems.items():
        for problem in system.problems():
            text = f"{name}: {problem.text}" + (f"; {problem.remedy}" if problem.remedy else "")
            if problem.severity == "error":
                raise HostLacksError(text)
            observer.note(text)


def _insist_on_plan(folder: StudyFolder, plan: Plan, history: History) -> None:
    """A journal goes with one plan."""
    if any(start.plan_hash != plan.hash for start in history.starts):
        raise UsageError(f"{folder.journal}: belongs to another plan than {folder.plan}")


def _torn_note(folder: StudyFolder, torn_bytes: int) -> list[str]:
    """What to say of a torn last line."""
    if not torn_bytes:
        return []
    return [f"{folder.journal}: the last line was torn when the run was killed; it was cut off"]
