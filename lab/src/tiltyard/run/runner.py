"""Carry a plan out: block by block, resumable at any moment, with nothing left behind."""

import os
from collections import Counter
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Final

from tiltyard import __version__
from tiltyard.errors import (
    BusyError,
    HostLacksError,
    InterruptedRunError,
    TrialsFailedError,
)
from tiltyard.executors.engine import Engine
from tiltyard.executors.runner import Runners
from tiltyard.folder import StudyFolder
from tiltyard.host.facts import host_facts
from tiltyard.host.isolation import Isolation, isolate
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.place import HERE, Place
from tiltyard.host.processes import boot_id
from tiltyard.host.record import changes
from tiltyard.host.telemetry import Watch, Watches
from tiltyard.phases import phase
from tiltyard.plan.model import Block, Plan
from tiltyard.run.block import run_block
from tiltyard.run.boot import arrive, require_allowed
from tiltyard.run.calibrated import calibration_note
from tiltyard.run.context import Context
from tiltyard.run.differences import owners
from tiltyard.run.estimate import expected_block_s, outlook
from tiltyard.run.history import History, Slots, adopt_trials
from tiltyard.run.host_record import host_record
from tiltyard.run.interrupt import Interrupt
from tiltyard.run.journal import (
    Amended,
    Interrupted,
    Isolated,
    Journal,
    LevelTaken,
    Looked,
    Started,
    Stopped,
)
from tiltyard.run.lock import hold_lock
from tiltyard.run.noise_limits import level_of, told_level
from tiltyard.run.observer import Decide, Observer
from tiltyard.run.progress import PlanProgress
from tiltyard.run.read import read_run, require_plan
from tiltyard.run.record import AS_PLANNED, Amendment, IsolationNote
from tiltyard.run.rehearsal import lacking
from tiltyard.run.retry import WAIT_S, pause, retry_while_busy
from tiltyard.run.scratch_dir import open_systems, scratch_dir
from tiltyard.run.sessions import executions_before, hashes_before
from tiltyard.run.stages import Place as StagePlace
from tiltyard.run.stages import around
from tiltyard.systems.kind import System
from tiltyard.units import count_of, format_duration, listed, part_of

HOPELESS_BLOCKS: Final = 3
"""What has failed in so many blocks in the same way, and never worked, will fail in the others."""
LEVEL_S: Final = 1.0
"""How long the host is looked at before the first block: a hundred ticks of its counters."""


def ending_before(context: Context, block: Block) -> str | None:
    """Why a block is not begun, if it is not; a block that was begun is always completed."""
    course = context.course
    if course.is_begun(block):
        return None
    return (
        _too_many_disturbed(course)
        or _nothing_left(course, block)
        or _always_failing(context.history, course, block)
        or _over_budget(context, course, block)
    )


def ending_of(course: PlanProgress) -> str:
    """Why a run ends that has no block left."""
    return _too_many_disturbed(course) or f"all planned blocks are done: {len(course.plan.blocks)}"


def _too_many_disturbed(course: PlanProgress) -> str | None:
    """More disturbed blocks than spares: their share is too large whatever the other blocks do.

    Where limits adapt there are never more.
    """
    disturbed, spares = len(course.replaced), len(course.plan.spares)
    if disturbed <= spares:
        return None
    run = disturbed + len(course.counted)
    return (
        f"{part_of(disturbed, run, 'block')} disturbed; a plan "
        f"of {len(course.plan.blocks)} may replace no more than {spares}. Quieten the host and "
        "begin a new folder, or let such blocks count: --disturbed keep"
    )


def _nothing_left(course: PlanProgress, block: Block) -> str | None:
    """The looks have left out every trial."""
    if course.trials_of(block):
        return None
    return f"nothing is left that further blocks could decide; blocks done: {len(course.counted)}"


def _always_failing(history: History, course: PlanProgress, block: Block) -> str | None:
    """No workload is left that works on two systems, or on the one that there is."""
    hopeless = [
        pair for pair, failing in history.failing.items() if len(failing.blocks) >= HOPELESS_BLOCKS
    ]
    if not hopeless:
        return None
    working = Counter(
        workload
        for system, workload in {(key.system, key.workload) for key in course.trials_of(block)}
        if (system, workload) not in hopeless
    )
    if any(systems >= min(2, len(course.plan.systems)) for systems in working.values()):
        return None
    failing = listed([f"{course.plan.titles[each]} on {system}" for system, each in hopeless])
    return (
        f"nothing can be compared: {failing} never worked, and failed in {HOPELESS_BLOCKS} blocks "
        "in the same way. Fix: what the first of these trials says, then begin a new folder"
    )


