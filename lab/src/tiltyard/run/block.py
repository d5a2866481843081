"""One block: every system's turn between two canaries, and then the gates."""

from tiltyard.plan.model import Block
from tiltyard.run.boot import boot_before_turn
from tiltyard.run.canary import run_canary
from tiltyard.run.context import Context
from tiltyard.run.estimate import next_look
from tiltyard.run.gates import check_block
from tiltyard.run.journal import BlockChecked
from tiltyard.run.read import read_trial
from tiltyard.run.record import told_briefly
from tiltyard.run.turn import run_turn
from tiltyard.systems.kind import System


def run_block(context: Context, systems: dict[str, System], block: Block) -> None:
    """Run what is still to be run of a block, in its order, and hold it against the gates once.

    A system that has nothing left to run is not brought up.
    """
    left = context.course.left_of(block)
    if left:
        boot_before_turn(context, block.number, left[0].system)
        upcoming = context.course.up_to(next_look(context.plan, context.history))
        last = max(block.number, *(each.number for each in upcoming))
        context.observer.block_started(block.number, last)
        run_canary(context, block.number, "before")
    for turn in block.turns:
        if keys := [key for key in left if key.system == turn.system]:
            boot = boot_before_turn(context, block.number, turn.system)
            run_turn(context, systems[turn.system], keys, boot)
    _check(context, block)


def _check(context: Context, block: Block) -> None:
    """What spoils a block is written down before anybody looks at its values."""
    plan = context.plan
    if plan.gates is None or block.number in context.history.checked:
        return
    if not context.course.is_complete(block):
        return
    run_canary(context, block.number, "after")
    history = context.history
    finished = [event for key, event in history.finished.items() if key.block == block.number]
    records = [read_trial(context.folder, event) for event in finished]
    reasons = check_block(history, plan, block.number, records)
    context.journal.append(BlockChecked(block=block.number, reasons=reasons))
    if reasons:
        context.observer.note(_told(context, block, told_briefly(reasons)))


def _told(context: Context, block: Block, why: str) -> str:
    """What a person reads of a spoiled block."""
    replaced = block.number in context.course.replaced
    fate = (
        "it is kept, and another one counts in its place" if replaced else "it counts all the same"
    )
    return f"block {block.number} is spoiled: {why}; {fate}"
