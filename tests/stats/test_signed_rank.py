import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from tiltyard.stats.signed_rank import (
    attainable_p,
    largest_c,
    nominal_p,
    null_cumulative,
    signed_rank,
    signed_ranks,
    walsh_averages,
)

# Hollander, Wolfe and Chicken, table 3.1: Hamilton depression scale, before minus after.
HAMILTON = np.array([0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010])


def test_hamilton_scale_has_the_published_estimate_and_p_value():
    found = signed_rank(HAMILTON, c=5)
    assert found.estimate == pytest.approx(0.46, abs=1e-12)
    assert found.p == pytest.approx(0.0390625, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((0.010, 0.786), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 7, 10, 14, 20, 30])
def test_null_distribution_is_that_of_all_sign_patterns(n):
    if n <= 14:
        patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        sums = patterns @ np.arange(1, n + 1)
        expected = np.bincount(sums, minlength=n * (n + 1) // 2 + 1).cumsum() / 2**n
        np.testing.assert_allclose(null_cumulative(n), expected, rtol=0, atol=1e-15)
    cumulative = null_cumulative(n)
    assert cumulative[-1] == 1.0
    mass = np.diff(cumulative, prepend=0)
    np.testing.assert_allclose(mass, mass[::-1], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("n", "c", "p"),
    [(7, 0, 0.01562), (10, 5, 0.01953), (14, 15, 0.01660), (20, 43, 0.01923), (30, 116, 0.01546)],
)
def test_levels_of_the_looks_are_those_of_the_method(n, c, p):
    assert nominal_p(n, c) == pytest.approx(p, abs=5e-6)


@pytest.mark.parametrize("n", range(6, 21))
def test_largest_c_is_the_last_one_within_the_level(n):
    c = largest_c(n, 0.05)
    assert nominal_p(n, c) <= 0.05 < nominal_p(n, c + 1)


def test_five_blocks_cannot_reach_five_percent():
    with pytest.raises(ValueError, match="5 blocks cannot reach"):
        largest_c(5, 0.05)


def test_c_that_leaves_nothing_is_refused():
    with pytest.raises(ValueError, match="leaves no interval"):
        signed_rank(HAMILTON, c=23)


@pytest.mark.parametrize("n", [6, 7, 10, 13])
@pytest.mark.parametrize("seed", range(5))
def test_p_and_interval_are_those_of_scipy(n, seed):
    differences = np.random.default_rng(seed).normal(0.4, 1, n)
    c = largest_c(n, 0.05)
    found = signed_rank(differences, c)
    assert found.p == pytest.approx(wilcoxon(differences, method="exact").pvalue, abs=1e-12)
    # The interval is the set of shifts that the exact test does not reject.
    for bound, outwards in ((found.low, -1), (found.high, 1)):
        for step, rejected in ((1e-9, True), (-1e-9, False)):
            p = wilcoxon(differences - bound - outwards * step, method="exact").pvalue
            assert (p <= 0.05) == rejected


samples = st.lists(st.integers(-6, 6), min_size=6, max_size=14).map(
    lambda values: np.array(values, dtype=np.float64)
)


@given(samples)
def test_test_and_interval_are_dual_even_with_ties_and_zeros(differences):
    c = largest_c(len(differences), 0.05)
    found = signed_rank(differences, c)
    excludes_zero = found.low > 0 or found.high < 0
    assert (found.p <= nominal_p(len(differences), c)) == excludes_zero


@given(samples)
def test_ties_and_zeros_never_make_the_test_bolder_than_any_way_of_breaking_them(differences):
    found = signed_rank(differences, c=0).p
    nudges = np.random.default_rng(0).normal(0, 1e-6, (20, len(differences)))
    broken = [signed_rank(differences + nudge, c=0).p for nudge in nudges]
    assert found >= max(broken) - 1e-12


@given(samples)
def test_estimate_is_the_median_of_all_pairwise_averages(differences):
    pairs = [
        (first + second) / 2
        for place, first in enumerate(differences)
        for second in differences[place:]
    ]
    assert walsh_averages(differences).tolist() == sorted(pairs)
    assert signed_rank(differences, c=0).estimate == np.median(pairs)


def test_all_differences_zero_is_no_evidence():
    assert signed_rank(np.zeros(7), c=0).p == 1.0
    assert attainable_p(7)[0] == 2 / 128


@pytest.mark.parametrize("rounding", [None, np.array([0.0, 0.02, 0.1])])
def test_averages_that_are_selected_are_those_of_all(monkeypatch, rounding):
    differences = np.random.default_rng(3).normal(0.1, 1, (3, 60))
    if rounding is None:
        differences = differences.round(1)
    formed = signed_ranks(differences, 500, None, rounding)
    # The package has a function of the module's name.
    monkeypatch.setattr(sys.modules["tiltyard.stats.signed_rank"], "TABLE_MOST", 59)
    selected = signed_ranks(differences, 500, None, rounding)
    for name in ("estimate", "low", "high", "p"):
        assert getattr(selected, name) == pytest.approx(getattr(formed, name), abs=1e-12)