def _over_budget(context: Context, course: PlanProgress, block: Block) -> str | None:
    """The time is used up.

    Before the first look nothing can be said, so up to there the budget is used to its end; later
    a block is begun only if it is likely to fit.
    """
    plan, history, budget_s = context.plan, context.history, _budget_s(context)
    first_look, done = plan.design.looks[0].blocks, len(course.counted)
    if budget_s is None:
        return _too_dear(context, block, done)
    needs_s = expected_block_s(plan, block, history) or 0.0
    if done < first_look:
        if history.spent_s < budget_s:
            return None
        short = f"; too few for a verdict, which needs {first_look}"
    elif history.spent_s + needs_s <= budget_s:
        return None
    else:
        short = f"; the next one would take about {format_duration(needs_s)}"
    budget = format_duration(budget_s)
    return f"the budget of {budget} is used up, blocks done: {done}{short}"


def _too_dear(context: Context, block: Block, done: int) -> str | None:
    """Without a budget: the blocks that are made only while they cost little have cost enough."""
    plan, history = context.plan, context.history
    if (further := plan.further) is None or done < further.beyond:
        return None
    needs_s = expected_block_s(plan, block, history) or 0.0
    if history.spent_s + needs_s <= further.within_s:
        return None
    return (
        f"without a budget, blocks beyond {further.beyond} are begun in the first "
        f"{format_duration(further.within_s)} only, blocks done: {done}"
    )


def _budget_s(context: Context) -> float | None:
    """Of the plan, or what it was changed to."""
    amended = context.history.amended.budget_s
    return context.plan.budget_s if amended is None else amended


def _too_short(context: Context) -> str:
    """That not even the first look fits into the budget, as far as the first block tells."""
    budget_s, history = _budget_s(context), context.history
    left_s = outlook(context.plan, history).left_to_look_s
    if budget_s is None or left_s is None or history.spent_s + left_s <= budget_s:
        return ""
    first = count_of(context.plan.design.looks[0].blocks, "block")
    return (
        f"the budget of {format_duration(budget_s)} is too short for a verdict: the first look, "
        f"after {first}, takes about {format_duration(history.spent_s + left_s)}"
    )


