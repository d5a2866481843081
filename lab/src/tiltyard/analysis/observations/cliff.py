"""Where a metric falls off a cliff, and whether that is the end of the cache."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from tiltyard.analysis.observations.claim import ALPHA, SAME_WITHIN, Claim, Kind, Result, Scene
from tiltyard.analysis.observations.course import Course
from tiltyard.analysis.observations.memory import Cache, cache_of, device_reads
from tiltyard.analysis.observations.telling import interval, moves, nearest, p_text, ratio
from tiltyard.stats.student import Students, p_below, paired_ts
from tiltyard.units import format_size

LEVELS: Final = 3
DEEP: Final = math.log(0.7)
"""A step is a cliff only if it certainly loses three tenths …"""
SHARE: Final = 0.5
"""… and is at least this share of everything between the best and the worst level."""
FROM_DEVICE: Final = 0.20
"""Beyond a cliff of the cache more than this share of the reads comes from the device …"""
FROM_CACHE: Final = 0.05
"""… and before it less than this one."""
WORKING_SET: Final = frozenset({"file"})
"""Axes whose levels are what has to fit into the cache."""
_TOLERANCE: Final = math.log1p(SAME_WITHIN)
_RESAMPLES: Final = 500


def _look(scene: Scene) -> Iterator[Result]:
    for course in scene.courses:
        if course.blocks >= KIND.min_blocks and len(course.levels) >= LEVELS:
            yield _test(scene, course)


def _test(scene: Scene, course: Course) -> Result:
    better = course.sign * course.values
    steps = np.diff(better, axis=1).T
    found = paired_ts(steps, ALPHA / len(steps))
    place = int(np.argmin(found.estimate))
    p = min(1.0, len(steps) * float(p_below(steps[place : place + 1], DEEP)[0]))
    means = better.mean(axis=0)
    if found.high[place] >= DEEP or -found.estimate[place] < SHARE * np.ptp(means):
        return Result(p, None)
    return Result(p, _claim(scene, course, found, place, p))


def _claim(scene: Scene, course: Course, found: Students, place: int, p: float) -> Claim:
    """The cliff between the levels ``place`` and ``place + 1``."""
    parts = found.estimate[place], found.low[place], found.high[place]
    mean, low, high = _as_measured(course.sign, *(float(part) for part in parts))
    first, last = _location(course)
    where = course.between(first, last)
    within = "" if last == first + 1 else ", somewhere between them"
    cache, evidence = _cache(scene, course, place)
    return Claim(
        subject=(*course.subject, course.levels[place]),
        place=f"{course.place} ({ratio(mean, low, high)})",
        metric=course.cell.metric.name,
        systems=(course.system,),
        blocks=course.blocks,
        size=nearest(low, high),
        sentence=(
            f"{course.line.topic}: {'cache ' if cache else ''}cliff {where} on {course.system}"
            f"{within}: it {moves(mean, low, high)} ({interval(low, high)}, {course.blocks} "
            f"blocks){cache}{_plateaus(course, place)}"
        ),
        evidence=(
            f"t of the step against a loss of 30 %, {p_text(p)} (Bonferroni over "
            f"{len(course.levels) - 1} steps); {course.typical(place)} before, "
            f"{course.typical(place + 1)} after{evidence}"
        ),
        covers=(course.key, ("flat", *course.key)),
        grounds=("moves", course.axis),
    )


def _as_measured(sign: int, mean: float, low: float, high: float) -> tuple[float, float, float]:
    """From better and worse back to more and less."""
    return (mean, low, high) if sign > 0 else (-mean, -high, -low)


def _location(course: Course) -> tuple[int, int]:
    """The levels between which the largest loss lies, over resampled blocks (95 % of them)."""
    rng = np.random.default_rng(0)
    picked = rng.integers(0, course.blocks, (_RESAMPLES, course.blocks))
    means = (course.sign * course.values)[picked].mean(axis=1)
    places = np.argmin(np.diff(means, axis=1), axis=1)
    first, last = np.quantile(places, [0.025, 0.975], method="nearest").tolist()
    return int(first), int(last) + 1


def _plateaus(course: Course, place: int) -> str:
    """Where the course is flat before and after; a single level is not called so."""
    last = len(course.levels) - 1
    same = course.same
    sides = [
        word
        for word, start, end in (("before", 0, place), ("after", place + 1, last))
        if end > start and same.holds(start, end, _TOLERANCE)
    ]
    return f"; flat within 5 % {' and '.join(sides)} it" if sides else ""


def _cache(scene: Scene, course: Course, place: int) -> tuple[str, str]:
    """What makes it a cliff of the cache, for the sentence and for the evidence."""
    if WORKING_SET.isdisjoint(course.axis.names):
        return "", ""
    reads = "read" in course.cell.metric.name
    beyond = course.levels[place + 1]
    device = device_reads(scene.reads, course.system, course.axis, beyond) if reads else None
    text = evidence = ""
    if device is not None:
        evidence = f"; the device read {100 * device.overall:.0f} % of all bytes that were read"
        evidence += f" ({device.trials} trials)"
        if device.overall < FROM_CACHE or device.before_at_least >= FROM_CACHE:
            return "", evidence
    cache = cache_of(scene.run, scene.measured)
    if cache is not None and _is_near(course, place, cache):
        text = f"; that is near the {cache.source}, {format_size(round(cache.size_bytes))}"
    if device is not None and device.beyond_at_least > FROM_DEVICE:
        text += f"; at least {100 * device.beyond_at_least:.0f} % of the reads beyond it came "
        text += "from the device"
    return text, evidence


def _is_near(course: Course, place: int, cache: Cache) -> bool:
    """Whether the cliff holds the size of the cache, or is one step of the grid away from it."""
    levels = course.levels
    lowest, highest = levels[max(0, place - 1)], levels[min(len(levels) - 1, place + 2)]
    return lowest <= cache.size_bytes <= highest


KIND = Kind(
    name="cliff",
    says="METRIC: cache cliff from LEVEL to LEVEL on SYSTEM: it falls to …, near the memory size",
    test=(
        "t of the deepest step against a loss of 30 %, Bonferroni over the steps; told where it is "
        "also half of all that lies between the best and the worst level; called one of the cache "
        "by the memory size (one step of the grid) or by the bytes that the device read, unless "
        "these say that there is no cache before it or no device behind it"
    ),
    min_blocks=5,
    correction="family",
    look=_look,
)
