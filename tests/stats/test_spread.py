import numpy as np
import pytest
from scipy import stats

from tiltyard.stats import bootstrap_interval, fairness, jain_index, quantile_interval, variation


def test_variation_by_hand():
    """The jackknife of ln(sd / mean), written out as a loop."""
    sample = np.array([9.0, 10.0, 10.5, 11.0, 12.0])
    logs = [
        np.log(np.std(rest, ddof=1) / np.mean(rest))
        for rest in (np.concatenate([sample[:i], sample[i + 1 :]]) for i in range(5))
    ]
    whole = np.log(np.std(sample, ddof=1) / np.mean(sample))
    pseudo = [5 * whole - 4 * one for one in logs]
    expected = np.exp(stats.t.interval(0.95, 4, np.mean(pseudo), stats.sem(pseudo)))
    found = variation(sample)
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-12)
    assert found.value == pytest.approx(stats.variation(sample, ddof=1), rel=1e-12)


@pytest.mark.parametrize("sample", [[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 3.0]])
def test_no_interval_where_all_but_one_are_equal(sample):
    assert variation(np.array(sample)) is None


def test_variation_covers_where_the_chi_squared_interval_would_not():
    """Values with heavy tails: the interval that assumes normal values is far too narrow."""
    rng = np.random.default_rng(8)
    truth = np.sqrt(2) / 10
    samples = rng.laplace(10, 1, (600, 40))
    found = [variation(sample) for sample in samples]
    covered = np.mean([one.low <= truth <= one.high for one in found])
    sds = np.std(samples, axis=1, ddof=1) / np.mean(samples, axis=1)
    low, high = (sds * np.sqrt(39 / stats.chi2.ppf(q, 39)) for q in (0.975, 0.025))
    by_chi_squared = np.mean((low <= truth) & (truth <= high))
    assert covered > 0.89
    assert by_chi_squared < 0.82


@pytest.mark.parametrize("n", [6, 10, 25, 80])
@pytest.mark.parametrize("share", [0.5, 0.25, 0.9])
def test_quantile_interval_is_the_narrowest_that_spends_half_on_each_side(n, share):
    ordered = np.arange(1.0, n + 1)
    found = quantile_interval(ordered[::-1], share)
    low = int(stats.binom.ppf(0.025, n, share))
    enough = stats.binom.cdf(0, n, share) <= 0.025 and stats.binom.sf(n - 1, n, share) <= 0.025
    assert (found is not None) == enough
    if found is not None:
        assert found.low == low
        assert stats.binom.cdf(found.low - 1, n, share) <= 0.025
        assert stats.binom.cdf(found.low, n, share) > 0.025
        assert stats.binom.sf(found.high - 1, n, share) <= 0.025
        assert stats.binom.sf(found.high - 2, n, share) > 0.025


def test_quantile_outside_the_range_is_refused():
    with pytest.raises(ValueError, match="not between 0 and 1"):
        quantile_interval(np.arange(10.0), 1.0)


def test_jain_index_of_known_shares():
    shares = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0]])
    np.testing.assert_allclose(jain_index(shares), [1.0, 0.25, 9 / 20])


def test_fairness_of_blocks_is_bounded_by_them():
    shares = np.random.default_rng(9).uniform(0.5, 1.0, (7, 4))
    found = fairness(shares)
    index = jain_index(shares)
    assert index.min() <= found.low <= found.value <= found.high <= index.max() <= 1


def test_fairness_needs_blocks():
    with pytest.raises(ValueError, match="5 blocks cannot reach"):
        fairness(np.ones((5, 2)))


def test_bootstrap_is_refused_where_it_is_too_narrow():
    with pytest.raises(ValueError, match="19 blocks are too few"):
        bootstrap_interval(np.arange(19.0), np.mean, seed=1)


def test_bootstrap_is_that_of_scipy_and_repeatable():
    sample = np.random.default_rng(10).normal(0, 1, 20)
    found = bootstrap_interval(sample, np.median, seed=1, method="percentile")
    again = bootstrap_interval(sample, np.median, seed=1, method="percentile")
    theirs = stats.bootstrap(
        (sample,), np.median, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert found == again
    assert (found.low, found.high) == (theirs.low, theirs.high)
    assert found.value == np.median(sample)
