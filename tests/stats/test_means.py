import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from tiltyard.stats import geometric_mean_interval, geometric_ratio, total_rate_ratio, total_ratio

values = st.lists(st.floats(0.1, 1e6), min_size=3, max_size=30).map(np.array)


@given(values, st.sampled_from([0.01, 0.05, 0.1]))
def test_interval_of_the_geometric_mean_is_that_of_statsmodels(sample, alpha):
    found = geometric_mean_interval(sample, alpha)
    low, high = DescrStatsW(np.log(sample)).tconfint_mean(alpha)
    np.testing.assert_allclose(np.log([found.low, found.high]), [low, high], rtol=1e-12, atol=1e-12)
    assert found.value == pytest.approx(stats.gmean(sample), rel=1e-12)


def test_ratio_is_that_of_the_paired_t_interval():
    rng = np.random.default_rng(3)
    first, second = rng.lognormal(0, 0.1, (2, 12))
    found = geometric_ratio(first, second)
    theirs = stats.ttest_rel(np.log(first), np.log(second)).confidence_interval(0.95)
    np.testing.assert_allclose(np.log([found.low, found.high]), theirs, rtol=0, atol=1e-12)


def test_swapped_systems_give_the_inverse_interval():
    rng = np.random.default_rng(4)
    first, second = rng.lognormal(0, 0.1, (2, 9))
    for ratio in (geometric_ratio, total_ratio):
        found, swapped = ratio(first, second), ratio(second, first)
        expected = [1 / swapped.value, 1 / swapped.high, 1 / swapped.low]
        np.testing.assert_allclose([found.value, found.low, found.high], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("sample", "message"), [([1.0], "at least 2"), ([1.0, 0.0], "positive values")]
)
def test_what_has_no_geometric_mean_is_refused(sample, message):
    with pytest.raises(ValueError, match=message):
        geometric_mean_interval(np.array(sample))


def test_fieller_bounds_are_the_ratios_that_the_paired_t_test_does_not_reject():
    """The definition: r is inside when the mean of first − r second may be zero."""
    rng = np.random.default_rng(5)
    first, second = rng.normal(11, 1, 10), rng.normal(10, 1, 10)
    found = total_ratio(first, second)
    assert found.value == pytest.approx(first.sum() / second.sum())
    for bound in (found.low, found.high):
        p = stats.ttest_1samp(first - bound * second, 0).pvalue
        assert p == pytest.approx(0.05, abs=1e-10)


def test_a_total_that_may_be_zero_bounds_no_ratio():
    assert total_ratio(np.array([1.0, 2.0, 3.0]), np.array([-5.0, 0.1, 5.2])) is None


def test_jackknife_of_rates_agrees_with_fieller_where_work_is_fixed():
    rng = np.random.default_rng(6)
    took = rng.normal([10, 11], 0.1, (20, 2))
    rate = total_rate_ratio(np.ones((20, 2)), took)
    fieller = total_ratio(took[:, 1], took[:, 0])
    assert rate.value == pytest.approx(fieller.value, rel=1e-12)
    np.testing.assert_allclose([rate.low, rate.high], [fieller.low, fieller.high], rtol=1e-4)


def test_jackknife_of_rates_covers():
    rng = np.random.default_rng(7)
    truth, covered = 1.25, 0
    for _ in range(400):
        work = rng.uniform(90, 110, (12, 2))
        time_s = work / np.array([truth, 1.0]) * rng.lognormal(0, 0.05, (12, 2))
        found = total_rate_ratio(work, time_s)
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_too_few_blocks_are_refused():
    with pytest.raises(ValueError, match="at least 3 blocks"):
        total_rate_ratio(np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="at least 2 blocks"):
        total_ratio(np.ones(1), np.ones(1))
