"""Test and interval are two sides of one thing, at every level and after every look."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tiltyard.stats.looks import TABULATED
from tiltyard.stats.sequential import (
    LEVEL,
    LOOKS,
    STRICT_LOOKS,
    Spending,
    looks,
    overall_alpha,
    repeated_interval,
)
from tiltyard.stats.student import paired_ts

DESIGNS = [
    *(("profile", name, False, None) for name in TABULATED),
    *(("strict", name, True, None) for name in STRICT_LOOKS),
    ("fixed", "fixed", False, 12),
]
levels = st.sampled_from([0.05, 0.05 / 3, 0.004, 5e-4, 5e-5]) | st.floats(1e-6, 0.05)


def spending_of(name: str, strict: bool, blocks: int | None) -> Spending:
    return Spending(name, strict, looks(name, strict, blocks))


def excludes_zero(spending: Spending, place: int, path: np.ndarray, level: float) -> bool:
    if not spending.has_interval(place, level):
        return False
    found = spending.evidence(place, path[np.newaxis, : spending.looks[place][0]], level)
    return bool(found.low[0] > 0 or found.high[0] < 0)


@pytest.mark.parametrize(("_", "name", "strict", "blocks"), DESIGNS)
@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0, 3.0]), levels)
def test_p_is_at_most_the_level_exactly_if_an_interval_excluded_zero(
    _, name, strict, blocks, seed, effect, level
):
    spending = spending_of(name, strict, blocks)
    path = np.random.default_rng(seed).normal(effect, 1, spending.looks[-1][0])
    excluded = False
    for place, (n, _c) in enumerate(spending.looks):
        excluded = excluded or excludes_zero(spending, place, path, level)
        found = repeated_interval(path[:n], name, spending.looks, strict)
        assert found is not None
        assert (found.p <= level * (1 + 1e-9)) == excluded


@pytest.mark.parametrize(("_", "name", "strict", "blocks"), DESIGNS)
def test_at_five_percent_the_constants_are_the_stored_ones(_, name, strict, blocks):
    spending = spending_of(name, strict, blocks)
    just_below = LEVEL * (1 - 1e-10)
    for place, (n, _c) in enumerate(spending.looks):
        path = np.random.default_rng(place).normal(0.1, 1, (50, n))
        stored, derived = (spending.evidence(place, path, x) for x in (LEVEL, just_below))
        np.testing.assert_allclose(stored.low, derived.low, rtol=1e-8)
        np.testing.assert_allclose(stored.high, derived.high, rtol=1e-8)


@pytest.mark.parametrize(("_", "name", "strict", "blocks"), DESIGNS)
@settings(max_examples=30)
@given(st.integers(0, 10**6), levels, levels)
def test_a_higher_coverage_is_a_wider_interval(_, name, strict, blocks, seed, one, other):
    spending = spending_of(name, strict, blocks)
    place = len(spending.looks) - 1
    path = np.random.default_rng(seed).normal(0, 1, (1, spending.looks[-1][0]))
    small, large = min(one, other), max(one, other)
    if spending.has_interval(place, small):
        wide, narrow = (spending.evidence(place, path, x) for x in (small, large))
        assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_a_look_that_is_too_early_for_a_level_has_no_interval():
    spending = spending_of("standard", False, None)
    assert [spending.has_interval(place, 0.05 / 3) for place in range(4)] == [
        False, True, True, True,
    ]  # fmt: skip
    assert repeated_interval(np.ones(7), "standard", spending.looks, level=0.05 / 3) is None
    with pytest.raises(ValueError, match="7 blocks have no interval of level"):
        spending.evidence(0, np.ones((1, 7)), 0.05 / 3)


@pytest.mark.parametrize("level", [0.05, 0.0125, 0.002])
@pytest.mark.parametrize(
    ("name", "strict"),
    [("standard", False), ("rigorous", True), ("fast", False), ("standard-11", False)],
)
def test_no_look_of_equal_systems_excludes_zero_more_often_than_the_level(name, strict, level):
    studies = 20_000
    spending = spending_of(name, strict, None)
    paths = np.random.default_rng(8).normal(0, 1, (studies, spending.looks[-1][0]))
    missed = np.zeros(studies, dtype=bool)
    for place, (n, _c) in enumerate(spending.looks):
        if spending.has_interval(place, level):
            found = spending.evidence(place, paths[:, :n], level)
            missed |= (found.low > 0) | (found.high < 0)
    assert missed.mean() <= level + 4 * np.sqrt(level / studies)
    if not strict:
        assert missed.mean() > 0.6 * level


def test_the_first_look_of_fast_is_the_t_test_of_the_method():
    assert overall_alpha("fast", False, None) == pytest.approx(0.0478, abs=5e-4)
    path = np.array([0.04, 0.05, 0.06, 0.05, 0.045])
    found = repeated_interval(path, "fast", LOOKS["fast"])
    assert found is not None
    low, high = stats.t.interval(0.99, 4, path.mean(), stats.sem(path))
    assert (found.low, found.estimate, found.high) == pytest.approx((low, path.mean(), high))


def test_fast_is_never_strict():
    with pytest.raises(ValueError, match="rests on a model"):
        looks("fast", True, None)


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_student_agrees_with_scipy(seed, n):
    rows = np.random.default_rng(seed).normal(0.3, 1, (4, n))
    found, expected = paired_ts(rows, 0.03), stats.ttest_1samp(rows, 0, axis=1)
    interval = expected.confidence_interval(0.97)
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.low, interval.low, rtol=1e-10)
    np.testing.assert_allclose(found.high, interval.high, rtol=1e-10)


def test_student_of_equal_differences():
    found = paired_ts(np.array([[0.0] * 5, [0.5] * 5]), 0.05)
    assert found.p.tolist() == [1.0, 0.0]
    assert found.low.tolist() == found.high.tolist() == [0.0, 0.5]
