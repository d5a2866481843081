"""A family of comparisons, judged look by look; each one stops by itself.

In time order, whenever comparisons reach a look: their intervals and sequential p-values are made,
the p-values of the *whole* family are corrected together (1 for those before their first look, the
last one for those that have stopped), and what is decided stops with its evidence. So a verdict,
once given, is never taken back, and the result up to any block depends on no later block.

Blocks fail. While more than the allowed share of the blocks of a comparison has failed, nothing
is claimed of it; it is invalid only where the blocks to come cannot bring the share down. Where no
block is to come, the last look takes the blocks that there are, at its own level: a look is spent
once, whatever its number of blocks, and fewer blocks correlate more with the looks before.

Where differences are adjusted for covariates, these are tested at the same looks, and nothing is
claimed of a comparison while they are not shown to be the same on both sides
(:mod:`tiltyard.stats.covariates`).

Intervals agree with verdicts. Differences that are *selected* by the false discovery rate have
intervals of level 1 − q·R/m, R of m being selected: the share of them that miss is at most q
(Benjamini and Yekutieli, "False discovery rate-adjusted multiple confidence intervals for selected
parameters", JASA 100 (2005)). In a family whose intervals hold *together* each has level 1 − α/m
(Bonferroni), and where Holm's procedure rejects more than they show, the interval ends at zero
(Guilbaud, "Simultaneous confidence regions corresponding to Holm's step-down procedure",
Biometrical Journal 50 (2008)). Where a correction does not let claim what the interval of a
comparison by itself shows, that interval reaches to zero.

Looks, RCI and futility: Jennison and Turnbull, "Group Sequential Methods" (2000), 9 and 10.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tiltyard.stats.covariates import Balance
from tiltyard.stats.estimators import Estimator, Rows
from tiltyard.stats.looks import LEVEL
from tiltyard.stats.types import BoolArray, FloatArray

UNDECIDED: Final = 0
DIFFERENT: Final = 1
EQUIVALENT: Final = 2
INVALID: Final = 3
FUTILE: Final = 4
"""Undecided, and stopped because it could hardly be decided by the last look."""

FUTILE_FROM: Final = 12
"""Blocks before which, as before the second look, nothing is given up."""
FUTILE_WIDTH: Final = 1.5
"""Given up is what would be so many times too wide at the last look."""
_NEVER: Final = np.iinfo(np.intp).max
"""Number of a block that is never made."""


@dataclass(frozen=True)
class FamilyRules:
    """How a family is judged."""

    rope: float
    """Half-width of the region of equivalence, in the unit of the differences."""
    adjust: Callable[[FloatArray], FloatArray]
    """P-values to adjusted ones, e.g. :func:`tiltyard.stats.multiple.benjamini_hochberg`."""
    rate: float
    """Adjusted p-values up to this one are rejections."""
    together: bool
    """Intervals are simultaneous (Holm): a look too early for such intervals is left out. Else
    those of selected differences are corrected."""
    futility: bool
    max_failed_share: float
    """With a larger share of failed blocks a comparison is invalid."""
    tested_only: bool = False
    """What can never have a test is no member of the family. Else all that was declared is, with
    p = 1 before its first look."""


@dataclass(frozen=True)
class FamilyVerdicts:
    """What became of m comparisons; arrays of shape (m,)."""

    outcome: Rows
    """``UNDECIDED``, ``DIFFERENT``, ``EQUIVALENT``, ``INVALID`` or ``FUTILE``."""
    blocks: Rows
    """Blocks that the evidence rests on; 0 before the first look."""
    estimate: FloatArray
    """nan before the first look, as are all of the following."""
    low: FloatArray
    high: FloatArray
    level: FloatArray
    """Coverage of the interval."""
    p: FloatArray
    """Sequential p-value."""
    p_adjusted: FloatArray
    rounding: FloatArray
    """What of the interval's reach no number of blocks makes smaller; never nan."""
    balance: Balance | None = None
    """Of what was adjusted for."""


def judge_family(
    estimator: Estimator, rules: FamilyRules, to_come: int | None = None
) -> FamilyVerdicts:
    """Verdicts on all comparisons of a family.

    Args:
        estimator: what they rest on.
        rules: how to judge.
        to_come: blocks that may still be made; if not given, those up to the last look.
    """
    state = _Family(estimator, rules)
    for block in state.events():
        state.look(block)
    if to_come is None:
        to_come = max(0, estimator.levels.looks[-1][0] - state.blocks)
    if not to_come:
        state.last_look()
    return state.verdicts(to_come)


