"""Further findings along an axis: change, growth, saturation, plateau, cliff."""

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from tiltyard.analysis.statements.evidence import (
    ALPHA,
    SAME_ALPHA,
    SAME_WITHIN,
    Cache,
    Candidate,
    Course,
    Key,
    Result,
    Scene,
    cache_of,
    device_reads,
)
from tiltyard.analysis.statements.numbers import interval, moves, named, nearest, p_text, ratio
from tiltyard.analysis.statements.statement import Statement
from tiltyard.stats.equivalence import MIN_BLOCKS, PairwiseTost
from tiltyard.stats.multiple import holm
from tiltyard.stats.slope import slopes
from tiltyard.stats.student import p_below, paired_ts
from tiltyard.stats.types import Evidence, FloatArray
from tiltyard.units import count_of, format_size

LEVELS: Final = 3
"""Fewer levels make no course."""
DOUBLE: Final = 2
"""Levels that are flat must span at least this factor."""
_TOLERANCE: Final = math.log1p(SAME_WITHIN)


class Shift(NamedTuple):
    """A paired t of log ratios."""

    mean: float
    low: float
    high: float


def _shift(values: FloatArray) -> tuple[Shift, float]:
    """The mean of one series with its interval, and the p-value."""
    found = paired_ts(values[None, :], ALPHA)
    return Shift(*(float(x[0]) for x in (found.estimate, found.low, found.high))), float(found.p[0])


def _long(scene: Scene, statement: Statement[Scene, Iterator[Result]]) -> Iterator[Course]:
    """The courses with enough blocks and levels."""
    for course in scene.courses:
        if course.blocks >= statement.min_blocks and len(course.levels) >= LEVELS:
            yield course


def _moving(
    course: Course,
    shift: Shift,
    *subject: object,
    sentence: str,
    evidence: str,
    covers: tuple[Key, ...] = (),
) -> Candidate:
    """A finding on a course along which values change."""
    return Candidate(
        subject=(*course.subject, *subject),
        place=f"{course.place} ({ratio(*shift)})",
        metric=course.cell.metric.name,
        systems=(course.system,),
        blocks=course.blocks,
        size=nearest(shift.low, shift.high),
        sentence=sentence,
        evidence=evidence,
        covers=(course.key, *covers),
        grounds=("moves", course.axis),
    )


def _change_tests(scene: Scene) -> Iterator[Result]:
    least = math.log1p(scene.plan.design.equivalent_within)
    for course in scene.courses:
        if course.blocks >= CHANGE.min_blocks:
            yield _change_test(course, least)


def _change_test(course: Course, least: float) -> Result:
    shift, p = _shift(course.values[:, -1] - course.values[:, 0])
    if nearest(shift.low, shift.high) <= least:
        return Result(p, None)
    last = len(course.levels) - 1
    sentence = (
        f"{course.line.topic}: {moves(*shift)} {course.between(0, last)} on {course.system} "
        f"({interval(shift.low, shift.high)}, {count_of(course.blocks, 'block')})"
    )
    evidence = (
        f"paired t of the log ratio of the two ends, {p_text(p)}; medians {course.typical(0)} and "
        f"{course.typical(last)}"
    )
    subject = (*course.ends, shift.mean > 0, named(*shift))
    return Result(p, _moving(course, shift, *subject, sentence=sentence, evidence=evidence))


CHANGE: Final = Statement(
    name="change",
    shown="further finding",
    says="METRIC: doubles | halves | rises to … | falls by … from LEVEL to LEVEL on SYSTEM",
    test=(
        "paired t of the log ratio of the highest to the lowest level; printed where the whole "
        "interval is beyond the study's region of equivalence, with a named factor only where it "
        "is within ±10 % of it"
    ),
    min_blocks=7,
    correction="family",
    make=_change_tests,
)


def _growth_tests(scene: Scene) -> Iterator[Result]:
    tolerance = math.log1p(scene.plan.design.equivalent_within)
    return (_growth_test(course, tolerance) for course in _long(scene, GROWTH))


