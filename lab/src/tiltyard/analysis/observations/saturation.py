"""Where more of something no longer brings more."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from tiltyard.analysis.observations.claim import ALPHA, SAME_WITHIN, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.course import Course
from tiltyard.analysis.observations.telling import interval, moves, nearest, p_text, ratio
from tiltyard.stats.equivalence import PairwiseTost
from tiltyard.stats.multiple import holm
from tiltyard.stats.student import paired_ts

LEVELS: Final = 3
DOUBLE: Final = 2
"""Levels that are flat must go at least this far."""
_TOLERANCE: Final = math.log1p(SAME_WITHIN)


def _look(scene: Scene) -> Iterator[Result]:
    for course in scene.courses:
        if course.blocks >= KIND.min_blocks and len(course.levels) >= LEVELS:
            yield _test(course)


def _test(course: Course) -> Result:
    steps = paired_ts(np.diff(course.values, axis=1).T, ALPHA)
    p_values = holm(steps.p)
    same = course.same
    start = _start_of_flat(same)
    last = len(course.levels) - 1
    if not 0 < start < last or course.levels[last] < DOUBLE * course.levels[start]:
        return Result(1.0, None)
    p = float(p_values[start - 1])
    climb = paired_ts((course.values[:, start] - course.values[:, 0])[None, :], ALPHA)
    mean, low, high = (float(part[0]) for part in (climb.estimate, climb.low, climb.high))
    if nearest(low, high) <= _TOLERANCE or mean * float(steps.estimate[start - 1]) <= 0:
        return Result(p, None)
    verb = "saturates at" if mean * course.sign > 0 else "settles at"
    return Result(
        p,
        Claim(
            subject=(*course.subject, verb, course.levels[start]),
            place=f"{course.place} ({ratio(mean, low, high)})",
            metric=course.cell.metric.name,
            systems=(course.system,),
            blocks=course.blocks,
            size=nearest(low, high),
            sentence=(
                f"{course.line.topic}: {verb} {course.at(start)} on {course.system}: it "
                f"{moves(mean, low, high)} up to there ({interval(low, high)}, {course.blocks} "
                f"blocks) and stays within {100 * SAME_WITHIN:g} % {course.between(start, last)}"
            ),
            evidence=(
                f"paired t of {course.at(start)} against {course.at(start - 1)}, {p_text(p)} "
                f"(Holm over {last} steps); all levels beyond differ by at most "
                f"{100 * math.expm1(same.reach(start, last)):.1f} % (90 % intervals of all pairs); "
                f"{course.typical(start)} there"
            ),
            covers=(course.key, ("flat", *course.key)),
            grounds=("moves", course.axis),
        ),
    )


def _start_of_flat(same: PairwiseTost) -> int:
    """The first level from which on all are the same."""
    last = len(same.farthest) - 1
    start = last
    while start > 0 and same.holds(start - 1, last, _TOLERANCE):
        start -= 1
    return start


KIND = Kind(
    name="saturation",
    says="METRIC: saturates at LEVEL on SYSTEM: it rises … up to there and stays within 5 %",
    test=(
        "paired t of the first level from which on all pairs are equivalent within ±5 % "
        "(intersection–union, Hodges–Lehmann, 90 % intervals) against the level before it, Holm "
        "over the steps"
    ),
    min_blocks=7,
    correction="family",
    look=_look,
)
