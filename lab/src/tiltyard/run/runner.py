"""Carry a plan out: block by block, resumable at any moment, with nothing left behind."""

import os

from tiltyard import __version__
from tiltyard.errors import HostLacksError, InterruptedRunError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.facts import host_facts
from tiltyard.host.ledger import Ledger, recover
from tiltyard.plan.model import Block, Plan
from tiltyard.run.adopt import adopt_trials
from tiltyard.run.context import Context
from tiltyard.run.estimate import expected_block_s, next_look
from tiltyard.run.history import History, slots
from tiltyard.run.interrupt import Interrupt
from tiltyard.run.journal import Interrupted, Journal, Looked, Started, Stopped
from tiltyard.run.lock import hold_lock
from tiltyard.run.observer import Decide, Observer
from tiltyard.run.read import read_run
from tiltyard.run.turn import run_turn
from tiltyard.run.workshop import open_systems, workshop
from tiltyard.systems.kind import System
from tiltyard.units import format_duration


def run_study(
    folder: StudyFolder,
    plan: Plan,
    engine: Engine,
    decide: Decide,
    observer: Observer,
    *,
    stop_on_failure: bool = False,
) -> str:
    """Carry a plan out, or go on with it; finished trials are never run again.

    Args:
        folder: where the journal and the trials are kept.
        plan: what to do; it is not changed.
        engine: measures.
        decide: called at each look with everything measured so far.
        observer: is told what goes on.
        stop_on_failure: stop at the first failed trial.

    Returns:
        Why the run ended, in words; at once, if it had ended earlier.

    Raises:
        InterruptedRunError: after Ctrl-C or SIGTERM; everything is taken down.
        RefusedError: if the study is being run already.
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
            with Ledger() as ledger:
                context = Context(
                    folder, plan, engine, journal, ledger, interrupt, observer, slots(plan),
                    stop_on_failure,
                )  # fmt: skip
                return _carry_on(context, decide, tuple(recovered))


def _carry_on(context: Context, decide: Decide, recovered: tuple[str, ...]) -> str:
    """From wherever the journal ends to the end of the run, or to an interrupt."""
    systems = open_systems(
        context.folder, context.plan.systems, context.ledger, context.interrupt.check
    )
    _insist_on_host(systems, context.observer)
    _begin(context, recovered)
    try:
        reason = _run_blocks(context, systems, decide)
    except InterruptedRunError:
        received = context.interrupt.received
        context.journal.append(Interrupted(by=received.name if received else "a person"))
        raise
    context.journal.append(Stopped(reason=reason))
    return reason


def _begin(context: Context, recovered: tuple[str, ...]) -> None:
    """Tell the journal that we start, and give it the trials that it missed."""
    history = context.history
    context.journal.append(
        Started(
            number=len(history.starts) + 1,
            pid=os.getpid(),
            tiltyard=__version__,
            engine=context.engine.describe().engine,
            plan_hash=context.plan.hash,
            host=host_facts(context.folder.root),
            recovered=recovered,
        )
    )
    for event in adopt_trials(context.folder, context.plan, history):
        context.journal.append(event)
        context.observer.note(f"kept {event.file}, which was finished when the run was killed")
    context.observer.started(context.plan, context.outlook)


def _run_blocks(context: Context, systems: dict[str, System], decide: Decide) -> str:
    """Block after block until a look decides, the budget is used up, or none is left."""
    plan = context.plan
    for block in plan.blocks:
        if reason := _over_budget(context, block):
            return reason
        _run_block(context, systems, block)
        if any(look.blocks == block.number for look in plan.design.looks):
            looked = _look(context, decide, block.number)
            if looked.done:
                return looked.reason
    return f"all planned blocks are done: {len(plan.blocks)}"


def _run_block(context: Context, systems: dict[str, System], block: Block) -> None:
    """What is still to be run of a block, in its order."""
    turns = [
        (turn.system, context.unfinished(block.number, turn.system, turn.workloads))
        for turn in block.turns
    ]
    if any(keys for _, keys in turns):
        context.observer.block_started(block.number, next_look(context.plan, context.history))
    for system, keys in turns:
        if keys:
            run_turn(context, systems[system], keys)


def _look(context: Context, decide: Decide, blocks: int) -> Looked:
    """Look at the data, once for each number of blocks."""
    if known := context.history.look_after(blocks):
        return known
    decision = decide(read_run(context.folder, context.plan))
    looked = Looked(blocks=blocks, done=decision.done, reason=decision.reason)
    context.journal.append(looked)
    context.observer.looked(blocks, decision)
    return looked


def _over_budget(context: Context, block: Block) -> str | None:
    """Why a block is not begun, if it is not.

    Before the first look nothing can be said, so up to there the budget is used to its end; later
    a block is begun only if it is likely to fit. A block that was begun is always completed.
    """
    plan, history = context.plan, context.history
    if plan.budget_s is None or any(key.block == block.number for key in history.finished):
        return None
    first_look = plan.design.looks[0].blocks
    needs_s = expected_block_s(plan, block, history) or 0.0
    done = block.number - 1
    if done < first_look:
        if history.spent_s < plan.budget_s:
            return None
        short = f"; too few for a verdict, which needs {first_look}"
    elif history.spent_s + needs_s <= plan.budget_s:
        return None
    else:
        short = f"; the next one would take about {format_duration(needs_s)}"
    budget = format_duration(plan.budget_s)
    return f"the budget of {budget} is used up, blocks done: {done}{short}"


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
