import numpy as np
import pytest
from scipy.stats import binom

from tiltyard.stats.summary import geometric_mean, median_rank, summarise


def test_known_values():
    found = summarise(np.array([4.0, 1.0, 3.0, 2.0, 6.0, 5.0]))
    assert (found.median, found.mean) == (3.5, 3.5)
    assert (found.median_low, found.median_high) == (1.0, 6.0)
    assert found.sd == pytest.approx(np.sqrt(3.5))
    assert found.cv == pytest.approx(np.sqrt(3.5) / 3.5)


def test_a_single_value_has_no_spread():
    found = summarise(np.array([2.0]))
    assert (found.median, found.sd, found.cv, found.median_low) == (2.0, None, None, None)


@pytest.mark.parametrize("n", [*range(1, 41), 1_000_000])
def test_interval_of_the_median_is_the_narrowest_that_covers(n):
    rank = median_rank(n)
    if rank is None:
        assert n < 6
        return
    assert 2 * binom.cdf(rank - 1, n, 0.5) <= 0.05
    assert 2 * binom.cdf(rank, n, 0.5) > 0.05


def test_geometric_mean_of_a_ratio_and_its_inverse_is_one():
    assert geometric_mean(np.array([4.0, 0.25])) == pytest.approx(1.0)
