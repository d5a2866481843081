"""Why a run ends although no look has decided it."""

from tiltyard.plan.model import Block
from tiltyard.run.context import Context
from tiltyard.run.course import Course
from tiltyard.run.estimate import expected_block_s
from tiltyard.units import format_duration


def ending_before(context: Context, block: Block) -> str | None:
    """Why a block is not begun, if it is not; a block that was begun is always completed."""
    course = context.course
    if course.is_begun(block):
        return None
    return (
        _too_many_spoiled(course)
        or _nothing_left(course, block)
        or _over_budget(context, course, block)
    )


def ending_of(course: Course) -> str:
    """Why a run ends that has no block left."""
    return _too_many_spoiled(course) or f"all planned blocks are done: {len(course.plan.blocks)}"


def _too_many_spoiled(course: Course) -> str | None:
    """More spoiled blocks than spares: their share is too large whatever the other blocks do."""
    spoiled, spares = len(course.replaced), len(course.plan.spares)
    if spoiled <= spares:
        return None
    run = spoiled + len(course.counted)
    return (
        f"{spoiled} of {run} blocks are spoiled, and a plan of "
        f"{len(course.plan.blocks)} may replace no more than {spares}. Quieten the host and begin "
        'a new folder, or let such blocks count: [noise] disturbed = "keep"'
    )


def _nothing_left(course: Course, block: Block) -> str | None:
    """The looks have left out every trial."""
    if course.trials_of(block):
        return None
    return f"nothing is left that further blocks could decide; blocks done: {len(course.counted)}"


def _over_budget(context: Context, course: Course, block: Block) -> str | None:
    """The time is used up.

    Before the first look nothing can be said, so up to there the budget is used to its end; later
    a block is begun only if it is likely to fit.
    """
    plan, history = context.plan, context.history
    if plan.budget_s is None:
        return None
    first_look = plan.design.looks[0].blocks
    needs_s = expected_block_s(plan, block, history) or 0.0
    done = len(course.counted)
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
