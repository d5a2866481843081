"""Does a metric grow, or fall, all the way along an axis, and by how much a doubling?"""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from tiltyard.analysis.observations.claim import ALPHA, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.course import Course
from tiltyard.analysis.observations.telling import interval, moves, named, nearest, p_text, ratio
from tiltyard.stats.slope import slopes
from tiltyard.stats.student import paired_ts

LEVELS: Final = 3


def _look(scene: Scene) -> Iterator[Result]:
    tolerance = math.log1p(scene.plan.design.equivalent_within)
    for course in scene.courses:
        if course.blocks >= KIND.min_blocks and len(course.levels) >= LEVELS:
            yield _test(course, tolerance)


def _test(course: Course, tolerance: float) -> Result:
    found = paired_ts(slopes(course.values, course.doublings)[None, :], ALPHA)
    mean, low, high, p = (
        float(part[0]) for part in (found.estimate, found.low, found.high, found.p)
    )
    whole = paired_ts((course.values[:, -1] - course.values[:, 0])[None, :], ALPHA)
    ends = float(whole.estimate[0]), float(whole.low[0]), float(whole.high[0])
    direction = 1 if mean > 0 else -1
    goes_along = nearest(*ends[1:]) > tolerance and ends[0] * direction > 0
    if not goes_along or not _is_monotone(course, direction, tolerance):
        return Result(p, None)
    last = len(course.levels) - 1
    return Result(
        p,
        Claim(
            subject=(*course.subject, *course.ends, direction, named(*ends)),
            place=f"{course.place} ({ratio(*ends)})",
            metric=course.cell.metric.name,
            systems=(course.system,),
            blocks=course.blocks,
            size=nearest(*ends[1:]),
            sentence=(
                f"{course.line.topic}: {moves(*ends)} {course.between(0, last)} on "
                f"{course.system}, all the way, by {ratio(mean, low, high)} with each doubling "
                f"({interval(low, high)}, {course.blocks} blocks)"
            ),
            evidence=(
                f"t of the slopes of {course.blocks} blocks, log value on log2 of the level, "
                f"{p_text(p)}; no step of {len(course.levels) - 1} goes back by more than "
                f"{100 * math.expm1(tolerance):g} %; ends {ratio(*ends)} ({interval(*ends[1:])})"
            ),
            covers=(course.key,),
            grounds=("moves", course.axis),
        ),
    )


def _is_monotone(course: Course, direction: int, tolerance: float) -> bool:
    """Whether no adjacent step can go back by more than the tolerance (one-sided, 5 %)."""
    steps = paired_ts(direction * np.diff(course.values, axis=1).T, 0.10)
    return bool((steps.low >= -tolerance).all())


KIND = Kind(
    name="growth",
    says="METRIC: rises … from LEVEL to LEVEL on SYSTEM, all the way, by … with each doubling",
    test=(
        "t of the per-block slopes of log value on log2 of the level; told where every adjacent "
        "step has a one-sided 95 % interval above minus the study's region of equivalence"
    ),
    min_blocks=7,
    correction="family",
    look=_look,
)
