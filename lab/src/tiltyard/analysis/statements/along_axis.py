"""Further findings along an axis: a course is said as what it is.

It peaks, saturates, rises or falls at each step, changes in some steps, is flat, has a cliff.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np

from tiltyard.analysis.statements.evidence import (
    ALPHA,
    SAME_ALPHA,
    SAME_WITHIN,
    Cache,
    Candidate,
    Course,
    Key,
    MeasuredCourse,
    Result,
    Scene,
    cache_of,
    device_reads,
)
from tiltyard.analysis.statements.numbers import (
    DOUBLE as FACTOR,
)
from tiltyard.analysis.statements.numbers import (
    ends as ends_text,
)
from tiltyard.analysis.statements.numbers import (
    interval,
    moves,
    named,
    nearest,
    p_text,
    ratio,
)
from tiltyard.analysis.statements.statement import Statement
from tiltyard.stats.equivalence import MIN_BLOCKS, PairwiseTost
from tiltyard.stats.multiple import holm
from tiltyard.stats.student import p_below, paired_ts
from tiltyard.stats.types import Evidence
from tiltyard.units import count_of, format_size, listed

AnyCourse = TypeVar("AnyCourse", bound=Course)

LEVELS: Final = 3
"""Fewer levels make no course."""
DOUBLE: Final = 2
"""Levels that are flat must span at least this factor."""
_TOLERANCE: Final = math.log1p(SAME_WITHIN)
PLACE_ALPHA: Final = 0.05
"""The levels among which the best one is are named at this error rate."""


class Shift(NamedTuple):
    """By how much a value changes from one level to another: logs of ratios."""

    mean: float
    low: float
    high: float


class Along(Protocol):
    """Where courses are looked for: a workload that was run here, or one that was collected."""

    @property
    def name(self) -> str:
        """Of the workload."""

    @property
    def courses(self) -> Sequence[Course]:
        """Those that are looked at."""

    @property
    def margin(self) -> float:
        """Half-width of the region of equivalence, on the log scale."""


def _shift(course: Course, first: int, last: int, alpha: float = ALPHA) -> Shift:
    return Shift(*course.gaps.interval(first, last, alpha))


def _long(
    courses: Iterable[AnyCourse], statement: Statement[Any, Iterator[Result]]
) -> Iterator[AnyCourse]:
    """The courses with enough blocks and levels."""
    for course in courses:
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
        metric=course.metric,
        systems=(course.system,),
        blocks=course.blocks,
        size=nearest(shift.low, shift.high),
        sentence=sentence,
        evidence=evidence,
        covers=(course.key, *covers),
        grounds=("moves", course.axis),
    )


def _p_beyond(course: Course, pairs: Sequence[tuple[int, int]], sign: int, bound: float) -> float:
    """That every pair goes that way by more than the bound; both ways are looked at."""
    return min(1.0, 2 * max(course.gaps.p_beyond(*pair, sign, bound) for pair in pairs))


def _change_tests(scene: Along) -> Iterator[Result]:
    for course in scene.courses:
        if course.blocks >= CHANGE.min_blocks:
            yield _change_test(course, scene.margin)


def _change_test(course: Course, least: float) -> Result:
    last = len(course.levels) - 1
    shift, p = _shift(course, 0, last), course.gaps.p(0, last)
    if nearest(shift.low, shift.high) <= least:
        return Result(p, None)
    steps = _steps_text(course, least)
    sentence = (
        f"{course.line.topic}: {moves(*shift)} {course.between(0, last)} on {course.system} "
        f"({interval(shift.low, shift.high)}, {course.basis}){steps}"
    )
    evidence = (
        f"{course.test} of the log ratio of the two ends, {p_text(p)}; values there "
        f"{course.typical(0)} and {course.typical(last)}"
    )
    subject = (*course.ends, shift.mean > 0, named(*shift), steps)
    return Result(p, _moving(course, shift, *subject, sentence=sentence, evidence=evidence))


def _steps_text(course: Course, least: float) -> str:
    """``: it rises from A to B and …; no change is shown in the other 2 steps``; of two levels "".

    A step is a change if it is larger than the margin, by a one-sided test at 1 % in total.
    """
    count = course.gaps.steps
    if count < LEVELS - 1:
        return ""
    shown = [
        next(
            (
                sign
                for sign in (1, -1)
                if 2 * count * course.gaps.p_beyond(step, step + 1, sign, least) <= ALPHA
            ),
            0,
        )
        for step in range(count)
    ]
    told, place = [], 0
    for sign, alike in groupby(shown):
        start, place = place, place + len(list(alike))
        if sign:
            told.append(f"{'rises' if sign > 0 else 'falls'} {course.between(start, place)}")
    still = shown.count(0)
    if not told:
        return f"; in none of its {count} steps alone is a change shown"
    others = "the other step" if still == 1 else f"the other {still} steps"
    return f": it {listed(told)}" + (f"; no change is shown in {others}" if still else "")


CHANGE: Final = Statement(
    name="change",
    shown="further finding",
    says="METRIC: doubles | halves | rises to … | falls by … from LEVEL to LEVEL on SYSTEM: it "
    "rises from LEVEL to LEVEL; no change is shown in the other steps",
    test=(
        "t of the log ratio of the highest to the lowest level; printed where the whole "
        "interval is beyond the study's region of equivalence, with a named factor only where it "
        "is within ±10 % of it; of three levels or more with the steps that are shown to be larger "
        "than that region (one-sided t at 1 %, Bonferroni over the steps)"
    ),
    min_blocks=7,
    correction="family",
    make=_change_tests,
)


def _growth_tests(scene: Along) -> Iterator[Result]:
    return (_growth_test(course, scene.margin) for course in _long(scene.courses, GROWTH))


def _growth_test(course: Course, least: float) -> Result:
    last = course.gaps.steps
    ends = _shift(course, 0, last)
    sign = 1 if ends.mean > 0 else -1
    pairs = [(step, step + 1) for step in range(last)]
    p = _p_beyond(course, pairs, sign, least)
    if nearest(ends.low, ends.high) <= least:
        return Result(p, None)
    steps = sorted(math.exp(float(course.gaps.estimate[pair])) for pair in pairs)
    sentence = (
        f"{course.line.topic}: {moves(*ends)} {course.between(0, last)} on {course.system} "
        f"({interval(ends.low, ends.high)}, {course.basis}): it "
        f"{'rises' if sign > 0 else 'falls'} at each of {last} steps, by "
        f"{'factors of ' if math.sqrt(steps[0] * steps[-1]) >= FACTOR else ''}"
        f"{ends_text(steps[0], steps[-1])}"
    )
    evidence = (
        f"one-sided {course.test} of each step against {100 * math.expm1(least):g} %, the largest "
        f"{p_text(p)} (intersection–union)"
    )
    subject = (*course.ends, sign, named(*ends))
    return Result(p, _moving(course, ends, *subject, sentence=sentence, evidence=evidence))


GROWTH: Final = Statement(
    name="growth",
    shown="further finding",
    says="METRIC: rises … from LEVEL to LEVEL on SYSTEM: it rises at each of N steps, by … to …",
    test=(
        "one-sided t of every adjacent step against the study's region of equivalence; all must "
        "reject (intersection–union), both directions are looked at"
    ),
    min_blocks=7,
    correction="family",
    make=_growth_tests,
)


def _peak_tests(scene: Along) -> Iterator[Result]:
    return map(_peak_test, _long(scene.courses, PEAK))


def _peak_test(course: Course) -> Result:
    last = course.gaps.steps
    from_first = course.gaps.estimate[0]
    inner = from_first[1:last]
    tried = [
        (_p_beyond(course, [(0, place), (last, place)], sign, _TOLERANCE), sign, place)
        for sign, place in ((1, 1 + int(np.argmax(inner))), (-1, 1 + int(np.argmin(inner))))
    ]
    lowest, sign, place = min(tried)
    p = min(1.0, (last - 1) * lowest)
    start, end = _location_of_extreme(course, sign, place)
    up, down = _shift(course, 0, place), _shift(course, place, last)
    if min(nearest(up.low, up.high), nearest(down.low, down.high)) <= 0:
        return Result(p, None)
    verb = "peaks" if sign > 0 else "is lowest"
    where = f"at {course.at(place)}" if start == end else f"somewhere {course.between(start, end)}"
    return Result(
        p,
        _moving(
            course,
            up,
            verb,
            course.levels[start],
            course.levels[end],
            sentence=f"{course.line.topic}: {verb} {where} on {course.system}: it {moves(*up)} "
            f"{course.between(0, place)} ({interval(up.low, up.high)}, {course.basis}) and "
            f"{moves(*down)} {course.between(place, last)} ({interval(down.low, down.high)})",
            evidence=f"one-sided {course.test} of {course.at(place)} against both ends and "
            f"{100 * SAME_WITHIN:g} %, {p_text(p)} (intersection–union; Bonferroni over "
            f"{count_of(last - 1, 'inner level')}); {course.typical(0)}, {course.typical(place)} "
            f"and {course.typical(last)}",
        ),
    )


def _location_of_extreme(course: Course, sign: int, place: int) -> tuple[int, int]:
    """From the first to the last level that is not shown to be beaten by it (5 %, Bonferroni)."""
    count = course.gaps.steps
    left = [
        level
        for level in range(count + 1)
        if level == place or count * course.gaps.p_beyond(level, place, sign, 0.0) > PLACE_ALPHA
    ]
    return left[0], left[-1]


PEAK: Final = Statement(
    name="peak",
    shown="further finding",
    says="METRIC: peaks | is lowest at LEVEL on SYSTEM: it rises … up to there and falls … then",
    test=(
        "one-sided t of the best inner level against both ends and 5 % (intersection–union), "
        "Bonferroni over the inner levels, both directions; the place reaches over all levels that "
        "are not shown to be beaten (5 %, Bonferroni)"
    ),
    min_blocks=7,
    correction="family",
    make=_peak_tests,
)


def _saturation_tests(scene: Along) -> Iterator[Result]:
    return map(_saturation_test, _long(scene.courses, SATURATION))


def _saturation_test(course: Course) -> Result:
    same = course.same
    start = _start_of_flat(same)
    last = course.gaps.steps
    if not 0 < start < last or course.levels[last] < DOUBLE * course.levels[start]:
        return Result(1.0, None)
    steps = np.array([course.gaps.p(step, step + 1) for step in range(last)])
    p = float(holm(steps)[start - 1])
    climb = _shift(course, 0, start)
    agree = climb.mean * float(course.gaps.estimate[start - 1, start]) > 0
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
            f"{course.basis}) and stays within {100 * SAME_WITHIN:g} % "
            f"{course.between(start, last)}",
            evidence=f"{course.test} of {course.at(start)} against {course.at(start - 1)}, "
            f"{p_text(p)} "
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
        "t of the first level from which on all pairs are equivalent within ±5 % "
        "(intersection–union, 90 % intervals by Hodges and Lehmann, of means by t) against the "
        "level before it, Holm over the steps"
    ),
    min_blocks=7,
    correction="family",
    make=_saturation_tests,
)


def _insensitive_tests(scene: Along) -> Iterator[Result]:
    return map(_insensitive_test, _long(scene.courses, INSENSITIVE))


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
            metric=course.metric,
            systems=(course.system,),
            blocks=course.blocks,
            size=0.0,
            sentence=(
                f"{course.line.topic}: insensitive to {course.line.dimension} "
                f"{course.between(first, last)} on {course.system}: all {levels} levels are the "
                f"same within ±{100 * SAME_WITHIN:g} % (90 % intervals reach "
                f"{farthest_percent:.1f} %, {course.basis})"
            ),
            evidence=(
                f"two one-sided tests at {100 * SAME_ALPHA:g} % of each of the "
                f"{count_of(levels * (levels - 1) // 2, 'pair')} of levels (intersection–union)"
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
        "two one-sided tests on every pair of levels, 90 % intervals within ±5 % (by Hodges and "
        "Lehmann, of means by t; intersection–union); the longest run of three levels or more; "
        "printed beside something that does move along the axis"
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
    return (_cliff_test(scene, course) for course in _long(scene.courses, CLIFF))


def _cliff_test(scene: Scene, course: MeasuredCourse) -> Result:
    better = course.sign * course.values
    steps = np.diff(better, axis=1).T
    found = paired_ts(steps, ALPHA / len(steps))
    place = int(np.argmin(found.estimate))
    p = min(1.0, len(steps) * float(p_below(steps[place : place + 1], DEEP)[0]))
    means = better.mean(axis=0)
    if found.high[place] >= DEEP or -found.estimate[place] < SHARE * np.ptp(means):
        return Result(p, None)
    return Result(p, _cliff_claim(scene, course, found, place, p))


def _cliff_claim(
    scene: Scene, course: MeasuredCourse, found: Evidence, place: int, p: float
) -> Candidate:
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


def _location(course: MeasuredCourse) -> tuple[int, int]:
    """The levels between which the largest loss lies, over resampled blocks (95 % of them)."""
    rng = np.random.default_rng(0)
    picked = rng.integers(0, course.blocks, (_RESAMPLES, course.blocks))
    means = (course.sign * course.values)[picked].mean(axis=1)
    places = np.argmin(np.diff(means, axis=1), axis=1)
    first, last = np.quantile(places, [0.025, 0.975], method="nearest").tolist()
    return int(first), int(last) + 1


def _plateaus(course: MeasuredCourse, place: int) -> str:
    """Where the course is flat before and after; a single level is not called so."""
    last = len(course.levels) - 1
    same = course.same
    sides = [
        word
        for word, start, end in (("before", 0, place), ("after", place + 1, last))
        if end > start and same.holds(start, end, _TOLERANCE)
    ]
    return f"; flat within 5 % {' and '.join(sides)} it" if sides else ""


def _cache(scene: Scene, course: MeasuredCourse, place: int) -> tuple[str, str]:
    """What makes it a cliff of the cache, for the sentence and for the evidence."""
    if WORKING_SET.isdisjoint(course.axis.names):
        return "", ""
    reads = "read" in course.metric
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


def _is_near(course: MeasuredCourse, place: int, cache: Cache) -> bool:
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

SHAPES: Final = (PEAK, SATURATION, GROWTH, CHANGE, INSENSITIVE)
"""What needs no more of a course than its levels; the most specific first."""