def run_study(
    folder: StudyFolder,
    plan: Plan,
    engine: Engine,
    decide: Decide,
    observer: Observer,
    *,
    stop_on_failure: bool = False,
    allow_reboot: bool = False,
    wait_s: float | None = None,
    amendment: Amendment = AS_PLANNED,
    place: Place = HERE,
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
        wait_s: how long to wait, each time, for what another run or program has at the moment;
            10 minutes if it is not said.
        amendment: what a person changes of the plan now; a run that had ended goes on by it.
        place: the host of a placement that carries it out.

    Returns:
        Why the run ended, in words; at once, if it had ended earlier.

    Raises:
        InterruptedRunError: after Ctrl-C or SIGTERM; everything is taken down.
        RefusedError: if the study is being run already, or would boot this host unasked.
        BusyError: if others still have what a system needs after ``wait_s``; the plan stays open.
        TrialsFailedError: if no system of a block has come up; the plan stays open.
        BootingError: if this host is being booted; the run goes on by itself.
        HostLacksError: if a system cannot come up here; nothing was changed.
    """
    go_on = f"Everything finished is kept. Go on with: tiltyard run {folder.study_root}"
    with hold_lock(folder), scratch_dir(folder, plan), Interrupt(go_on) as interrupt:
        recovered = recover()
        history = History()
        history.first_hashes = hashes_before(folder, plan.session)
        history.executions = executions_before(folder, plan.session)
        journal, torn = Journal.open(folder.journal, history.add)
        with journal:
            for note in (*recovered, *_torn_note(folder, torn)):
                observer.note(note)
            require_plan(folder, plan, history)
            if amendment.after(history.amended) != history.amended:
                journal.append(Amended(amendment=amendment))
            if history.stopped is not None:
                return history.stopped
            require_allowed(folder, plan, allowed=allow_reboot)
            with (
                Ledger(observer.note) as ledger,
                closing(Watches()) as watches,
                closing(Runners(lambda: HERE.host.hold)) as runners,
            ):
                arrive(ledger, history)
                context = Context(
                    folder, plan, engine, journal, history, ledger, interrupt, observer,
                    _places(plan, history), stop_on_failure, WAIT_S if wait_s is None else wait_s,
                    place, watches, runners,
                )  # fmt: skip
                return _carry_on(context, decide, tuple(recovered))


def _places(plan: Plan, history: History) -> Slots:
    """The place of each trial; with it, all that grows with plan and journal is in memory."""
    places = Slots(plan)
    history.course(plan)
    return places


def _carry_on(context: Context, decide: Decide, recovered: tuple[str, ...]) -> str:
    """From wherever the journal ends to the end of the run, or to an interrupt."""
    systems = open_systems(
        context.folder,
        context.plan.systems,
        context.ledger,
        context.interrupt.check,
        context.observer.note,
        context.place,
        context.plan.placement.directory if context.plan.placement else "",
        clients=context.plan.most_clients,
        conditions=context.plan.conditions,
    )
    for spec in context.plan.systems:
        for problem in lacking(context.plan.conditions, spec):
            if problem.severity == "error":
                of = " (--isolate)" if context.plan.conditions.isolate else ""
                raise HostLacksError(f"conditions.cpus{of}: {problem.text}; {problem.remedy}")
    notes: dict[str, list[str]] = {}
    for name, system in systems.items():
        retry_while_busy(context, name, partial(_require_same_host, name, system, notes))
    for text, names in notes.items():
        context.observer.note(f"{owners(names, len(systems))}: {text}")
    isolation = _isolated(context)
    _begin(context, recovered)
    if isolation is not None:
        context = replace(context, apart=isolation.command)
        _tell_isolated(context, isolation)
    study = StagePlace("study", context.folder.work.resolve())
    names = [workload.spec.name for workload in context.plan.workloads]
    try:
        _take_level(context)
        with around(context, study, names) as found:
            for name, why in found.failed.items():
                raise TrialsFailedError(f"{name}: {why}. Nothing was measured")
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
    calibration = calibration_note(context.plan)
    engine = context.engine.describe().engine
    with phase("recording the host"):
        record = host_record(context.folder.root, engine)
    for last in history.starts[-1:] if not context.plan.is_remote else ():
        for change in changes(last.record, record):
            context.observer.note(f"The host has changed since the last start: {change}")
    context.journal.append(
        Started(
            number=len(history.starts) + 1,
            pid=os.getpid(),
            token=context.ledger.token,
            tiltyard=__version__,
            engine=engine,
            plan_hash=context.plan.hash,
            boot=boot_id(),
            host=host_facts(record),
            record=record,
            node=str(context.place) if context.place.is_remote else "",
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


def _isolated(context: Context) -> Isolation | None:
    """Keep others off the CPUs that measure, if something is measured here."""
    asked = context.plan.conditions
    if context.plan.is_remote or not asked.isolate:
        return None
    attempt = partial(isolate, context.ledger, asked.cpus, context.observer.note)
    return retry_while_busy(context, "isolation", attempt)


def _tell_isolated(context: Context, found: Isolation) -> None:
    note = IsolationNote(granted=found.granted, text=found.text)
    context.journal.append(Isolated(note=note))
    context.observer.note(f"{'Isolation' if found.granted else 'No isolation'}: {found.text}")


def _take_level(context: Context) -> None:
    """See what others do before the first block, once, where the limits adapt to it."""
    noise_limits, history = context.plan.noise_limits, context.history
    if (
        noise_limits is None
        or noise_limits.disturbed != "adapt"
        or history.finished
        or history.usual
    ):
        return
    if context.plan.is_remote:
        return
    programs = any(workload.program is not None for workload in context.plan.workloads)
    # The engine takes the highest-numbered CPU; a program may use all of them.
    own = () if programs else (max(os.sched_getaffinity(0)),)
    with Watch(None) as watching:
        pause(context, LEVEL_S)
        shares = level_of(watching.telemetry(context.plan.conditions.cpus or own))
    context.journal.append(LevelTaken(shares=shares))
    if told := told_level(shares, noise_limits):
        context.observer.note(told)


def _run_blocks(context: Context, systems: dict[str, System], decide: Decide) -> str:
    """Block after block until a look decides, the budget is used up, or none is left."""
    looks = [look.blocks for look in context.plan.design.looks]
    for block in context.plan.sequence:
        if reason := ending_before(context, block):
            return reason
        run_block(context, systems, block)
        done = context.course.count_at(block)
        if done is None:
            continue
        if done == 1 < looks[0] and (short := _too_short(context)):
            context.observer.note(short)
        is_look = done in looks or done > looks[-1]
        if is_look and (looked := _look(context, decide, done)).done:
            return looked.reason
    return ending_of(context.course)


def _look(context: Context, decide: Decide, blocks: int) -> Looked:
    """Look at the data, once for each number of blocks that count."""
    if known := context.history.look_after(blocks):
        return known
    context.watches.close()
    with phase(f"analysing {count_of(len(context.history.finished), 'trial')}"):
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


def _require_same_host(name: str, system: System, notes: dict[str, list[str]]) -> None:
    """Refuse to begin what cannot end well; what else is to be said goes to ``notes``."""
    for problem in system.problems():
        if problem.passes:
            raise BusyError(problem.text)
        text = problem.text + (f"; {problem.remedy}" if problem.remedy else "")
        if problem.severity == "error":
            raise HostLacksError(f"{name}: {text}")
        own = notes.setdefault(text, [])
        if name not in own:
            own.append(name)


def _torn_note(folder: StudyFolder, torn_bytes: int) -> list[str]:
    """What to say of a torn last line, and of lines whose trials are not there."""
    if not torn_bytes:
        return []
    return [
        f"{folder.journal}: not whole on the disk when the run was killed or the host went down: "
        f"the last {torn_bytes} bytes; they were cut off, and what they tell of is measured again"
    ]
