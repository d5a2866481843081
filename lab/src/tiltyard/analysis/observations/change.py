"""How a metric moves from the lowest to the highest level of an axis."""

import math
from collections.abc import Iterator

from tiltyard.analysis.observations.claim import ALPHA, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.course import Course
from tiltyard.analysis.observations.telling import interval, moves, named, nearest, p_text, ratio
from tiltyard.stats.student import paired_ts


def _look(scene: Scene) -> Iterator[Result]:
    least = math.log1p(scene.plan.design.equivalent_within)
    for course in scene.courses:
        if course.blocks >= KIND.min_blocks:
            yield _test(course, least)


def _test(course: Course, least: float) -> Result:
    found = paired_ts((course.values[:, -1] - course.values[:, 0])[None, :], ALPHA)
    mean, low, high, p = (
        float(part[0]) for part in (found.estimate, found.low, found.high, found.p)
    )
    if nearest(low, high) <= least:
        return Result(p, None)
    last = len(course.levels) - 1
    return Result(
        p,
        Claim(
            subject=(*course.subject, *course.ends, mean > 0, named(mean, low, high)),
            place=f"{course.place} ({ratio(mean, low, high)})",
            metric=course.cell.metric.name,
            systems=(course.system,),
            blocks=course.blocks,
            size=nearest(low, high),
            sentence=(
                f"{course.line.topic}: {moves(mean, low, high)} {course.between(0, last)} on "
                f"{course.system} ({interval(low, high)}, {course.blocks} blocks)"
            ),
            evidence=(
                f"paired t of the log ratio of the two ends, {p_text(p)}; medians "
                f"{course.typical(0)} and {course.typical(last)}"
            ),
            covers=(course.key,),
            grounds=("moves", course.axis),
        ),
    )


KIND = Kind(
    name="change",
    says="METRIC: doubles | halves | rises to … | falls by … from LEVEL to LEVEL on SYSTEM",
    test=(
        "paired t of the log ratio of the highest to the lowest level; told where the whole "
        "interval is beyond the study's region of equivalence, with a named factor only where it "
        "is within ±10 % of it"
    ),
    min_blocks=7,
    correction="family",
    look=_look,
)
