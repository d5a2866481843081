"""What a design can decide at best, said before anything runs.

With few blocks no result, however clear, has a p-value that survives the correction for many
comparisons: n paired differences that all point the same way have p = 2^(1 − n), two-sided.
"""

from collections.abc import Iterator
from math import ceil, comb, log2

from tiltyard.plan.model import Design, Plan, PlannedWorkload
from tiltyard.plan.sessions import pooled_design
from tiltyard.stats.sequential import LEVEL
from tiltyard.units import agreeing, count_of

_FEW = 100
"""Grids easily have so many comparisons; a design that can tell one of them is not remarked on."""


def prospects(plan: Plan) -> Iterator[str]:
    """What will not be decided, or not at the first look; nothing where there is no such limit."""
    yield from _waits(plan)
    design = plan.design if plan.design.sessions == 1 else pooled_design(plan.design)
    pairs = comb(len(plan.systems), 2)
    if pairs == 0:
        return
    comparisons = pairs * len(plan.workloads)
    first, last = design.looks[0].blocks, design.looks[-1].blocks
    earliest = earliest_difference(design, comparisons)
    of = (
        f"{count_of(comparisons, 'comparison')} of workloads as a whole "
        f"{agreeing(comparisons, 'is', 'are')} corrected together"
    )
    if earliest is None:
        enough = count_of(blocks_for(comparisons, design), design.unit)
        yield (
            f"{of}, and {design.amount(last)} are too few to decide any of them. "
            f"{enough}, or fewer systems and workloads, would do"
        )
    elif earliest > first:
        yield f"{of}: none of them can be decided before {count_of(earliest, design.unit)}"
    alone = largest_family(design)
    if alone < _FEW and any(map(_has_cells, plan.workloads)):
        yield (
            f"with {design.amount(last)}, a difference in a single cell of a grid can only be "
            f"shown where no more than {count_of(alone, 'cell')} {agreeing(alone, 'is', 'are')} "
            "compared; more blocks lift that"
        )


def _has_cells(workload: PlannedWorkload) -> bool:
    """Whether it may have more than one: an only cell is the workload as a whole."""
    headlines = sum(metric.role == "headline" for metric in workload.metrics)
    axes = (workload.effective.get(axis) for axis in workload.grid)
    return headlines != 1 or not all(isinstance(at, list) and len(at) == 1 for at in axes)


def _waits(plan: Plan) -> Iterator[str]:
    """Workloads whose instructions may not be counted exactly."""
    if plan.clock == "time" or all(s.settings.get("filesystem") == "tmpfs" for s in plan.systems):
        return
    for workload in plan.workloads:
        if "access" not in workload.effective or workload.effective.get("include_fsync"):
            yield (
                f"{workload.spec.name} may wait for the disk, which answers in the time of the "
                "host: its counts may not be exact; the report tells how well they repeat"
            )


def earliest_difference(design: Design, comparisons: int) -> int | None:
    """Blocks at the first look at which one of many comparisons can be significant; or ``None``.

    The strictest step of Holm's procedure: p ≤ 5 % / comparisons. Before it there is no interval
    either that would hold for all of them together.
    """
    smallest_p = design.spending.smallest_p
    looks = enumerate(design.looks)
    enough = (look.blocks for place, look in looks if smallest_p(place) <= LEVEL / comparisons)
    return next(enough, None)


def blocks_for(comparisons: int, design: Design) -> int:
    """Blocks at one look that let one of many comparisons be significant, which a design does not.

    More than it has: a look of its own may do with as many as the last of several, which were made.
    """
    return max(1 + ceil(log2(comparisons / LEVEL)), design.looks[-1].blocks + 1)


def largest_family(design: Design) -> int:
    """Comparisons among which a single difference can be found at the last look.

    The strictest step of Benjamini and Hochberg's procedure: p ≤ q / comparisons.
    """
    smallest_p = design.spending.smallest_p(len(design.looks) - 1)
    return int(design.false_discovery_rate / smallest_p)
