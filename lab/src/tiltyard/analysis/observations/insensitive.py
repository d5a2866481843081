"""Over which levels of an axis a metric stays the same.

Where nothing moves, sameness is what everybody expects, and a report on equal things would be full
of it. It is news beside something that does move along the same axis: another metric, another
system, another part of the course. Only then it is told.
"""

import math
from collections.abc import Iterator
from typing import Final

from tiltyard.analysis.observations.claim import SAME_WITHIN, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.course import SAME_ALPHA, Course
from tiltyard.stats.equivalence import MIN_BLOCKS

LEVELS: Final = 3
DOUBLE: Final = 2
"""They must go at least this far."""
_TOLERANCE: Final = math.log1p(SAME_WITHIN)


def _look(scene: Scene) -> Iterator[Result]:
    for course in scene.courses:
        if course.blocks >= KIND.min_blocks and len(course.levels) >= LEVELS:
            yield _test(course)


def _test(course: Course) -> Result:
    same = course.same
    first, last = same.longest(_TOLERANCE)
    if last - first + 1 < LEVELS or course.levels[last] < DOUBLE * course.levels[first]:
        return Result(1.0, None)
    farthest_percent = 100 * math.expm1(same.reach(first, last))
    levels = last - first + 1
    return Result(
        SAME_ALPHA,
        Claim(
            subject=(*course.subject, course.levels[first], course.levels[last]),
            place=course.place,
            metric=course.cell.metric.name,
            systems=(course.system,),
            blocks=course.blocks,
            size=0.0,
            sentence=(
                f"{course.line.topic}: insensitive to {course.line.dimension} "
                f"{course.between(first, last)} on {course.system}: all {levels} levels are the "
                f"same within ±{100 * SAME_WITHIN:g} % (90 % intervals reach "
                f"{farthest_percent:.1f} %, {course.blocks} blocks)"
            ),
            evidence=(
                f"two one-sided tests at {100 * SAME_ALPHA:g} % of each of the "
                f"{levels * (levels - 1) // 2} pairs, paired within blocks (intersection–union)"
            ),
            covers=(("flat", *course.key),),
            needs=("moves", course.axis),
        ),
    )


KIND = Kind(
    name="insensitive",
    says="METRIC: insensitive to AXIS from LEVEL to LEVEL on SYSTEM: all levels are the same",
    test=(
        "two one-sided tests on every pair of levels, Hodges–Lehmann 90 % intervals within ±5 % "
        "(intersection–union); the longest run of three levels or more; told beside something "
        "that does move along the axis"
    ),
    min_blocks=MIN_BLOCKS,
    correction="sameness",
    look=_look,
)
