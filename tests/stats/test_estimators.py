"""Families of comparisons that are judged once, each by a test of its own."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tiltyard.stats.estimators import AtOnce
from tiltyard.stats.family import DIFFERENT, EQUIVALENT, UNDECIDED, FamilyRules, judge_family
from tiltyard.stats.multiple import benjamini_hochberg, holm

SELECTED = FamilyRules(0.02, benjamini_hochberg, 0.05, False, False, 0.0, tested_only=True)
TOGETHER = replace(SELECTED, adjust=holm, together=True)


@dataclass(frozen=True)
class Normal:
    """A z-test, but for a level below which it has no interval."""

    estimate: float
    error: float = 0.01
    fewest: float = 0.0
    has_test: bool = True

    @property
    def p(self) -> float | None:
        from scipy.special import ndtr

        return 2 * float(ndtr(-abs(self.estimate) / self.error)) if self.has_test else None

    def interval(self, alpha: float) -> tuple[float, float] | None:
        from scipy.special import ndtri

        reach = -float(ndtri(alpha / 2)) * self.error
        return None if alpha < self.fewest else (self.estimate - reach, self.estimate + reach)


def test_what_has_no_test_counts_where_the_family_was_declared() -> None:
    tests = [Normal(0.025), Normal(0.3, has_test=False), Normal(0.0)]
    tested = judge_family(AtOnce(tests), SELECTED, to_come=0)
    declared = judge_family(AtOnce(tests), replace(SELECTED, tested_only=False), to_come=0)
    p = tests[0].p
    assert p is not None
    assert tested.p_adjusted[0] == pytest.approx(2 * p)
    assert declared.p_adjusted[0] == pytest.approx(3 * p)
    assert np.isnan(tested.p_adjusted[1])
    assert np.isnan(tested.estimate[1])


def test_each_is_judged_by_its_own_interval() -> None:
    tests = [Normal(0.3), Normal(0.0, error=0.001), Normal(0.05, error=0.1)]
    for rules in (SELECTED, TOGETHER):
        found = judge_family(AtOnce(tests), rules, to_come=0)
        assert found.outcome.tolist() == [DIFFERENT, EQUIVALENT, UNDECIDED]
        for row, one in enumerate(tests):
            assert (found.low[row], found.high[row]) == pytest.approx(
                one.interval(1 - found.level[row])
            )


def test_an_interval_that_there_is_not_has_no_ends_and_one_that_holm_shows_ends_at_zero() -> None:
    tests = [Normal(0.3), Normal(0.022, fewest=0.03), Normal(0.001, fewest=0.03)]
    found = judge_family(AtOnce(tests), replace(TOGETHER, rope=0.0), to_come=0)
    assert found.outcome.tolist() == [DIFFERENT, UNDECIDED, UNDECIDED]
    assert (found.low[2], found.high[2]) == (-np.inf, np.inf)
    clear = [Normal(0.3), Normal(0.022, fewest=0.03)]
    found = judge_family(AtOnce(clear), replace(TOGETHER, rope=0.0), to_come=0)
    assert found.outcome.tolist() == [DIFFERENT] * 2
    assert (found.low[1], found.high[1]) == (0.0, np.inf)


def test_a_family_without_any_test_decides_nothing() -> None:
    found = judge_family(AtOnce([Normal(0.3, has_test=False)] * 2), TOGETHER, to_come=0)
    assert found.outcome.tolist() == [UNDECIDED] * 2
    assert not len(judge_family(AtOnce([]), SELECTED, to_come=0).outcome)