class _Family:
    """The evidence so far; what is stopped does not change any more."""

    def __init__(self, estimator: Estimator, rules: FamilyRules) -> None:
        self.estimator, self.levels, self.rules = estimator, estimator.levels, rules
        usable, failed = estimator.usable, estimator.lost
        m, self.blocks = usable.shape
        self.needed = np.array([blocks for blocks, _ in self.levels.looks])
        self.members = usable.any(axis=1) if rules.tested_only else np.ones(m, dtype=np.bool_)
        counted = usable.cumsum(axis=1)
        # Shape (m, looks): after how many blocks there is enough for the look, or too many.
        self.reached = np.stack([(counted < n).sum(axis=1) + 1 for n in self.needed], axis=1)
        # A look that has no interval of the family's level is none.
        self.reached[:, [not self._has_interval(k, n) for k, n in enumerate(self.needed)]] = _NEVER
        self.usable = usable.sum(axis=1)
        self.attempts = (usable | failed).cumsum(axis=1)
        self.failures = failed.cumsum(axis=1)
        self.outcome = np.full(m, UNDECIDED)
        # Place of the latest look in the looks; −1 before the first.
        self.place = np.full(m, -1)
        # Blocks of the latest look.
        self.rested_on = np.zeros(m, dtype=np.intp)
        self.estimate, self.low, self.high = np.full((3, m), np.nan)
        self.p_at_look, self.smallest_share = np.full((2, m), np.inf)
        self.p, self.p_adjusted = np.ones((2, m))
        self.balance: Balance | None = None
        if estimator.covariate_count:
            self.balance = Balance(*np.full((4, m, estimator.covariate_count), np.nan))
            self.share_of_covariate = np.full_like(self.balance.p, np.inf)

    def events(self) -> Iterator[int]:
        """The numbers of blocks after which some comparison reaches a look, ascending."""
        return (int(block) for block in np.unique(self.reached) if block <= self.blocks)

    def look(self, block: int) -> None:
        """Judge what is there after so many blocks."""
        is_open = self.outcome == UNDECIDED
        looked = np.zeros_like(is_open)
        for place in range(len(self.needed)):
            rows = np.flatnonzero(is_open & (self.reached[:, place] == block))
            if len(rows):
                self._observe(place, int(self.needed[place]), rows)
                looked[rows] = True
        self._decide(is_open, block)
        if self.rules.futility:
            self.outcome[looked & (self.outcome == UNDECIDED) & self._futile()] = FUTILE

    def last_look(self) -> None:
        """Judge what is there, no block being to come: the last look of what lacks blocks."""
        last = len(self.needed) - 1
        is_open = self.outcome == UNDECIDED
        waiting = is_open & (self.place < last) & (self.usable > self.rested_on)
        for blocks in np.unique(self.usable[waiting]):
            if self._has_interval(last, int(blocks)):
                self._observe(last, int(blocks), np.flatnonzero(waiting & (self.usable == blocks)))
        if waiting.any():
            self._decide(is_open, self.blocks)

    def verdicts(self, to_come: int) -> FamilyVerdicts:
        """The evidence with the intervals that belong to the verdicts."""
        if self.blocks:
            invalid = self._has_failed(self.blocks, to_come)
            self.outcome[(self.outcome == UNDECIDED) & invalid] = INVALID
        self.p_adjusted[self.outcome == INVALID] = 1.0
        level = np.where(self.place >= 0, self._level, np.nan)
        different = self.outcome == DIFFERENT
        if self.rules.together:
            self._cut_at_zero(different)
        else:
            level[different] = self._level_of_selected(int(different.sum()))
            self._correct_intervals(different, level)
        self._reach_zero(np.isin(self.outcome, (UNDECIDED, FUTILE)))
        unseen = self.place < 0
        return FamilyVerdicts(
            outcome=self.outcome,
            blocks=self.rested_on,
            estimate=self.estimate,
            low=self.low,
            high=self.high,
            level=1 - level,
            p=np.where(unseen, np.nan, self.p),
            p_adjusted=np.where(unseen, np.nan, self.p_adjusted),
            rounding=self.estimator.reach,
            balance=self.balance,
        )

    def _decide(self, is_open: BoolArray, block: int) -> None:
        """Verdicts on what is open after so many blocks, but for what nothing may be claimed of."""
        failing = is_open & self._has_failed(block)
        if self.balance is not None:
            failing |= is_open & self.balance.unshown.any(axis=1)
        self._correct(is_open, failing)
        ready = is_open & ~failing & (self.place >= 0)
        rope = self.rules.rope
        equivalent = ready & (-rope < self.low) & (self.high < rope)
        self.outcome[equivalent] = EQUIVALENT
        self.outcome[self._different(ready & ~equivalent)] = DIFFERENT

    def _observe(self, place: int, blocks: int, rows: Rows) -> None:
        """The evidence of a look at so many blocks."""
        found = self.estimator.evidence(place, blocks, rows, self._level)
        if self.balance is not None:
            self._observe_covariates(place, blocks, rows)
            # Where a coefficient rests on few blocks there are no bounds, and this is no look.
            bounded = np.isfinite(found.low) & np.isfinite(found.high)
            rows, found = rows[bounded], found.of(bounded)
        self.place[rows], self.rested_on[rows] = place, blocks
        self.estimate[rows], self.low[rows], self.high[rows] = found.estimate, found.low, found.high
        self.p_at_look[rows] = found.p
        shares = np.minimum(self.smallest_share[rows], found.p / self.levels.shares[place])
        self.smallest_share[rows] = shares
        self.p[rows] = self.levels.sequential_p(shares)

    def _observe_covariates(self, place: int, blocks: int, rows: Rows) -> None:
        """The same of what is adjusted for, each by itself."""
        seen = self.balance
        if seen is None:
            return
        for own in range(self.estimator.covariate_count):
            found = self.estimator.of_covariate(own, place, blocks, rows)
            at = rows, own
            seen.estimate[at], seen.low[at], seen.high[at] = found.estimate, found.low, found.high
            shares = np.minimum(self.share_of_covariate[at], found.p / self.levels.shares[place])
            self.share_of_covariate[at], seen.p[at] = shares, self.levels.sequential_p(shares)

    def _correct(self, is_open: BoolArray, invalid: BoolArray) -> None:
        """Adjusted p-values of the whole family; those of what has stopped never grow."""
        adjusted, members = np.ones_like(self.p), self.members
        adjusted[members] = self.rules.adjust(np.where(invalid, 1.0, self.p)[members])
        stopped = np.minimum(self.p_adjusted, adjusted)
        self.p_adjusted = np.where(is_open, adjusted, stopped)

    def _different(self, ready: BoolArray) -> BoolArray:
        """Rejected in the family, by an interval that excludes zero at the corrected level.

        The level depends on how many there are: the largest set that agrees with itself is taken.
        It contains all that were found earlier, because the level only grows with their number.
        """
        before = self.outcome == DIFFERENT
        found: BoolArray = before | (ready & (self.p_adjusted <= self.rules.rate))
        while True:
            level = self._level_of_selected(int(found.sum()))
            limits = [self.levels.nominal_level(place, level) for place in range(len(self.needed))]
            kept: BoolArray = before | (found & (self.p_at_look <= np.array(limits)[self.place]))
            if np.array_equal(kept, found):
                return found
            found = kept

    def _level_of_selected(self, count: int) -> float:
        """Error rate of each interval by which ``count`` differences are claimed."""
        m, rate = self._size, self.rules.rate
        corrected = rate / (m - count + 1) if self.rules.together else rate * count / m
        return min(LEVEL, corrected)

    @cached_property
    def _level(self) -> float:
        """Error rate of the intervals of what is not selected."""
        if not self.rules.together:
            return LEVEL
        return min(LEVEL, self.rules.rate / self._size)

    @cached_property
    def _size(self) -> int:
        """How many comparisons are corrected together, at least 1."""
        return max(1, int(self.members.sum()))

    def _has_interval(self, place: int, blocks: int) -> bool:
        return self.levels.has_interval(place, self._level, blocks)

    def _has_failed(self, block: int, to_come: int = 0) -> BoolArray:
        """Too many of the blocks so far failed, even if all blocks to come did not.

        Asked only from the first look on, when shares mean something.
        """
        attempts = self.attempts[:, block - 1]
        allowed = self.rules.max_failed_share * (attempts + to_come)
        failed: BoolArray = (attempts >= self.needed[0]) & (self.failures[:, block - 1] > allowed)
        return failed

    def _futile(self) -> BoolArray:
        """What would still be too wide at the last look, were the estimate to stay where it is."""
        blocks = self.rested_on
        rounding = self.estimator.reach
        shrinks = (self.high - self.low) / 2 - rounding
        projected = shrinks * np.sqrt(blocks / self.needed[-1]) + rounding
        size = np.abs(self.estimate)
        target = np.maximum(size, self.rules.rope - size)
        too_wide = projected > FUTILE_WIDTH * target
        late = (self.place >= 1) & (blocks >= FUTILE_FROM) & (blocks < self.needed[-1])
        futile: BoolArray = late & too_wide
        return futile

    def _correct_intervals(self, different: BoolArray, level: FloatArray) -> None:
        """Give selected differences the intervals of their level, at the look that showed them."""
        looks = np.stack([self.place, self.rested_on], axis=1)
        for place, blocks in np.unique(looks[different], axis=0):
            rows = np.flatnonzero(different & (looks == (place, blocks)).all(axis=1))
            found = self.estimator.evidence(int(place), int(blocks), rows, level[rows[0]])
            self.low[rows], self.high[rows] = found.low, found.high

    def _reach_zero(self, undecided: BoolArray) -> None:
        """What the family does not let claim: an interval that excluded zero would say otherwise.

        It only grows, so its coverage holds.
        """
        self.low = np.where(undecided, np.minimum(self.low, 0.0), self.low)
        self.high = np.where(undecided, np.maximum(self.high, 0.0), self.high)

    def _cut_at_zero(self, different: BoolArray) -> None:
        """Differences that Holm's procedure shows, and intervals that hold together do not."""
        more, less = different & (self.estimate > 0), different & (self.estimate < 0)
        self.low = np.where(more, np.maximum(self.low, 0.0), self.low)
        self.high = np.where(less, np.minimum(self.high, 0.0), self.high)