def _growth_test(course: Course, tolerance: float) -> Result:
    slope, p = _shift(slopes(course.values, course.doublings))
    ends, _ = _shift(course.values[:, -1] - course.values[:, 0])
    direction = 1 if slope.mean > 0 else -1
    goes_along = nearest(ends.low, ends.high) > tolerance and ends.mean * direction > 0
    if not goes_along or not _is_monotone(course, direction, tolerance):
        return Result(p, None)
    last = len(course.levels) - 1
    sentence = (
        f"{course.line.topic}: {moves(*ends)} {course.between(0, last)} on {course.system}, all "
        f"the way, by {ratio(*slope)} with each doubling ({interval(slope.low, slope.high)}, "
        f"{count_of(course.blocks, 'block')})"
    )
    evidence = (
        f"t of the slopes of {count_of(course.blocks, 'block')}, log value on log2 of the level, "
        f"{p_text(p)}; "
        f"no step of {last} goes back by more than {100 * math.expm1(tolerance):g} %; ends "
        f"{ratio(*ends)} ({interval(ends.low, ends.high)})"
    )
    subject = (*course.ends, direction, named(*ends))
    return Result(p, _moving(course, ends, *subject, sentence=sentence, evidence=evidence))


def _is_monotone(course: Course, direction: int, tolerance: float) -> bool:
    """Whether no adjacent step can go back by more than the tolerance (one-sided, 5 %)."""
    steps = paired_ts(direction * np.diff(course.values, axis=1).T, 0.10)
    return bool((steps.low >= -tolerance).all())


GROWTH: Final = Statement(
    name="growth",
    shown="further finding",
    says="METRIC: rises … from LEVEL to LEVEL on SYSTEM, all the way, by … with each doubling",
    test=(
        "t of the per-block slopes of log value on log2 of the level; printed where every adjacent "
        "step has a one-sided 95 % interval above minus the study's region of equivalence"
    ),
    min_blocks=7,
    correction="family",
    make=_growth_tests,
)


def _saturation_tests(scene: Scene) -> Iterator[Result]:
    return map(_saturation_test, _long(scene, SATURATION))


def _saturation_test(course: Course) -> Result:
    steps = paired_ts(np.diff(course.values, axis=1).T, ALPHA)
    same = course.same
    start = _start_of_flat(same)
    last = len(course.levels) - 1
    if not 0 < start < last or course.levels[last] < DOUBLE * course.levels[start]:
        return Result(1.0, None)
    p = float(holm(steps.p)[start - 1])
    climb, _ = _shift(course.values[:, start] - course.values[:, 0])
    agree = climb.mean * float(steps.estimate[start - 1]) > 0
    if nearest(climb.low, climb.high) <= _TOLERANCE or not agree:
        return Result(p, None)
    verb = "saturates at" if climb.mean * course.sign > 0 else "settles at"
    return Result(
        p,
        _moving(
            course,
            climb,
            verb,
            course.levels[start],
            sentence=f"{course.line.topic}: {verb} {course.at(start)} on {course.system}: it "
            f"{moves(*climb)} up to there ({interval(climb.low, climb.high)}, "
            f"{count_of(course.blocks, 'block')}) and stays within {100 * SAME_WITHIN:g} % "
            f"{course.between(start, last)}",
            evidence=f"paired t of {course.at(start)} against {course.at(start - 1)}, {p_text(p)} "
            f"(Holm over {last} steps); all levels beyond differ by at most "
            f"{100 * math.expm1(same.reach(start, last)):.1f} % (90 % intervals of all pairs); "
            f"{course.typical(start)} there",
            covers=(("flat", *course.key),),
        ),
    )


def _start_of_flat(same: PairwiseTost) -> int:
    """The first level from which on all are the same."""
    last = len(same.farthest) - 1
    start = last
    while start > 0 and same.holds(start - 1, last, _TOLERANCE):
        start -= 1
    return start


SATURATION: Final = Statement(
    name="saturation",
    shown="further finding",
    says="METRIC: saturates at LEVEL on SYSTEM: it rises … up to there and stays within 5 %",
    test=(
        "paired t of the first level from which on all pairs are equivalent within ±5 % "
        "(intersection–union, Hodges–Lehmann, 90 % intervals) against the level before it, Holm "
        "over the steps"
    ),
    min_blocks=7,
    correction="family",
    make=_saturation_tests,
)


