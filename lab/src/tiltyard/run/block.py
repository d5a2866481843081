"""One block: every system's turn between two reference runs, and then the noise limits."""

from collections.abc import Sequence

from tiltyard.errors import TrialsFailedError
from tiltyard.host.place import Place
from tiltyard.plan.model import Block, TrialKey
from tiltyard.run.alternate import alternates
from tiltyard.run.boot import boot_before_turn
from tiltyard.run.context import Context
from tiltyard.run.estimate import next_look
from tiltyard.run.journal import BlockChecked
from tiltyard.run.noise_limits import check_block
from tiltyard.run.record import told_briefly
from tiltyard.run.reference_run import run_reference
from tiltyard.run.sizing import executions_for
from tiltyard.run.trial import asked_of, set_executions
from tiltyard.run.turn import Missed, run_turn
from tiltyard.systems.kind import System


def run_block(context: Context, systems: dict[str, System], block: Block) -> None:
    """Run what is left of a block, in its order, and hold it against the noise limits once.

    A system that has nothing left to run is not brought up. One that does not come up fails its
    trials, if another one of the block does: otherwise it may be the host, and not the system.
    Where a program has to tell first how often it is executed, the turns are taken twice.

    Raises:
        TrialsFailedError: if no system of the block came up; its trials stay to be run.
    """
    left = context.course.left_of(block)
    parts = (host for one in systems.values() for host in (one.place, one.far) if host)
    hosts = tuple(dict.fromkeys(parts))
    context.records.clear()
    context.tried.clear()
    if left:
        context.renew_runners()
        boot_before_turn(context, block.number, left[0].system)
        upcoming = context.course.ahead(next_look(context.plan, context.history))
        context.observer.block_started(block.number, max(block.number, upcoming.last))
        run_reference(context, hosts, block.number, "before")
    _run_turns(context, systems, block, left)
    if context.tried:
        numbers = {
            name: executions_for(tried, asked)
            for name, tried in context.tried.items()
            if (asked := asked_of(context, name))
        }
        if numbers:
            set_executions(context, numbers)
        _run_turns(context, systems, block, context.course.left_of(block))
    _check(context, hosts, block)


def _run_turns(
    context: Context, systems: dict[str, System], block: Block, left: Sequence[TrialKey]
) -> None:
    """The turns of systems that have trials left, in the order of the block."""
    missed: list[Missed] = []
    if together := alternates(context, left):
        run_turn(context, systems[together[0].system], together, {}, missed, alternately=True)
    alone = [key for key in left if key not in together]
    for turn in block.turns:
        if keys := [key for key in alone if key.system == turn.system]:
            boot = boot_before_turn(context, block.number, turn.system)
            run_turn(context, systems[turn.system], keys, boot, missed)
    if missed:
        raise TrialsFailedError(_nothing_came_up(block, [reason for _, reason in missed]))


def _nothing_came_up(block: Block, reasons: list[str]) -> str:
    """What a person reads when the run ends."""
    others = f", and {len(reasons) - 1} more did not" if len(reasons) > 1 else ""
    return (
        f"block {block.number}: no system came up: {reasons[0]}{others}. Nothing of that is "
        "written down as a result; mend it, and the same command goes on"
    )


def _check(context: Context, hosts: Sequence[Place], block: Block) -> None:
    """Why a block is disturbed is written down before its values are read."""
    plan = context.plan
    if plan.noise_limits is None or block.number in context.history.checked:
        return
    if not context.course.is_complete(block):
        return
    run_reference(context, hosts, block.number, "after")
    history = context.history
    finished = [history.finished[key] for key in context.course.trials_of(block)]
    records = [context.record_of(event) for event in finished]
    reasons = check_block(history, plan, block.number, records)
    waits = all(context.is_brief(event.key.workload) for event in finished)
    context.journal.append(BlockChecked(block=block.number, reasons=reasons), waits=waits)
    if reasons and (told := _told(context, block, told_briefly(reasons))):
        context.observer.note(told)


def _told(context: Context, block: Block, why: str) -> str:
    """What a person reads of the first disturbed block, and of the first that counts all the same.

    Of all of them `tiltyard status` and the report tell.
    """
    head = f"block {block.number} is disturbed: {why}"
    replaced = len(context.course.replaced)
    if block.number in context.course.replaced:
        more = "it is kept, and another one counts in its place"
        return f"{head}; {more}" if replaced == 1 else ""
    kept = len(context.history.disturbed) - replaced
    return f"{head}; it counts all the same, as further ones will" if kept <= 1 else ""
