"""The rules that others use: all trials of one system, then all of the other, and a glance.

Values are what people average: rates, or times where the tool measures times; not logarithms. None
of the rules can say that two systems are equivalent. The interval whose coverage is told is Welch's
95 % interval of the difference of means over the trials that there are in the end, which is kinder
than the bars that are drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.designs import Outcome
from tiltyard.stats.types import BoolArray, FloatArray, IntArray
from tiltyard.stats.welch import Moments, moments, welch

LEAST_TRIALS: Final = 3
USUAL_TRIALS: Final = 12
MOST_TRIALS: Final = 15
DEVIATION: Final = 0.025
"""Standard deviation over mean below which no more trials are made."""
SIGMAS: Final = 3
"""Distance from the mean, in standard deviations, beyond which a value asks for another trial."""


@dataclass(frozen=True)
class Rule:
    """A way to make trials and to read them."""

    name: str
    judge: Callable[[FloatArray, float], Outcome]
    """From log values of equal systems, shape (paths, slots), and the true log ratio."""


def bars_apart(first: Moments, second: Moments) -> IntArray:
    """The claim of an eye: bars of one standard error that do not overlap."""
    reach = first.error + second.error
    apart = np.abs(second.mean - first.mean) > reach
    return np.where(apart, np.sign(second.mean - first.mean), 0).astype(np.int64)


def three_and_bars(slots: FloatArray, effect: float) -> Outcome:
    """Three trials of each; bars of one standard error that do not overlap name a winner."""
    first, second = moments(np.exp(slots[:, :3])), moments(np.exp(slots[:, 3:6] + effect))
    return _told(first, second, bars_apart(first, second))


def small_deviation(slots: FloatArray, effect: float) -> Outcome:
    """More trials until the deviation is small, as the Phoronix Test Suite does; then bars."""
    own = np.exp(slots[:, :MOST_TRIALS])
    first_n = trials_until_small(own)
    place = first_n[:, None] + np.arange(MOST_TRIALS)
    theirs = np.exp(np.take_along_axis(slots, place, axis=1) + effect)
    second_n = trials_until_small(theirs)
    count = np.arange(MOST_TRIALS)
    first = moments(own, count < first_n[:, None])
    second = moments(theirs, count < second_n[:, None])
    return _told(first, second, bars_apart(first, second))


def trials_until_small(values: FloatArray) -> IntArray:
    """How many trials that rule makes of values of shape (paths, 15).

    Three; then one more each time while the deviation is 2.5 % of the mean or more, or a value lies
    more than three deviations from the mean: up to 12, and on to 15 while the deviation has changed
    by less than half since the third trial. Source: ``increase_run_count_check`` of the Phoronix
    Test Suite (2026), for trials of less than two minutes.
    """
    found = np.full(len(values), LEAST_TRIALS)
    running = np.ones(len(values), dtype=np.bool_)
    at_first = np.empty(len(values))
    for n in range(LEAST_TRIALS, MOST_TRIALS):
        deviation, noisy = _noisy(values[:, :n])
        if n == LEAST_TRIALS:
            at_first = deviation
        more = noisy & ((n < USUAL_TRIALS) | (np.abs(at_first - deviation) < at_first / 2))
        running &= more
        found[running] = n + 1
    return found


def _noisy(values: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Deviation as a share of the mean, and whether the rule asks for another trial."""
    so_far = moments(values)
    far = np.abs(values - so_far.mean[:, None]) > SIGMAS * so_far.sd[:, None]
    deviation = so_far.sd / so_far.mean
    return deviation, (deviation >= DEVIATION) | far.any(axis=1)


def ten_and_welch(slots: FloatArray, effect: float) -> Outcome:
    """Ten trials of each; Welch's test at 5 %."""
    first, second = moments(np.exp(slots[:, :10])), moments(np.exp(slots[:, 10:20] + effect))
    found = welch(second, first)
    claim = np.where(found.p < 0.05, np.sign(found.estimate), 0)
    return _told(first, second, claim.astype(np.int64))


def ten_and_ratio(slots: FloatArray, effect: float) -> Outcome:
    """Ten runs of each, as hyperfine makes them, and its "X ± Y times faster": 1 is beyond Y."""
    first, second = moments(np.exp(-slots[:, :10])), moments(np.exp(-slots[:, 10:20] - effect))
    ratio, error = times_faster(first, second)
    claim = np.where(np.round(ratio - error, 2) > 1, np.sign(first.mean - second.mean), 0)
    return _told(first, second, claim.astype(np.int64))


def times_faster(first: Moments, second: Moments) -> tuple[FloatArray, FloatArray]:
    """How many times faster the faster one is, and the error beside it, as hyperfine prints both.

    The slower mean time over the faster one; its error by the propagation of both standard
    deviations (of runs, not of means), to two decimals. Source: the summary of hyperfine 1.15.
    """
    fast, slow = np.minimum(first.mean, second.mean), np.maximum(first.mean, second.mean)
    ratio = slow / fast
    error = ratio * np.hypot(first.sd / first.mean, second.sd / second.mean)
    return np.round(ratio, 2), np.round(error, 2)


RULES: Final = (
    Rule("3 and 3, error bars apart", three_and_bars),
    Rule("until the deviation is small", small_deviation),
    Rule("10 and 10, Welch", ten_and_welch),
    Rule("10 and 10, hyperfine", ten_and_ratio),
)
"""In the order of the tables."""


def _told(first: Moments, second: Moments, claim: IntArray) -> Outcome:
    """The outcome, with the coverage of equality by Welch's interval."""
    found = welch(second, first)
    return Outcome(
        claim=claim,
        equivalent=np.zeros(len(claim), dtype=np.bool_),
        covered=(found.low <= 0) & (found.high >= 0),
        blocks=(first.n + second.n) / 2,
    )
