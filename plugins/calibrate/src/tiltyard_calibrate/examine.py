"""From arrays to what a calibration states, with the thresholds of the acceptance table.

A series of paired blocks is cut into comparisons that stop by the standard rules. Blocks are drawn
independently, so pieces of one series are as independent as studies of their own; and a comparison
that stops at a look is its first blocks, whatever was measured after.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tiltyard.stats.planning import FOUND_HALF_WIDTHS
from tiltyard.stats.sequential import looks
from tiltyard.stats.signed_rank import SignedRank, largest_c, signed_rank
from tiltyard.stats.types import FloatArray
from tiltyard.wire import Floor
from tiltyard_calibrate.model import Clock, Delay, Overhead, Same, Sensitivity, Step

LEVEL: Final = 0.05
"""Error rate of one comparison, and share of intervals that may miss the truth."""
ROPE: Final = math.log1p(0.02)
"""What counts as equivalent by default, on the log scale (method D6)."""
_STEPS_IN_REGION: Final = 1000
_OVERHEAD_MAX_NS: Final = 50.0
_UNIFORM_LEVEL: Final = 0.01
_BIAS_SHARE: Final = 0.02
_BIAS_MAX_NS: Final = 50.0
_CALM_CV: Final = 0.03
_POWER: Final = 0.8
_POWER_FROM: Final = 0.05
"""Delays from this share on must be found on a calm host."""
_SENSITIVE: Final = 0.3
_STEP_SEEN: Final = 0.05
"""Steps from this share on must be seen as such."""


def clock_of(floor: Floor, sources: Sequence[str], shortest_s: float | None) -> Clock:
    """The clock (C1).

    Args:
        floor: What the engine measured of itself.
        sources: The kernel's clock source as each part found it, in order.
        shortest_s: The shortest region that was timed.
    """
    changed = len(set(sources)) > 1
    fine = shortest_s is None or floor.clock_step_ns * _STEPS_IN_REGION <= shortest_s * 1e9
    return Clock(
        read_ns=floor.clock_ns,
        step_ns=floor.clock_step_ns,
        operation_ns=floor.operation_ns,
        source=sources[-1],
        changed=changed,
        shortest_s=shortest_s,
        passed=fine and not changed,
    )


def overhead_of(
    what: str, plain: FloatArray, timed: FloatArray, loop_ns: float, allowed_share: float
) -> Overhead:
    """Whether the instrument adds next to nothing to an operation (C2).

    Args:
        what: The operations, in words.
        plain: Time of an operation in ns, the clock being read around all, shape (blocks, systems).
        timed: The same with one reading an operation.
        loop_ns: What the engine spends on an operation without I/O.
        allowed_share: What that may be of an operation.
    """
    extra = interval_of(_whole((timed - plain).mean(axis=1)))
    operation_ns = float(np.nanmedian(plain))
    return Overhead(
        what=what,
        operation_ns=operation_ns,
        loop_ns=loop_ns,
        loop_share=loop_ns / operation_ns,
        loop_allowed=allowed_share,
        blocks=extra.n,
        timed_ns=extra.estimate,
        timed_low_ns=extra.low,
        timed_high_ns=extra.high,
        passed=_within(loop_ns <= allowed_share * operation_ns, extra.low, extra.high),
    )


def _within(loop_is_short: bool, low_ns: float, high_ns: float) -> bool | None:
    """Whether the overhead is what it may be; ``None`` where the interval leaves it open."""
    if not loop_is_short or low_ns > _OVERHEAD_MAX_NS:
        return False
    return True if high_ns <= _OVERHEAD_MAX_NS else None


def same_of(values: FloatArray, disturbed: int) -> Same | None:
    """One system under two names, again and again (C4).

    Args:
        values: Logarithms, shape (blocks, 2).
        disturbed: Blocks that something disturbed.

    Returns:
        ``None`` if the blocks do not make one comparison.
    """
    found = [compared(piece[:, 1] - piece[:, 0], ROPE) for piece in pieces(values)]
    if not found:
        return None
    false = sum(one.verdict in ("less", "more") for one in found)
    may = allowed(len(found), LEVEL)
    uniform = uniform_p([one.whole.p for one in found])
    return Same(
        comparisons=len(found),
        false_verdicts=false,
        allowed=may,
        equivalent=sum(one.verdict == "equivalent" for one in found),
        uniform_p=uniform,
        resolution_percent=resolution_percent(found),
        cv_percent=100 * _cv(values),
        blocks_disturbed=disturbed,
        passed=false <= may and (uniform is None or uniform > _UNIFORM_LEVEL),
    )


def delay_of(delay_ns: int, plain: FloatArray, delayed: FloatArray) -> Delay | None:
    """A known delay, looked for (C7).

    The truth is absolute, and in place: an operation without the delay takes a different time
    from hour to hour, so a share of an earlier measurement of it would be none (method 5.3).

    Args:
        delay_ns: What the engine spins, its own cost included.
        plain: Time of an operation in ns, shape (blocks,).
        delayed: The same with the delay, in the same blocks.

    Returns:
        ``None`` if the blocks do not make one comparison.
    """
    found = list(pieces(np.column_stack((plain, delayed))))
    if not found:
        return None
    verdicts = [compared(np.log(piece[:, 1] / piece[:, 0]), ROPE) for piece in found]
    times = [
        signed_rank((piece[:, 1] - piece[:, 0])[: one.found.n], one.c)
        for piece, one in zip(found, verdicts, strict=True)
    ]
    interval = interval_of(_whole(delayed - plain))
    share = delay_ns / float(np.nanmedian(plain))
    cv = _cv(np.log(np.column_stack((plain, delayed))))
    seen = sum(verdict.verdict == "more" for verdict in verdicts)
    wrong = sum(verdict.verdict == "less" for verdict in verdicts)
    covered = sum(time.low <= delay_ns <= time.high for time in times)
    needed = len(times) - allowed(len(times), LEVEL)
    bias_allowed_ns = max(_BIAS_SHARE * delay_ns, _BIAS_MAX_NS)
    resolvable = cv <= _CALM_CV and share >= _POWER_FROM * 0.9
    near = interval.low - bias_allowed_ns <= delay_ns <= interval.high + bias_allowed_ns
    sound = wrong == 0 and covered >= needed and near
    return Delay(
        delay_ns=delay_ns,
        percent=100 * share,
        comparisons=len(times),
        found=seen,
        wrong_sign=wrong,
        covered=covered,
        covered_needed=needed,
        recovered_ns=interval.estimate,
        low_ns=interval.low,
        high_ns=interval.high,
        bias_ns=interval.estimate - delay_ns,
        bias_allowed_ns=bias_allowed_ns,
        resolvable=resolvable,
        passed=sound and (not resolvable or seen >= _POWER * len(times)),
    )


def sensitivity_of(call: str, values: FloatArray) -> Sensitivity:
    """What becomes of a rate when its calls take twice as long (C8).

    Args:
        call: Sort of call that was delayed.
        values: Logarithms of the rate, shape (blocks, 2): calls as they are, and twice as long.
    """
    interval = interval_of(_whole(values[:, 1] - values[:, 0]))
    drop = -math.expm1(interval.estimate)
    return Sensitivity(call=call, blocks=interval.n, drop=drop, passed=drop >= _SENSITIVE)


def step_of(
    limit: str, true_ratio: float, full: FloatArray, less: FloatArray, allowed: float
) -> Step:
    """A known step of bandwidth.

    Args:
        limit: What the throttle was set to, in words.
        true_ratio: That over the full limit.
        full: Logarithm of the rate at the full limit, shape (blocks,).
        less: The same at this one, in the same blocks.
        allowed: Percentage points that the interval may stay away from the step.
    """
    interval = interval_of(_whole(less - full))
    percent, low, high = (
        100 * math.expm1(v) for v in (interval.estimate, interval.low, interval.high)
    )
    error = percent - 100 * (true_ratio - 1)
    unseen = 1 - true_ratio >= _STEP_SEEN and high >= 0
    return Step(
        limit=limit,
        true_percent=100 * (true_ratio - 1),
        blocks=interval.n,
        percent=percent,
        low=low,
        high=high,
        error=error,
        passed=low - allowed <= 100 * (true_ratio - 1) <= high + allowed and not unseen,
    )


def _whole(differences: FloatArray) -> FloatArray:
    """Those of blocks in which both have a value."""
    kept: FloatArray = differences[np.isfinite(differences)]
    return kept


def _cv(values: FloatArray) -> float:
    """Standard deviation of a trial around what its block and its system make of it.

    The residual of a two-way layout without interaction, on the log scale; robust against a few
    disturbed blocks through the median absolute deviation.
    """
    whole = values[np.isfinite(values).all(axis=1)]
    differences = whole[:, 1] - whole[:, 0]
    spread = float(np.median(np.abs(differences - np.median(differences))))
    return 1.4826 * spread / math.sqrt(2)


LOOKS: Final = looks("standard", strict=False, blocks=None)
EACH: Final = LOOKS[-1][0]
"""Blocks of one comparison."""
RARE: Final = 0.025
"""A sound instrument fails a check of counts in this share of calibrations at most (C4, C7)."""
_UNIFORM_FROM: Final = 5
"""P-values that a Kolmogorov–Smirnov test needs to mean anything."""


@dataclass(frozen=True)
class Compared:
    """One comparison of two systems on the log scale, stopped at the first look that decides."""

    verdict: Literal["less", "more", "equivalent", "undecided"]
    """What the values of the first system are, relative to those of the second."""
    found: SignedRank
    """At the look at which it stopped."""
    c: int
    """Walsh averages that its interval cuts off at either end."""
    whole: SignedRank
    """Over all its blocks, whether or not it stopped before."""


def compared(differences: FloatArray, rope: float) -> Compared:
    """One comparison by the standard rules (method D4, D5).

    Args:
        differences: paired differences of logarithms, shape (EACH,), in the order of the blocks.
        rope: what counts as equivalent, on the log scale.
    """
    at_looks = [(signed_rank(differences[:n], c), c) for n, c in LOOKS]
    whole = at_looks[-1][0]
    for found, c in at_looks:
        if found.low > 0 or found.high < 0:
            return Compared("more" if found.low > 0 else "less", found, c, whole)
        if -rope < found.low and found.high < rope:
            return Compared("equivalent", found, c, whole)
    return Compared("undecided", *at_looks[-1], whole)


def pieces(series: FloatArray) -> Iterator[FloatArray]:
    """A series of shape (blocks, …) in pieces of EACH blocks; what is left over is dropped.

    Rows with a value that is not finite are left out before: a pair needs both its members.
    """
    rows = series.reshape(len(series), -1)
    whole = series[np.isfinite(rows).all(axis=1)]
    for start in range(0, len(whole) - EACH + 1, EACH):
        yield whole[start : start + EACH]


def allowed(trials: int, chance: float) -> int:
    """How many events of that chance may happen in so many trials of a sound instrument.

    The smallest k with ``P(more than k) <= RARE``: 16 of 200 and 7 of 60 at 5 %.
    """
    from scipy.stats import binom

    return int(binom.isf(RARE, trials, chance))


def uniform_p(p_values: list[float]) -> float | None:
    """Kolmogorov–Smirnov test of p-values against the uniform law; ``None`` for a handful.

    Exact p-values are discrete, which makes the test conservative.
    """
    from scipy.stats import kstest

    if len(p_values) < _UNIFORM_FROM:
        return None
    return float(kstest(p_values, "uniform").pvalue)


def resolution_percent(found: list[Compared]) -> float:
    """The smallest difference that 80 % of comparisons find, in percent.

    From the median half-width of the interval at EACH blocks.
    """
    widths = [(one.whole.high - one.whole.low) / 2 for one in found]
    return 100 * math.expm1(FOUND_HALF_WIDTHS * float(np.median(widths)))


def interval_of(differences: FloatArray) -> SignedRank:
    """Estimate and 95 % interval of a series that is looked at once, with all its blocks."""
    return signed_rank(differences, largest_c(len(differences), 0.05))