def _insensitive_tests(scene: Scene) -> Iterator[Result]:
    return map(_insensitive_test, _long(scene, INSENSITIVE))


def _insensitive_test(course: Course) -> Result:
    same = course.same
    first, last = same.longest(_TOLERANCE)
    if last - first + 1 < LEVELS or course.levels[last] < DOUBLE * course.levels[first]:
        return Result(1.0, None)
    farthest_percent = 100 * math.expm1(same.reach(first, last))
    levels = last - first + 1
    return Result(
        SAME_ALPHA,
        Candidate(
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
                f"{farthest_percent:.1f} %, {count_of(course.blocks, 'block')})"
            ),
            evidence=(
                f"two one-sided tests at {100 * SAME_ALPHA:g} % of each of the "
                f"{count_of(levels * (levels - 1) // 2, 'pair')}, paired within blocks "
                "(intersection–union)"
            ),
            covers=(("flat", *course.key),),
            needs=("moves", course.axis),
        ),
    )


INSENSITIVE: Final = Statement(
    name="insensitive",
    shown="further finding",
    says="METRIC: insensitive to AXIS from LEVEL to LEVEL on SYSTEM: all levels are the same",
    test=(
        "two one-sided tests on every pair of levels, Hodges–Lehmann 90 % intervals within ±5 % "
        "(intersection–union); the longest run of three levels or more; printed beside something "
        "that does move along the axis"
    ),
    min_blocks=MIN_BLOCKS,
    correction="sameness",
    make=_insensitive_tests,
)


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
_RESAMPLES: Final = 500


def _cliff_tests(scene: Scene) -> Iterator[Result]:
    return (_cliff_test(scene, course) for course in _long(scene, CLIFF))


def _cliff_test(scene: Scene, course: Course) -> Result:
    better = course.sign * course.values
    steps = np.diff(better, axis=1).T
    found = paired_ts(steps, ALPHA / len(steps))
    place = int(np.argmin(found.estimate))
    p = min(1.0, len(steps) * float(p_below(steps[place : place + 1], DEEP)[0]))
    means = better.mean(axis=0)
    if found.high[place] >= DEEP or -found.estimate[place] < SHARE * np.ptp(means):
        return Result(p, None)
    return Result(p, _cliff_claim(scene, course, found, place, p))


def _cliff_claim(scene: Scene, course: Course, found: Evidence, place: int, p: float) -> Candidate:
    """The cliff between the levels ``place`` and ``place + 1``."""
    parts = (found.estimate[place], found.low[place], found.high[place])
    loss = Shift(*_as_measured(course.sign, *(float(part) for part in parts)))
    first, last = _location(course)
    within = "" if last == first + 1 else ", somewhere between them"
    cache, evidence = _cache(scene, course, place)
    return _moving(
        course,
        loss,
        course.levels[place],
        sentence=f"{course.line.topic}: {'cache ' if cache else ''}cliff "
        f"{course.between(first, last)} on {course.system}{within}: it {moves(*loss)} "
        f"({interval(loss.low, loss.high)}, {count_of(course.blocks, 'block')}){cache}"
        f"{_plateaus(course, place)}",
        evidence=f"t of the step against a loss of 30 %, {p_text(p)} (Bonferroni over "
        f"{len(course.levels) - 1} steps); {course.typical(place)} before, "
        f"{course.typical(place + 1)} after{evidence}",
        covers=(("flat", *course.key),),
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
        evidence += f" ({count_of(device.trials, 'trial')})"
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


CLIFF: Final = Statement(
    name="cliff",
    shown="further finding",
    says="METRIC: cache cliff from LEVEL to LEVEL on SYSTEM: it falls to …, near the memory size",
    test=(
        "t of the deepest step against a loss of 30 %, Bonferroni over the steps; printed where "
        "it is "
        "also half of all that lies between the best and the worst level; called one of the cache "
        "by the memory size (one step of the grid) or by the bytes that the device read, unless "
        "these say that there is no cache before it or no device behind it"
    ),
    min_blocks=5,
    correction="family",
    make=_cliff_tests,
)
