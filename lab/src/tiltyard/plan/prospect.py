"""What a design can decide at best, said before anything runs.

With few blocks no result, however clear, has a p-value that survives the correction for many
comparisons: n paired differences that all point the same way have p = 2^(1 − n), two-sided.
"""

from collections.abc import Iterator
from math import comb

from tiltyard.plan.model import Design, Plan
from tiltyard.stats.sequential import LEVEL, sequential_p

_FEW = 100
"""Grids easily have so many comparisons; a design that can tell one of them is not remarked on."""


def prospects(plan: Plan) -> Iterator[str]:
    """What will not be decided, or not at the first look; nothing where there is no such limit."""
    design = plan.design
    pairs = comb(len(plan.systems), 2)
    if pairs == 0:
        return
    comparisons = pairs * len(plan.workloads)
    first, last = design.looks[0].blocks, design.looks[-1].blocks
    earliest = earliest_difference(design, comparisons)
    of = f"{comparisons} comparisons of workloads as a whole are corrected together"
    if earliest is None:
        yield (
            f"{of}, and {last} blocks are too few for any of them: only equivalence can be found. "
            "More blocks, or fewer systems and workloads, would do"
        )
    elif earliest > first:
        yield f"{of}: no difference can be found before {earliest} blocks, equivalence from {first}"
    alone = largest_family(design)
    if alone < _FEW:
        yield (
            f"a cell that differs alone can be found among no more than {alone} comparisons of "
            f"cells, even after {last} blocks; among more, several must differ"
        )


def earliest_difference(design: Design, comparisons: int) -> int | None:
    """Blocks at the first look at which one of many comparisons can be significant; or ``None``.

    The strictest step of Holm's procedure: p ≤ 5 % / comparisons.
    """
    return next(
        (
            look.blocks
            for look in design.looks
            if _smallest_p(design, look.blocks) <= LEVEL / comparisons
        ),
        None,
    )


def largest_family(design: Design) -> int:
    """Comparisons among which a single difference can be found at the last look.

    The strictest step of Benjamini and Hochberg's procedure: p ≤ q / comparisons.
    """
    return int(design.false_discovery_rate / _smallest_p(design, design.looks[-1].blocks))


def _smallest_p(design: Design, blocks: int) -> float:
    """The sequential p-value of differences that all point the same way."""
    return sequential_p(design.profile, 2.0 ** (1 - blocks))
