import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tiltyard.stats.welch import Moments, moments, welch


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 12))
def test_welch_is_that_of_scipy(seed, first_n, second_n):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(1, 2, (5, first_n)), rng.normal(0, 0.5, (5, second_n))
    found = welch(moments(first), moments(second))
    theirs = stats.ttest_ind(first, second, axis=1, equal_var=False)
    bounds = theirs.confidence_interval(0.95)
    np.testing.assert_allclose(found.p, theirs.pvalue, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.low, bounds.low, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.high, bounds.high, rtol=1e-10, atol=1e-12)


def test_marked_values_only():
    values = np.array([[1.0, 2.0, 3.0, 99.0], [5.0, 7.0, 99.0, 99.0]])
    used = values < 50
    found = moments(values, used)
    assert found.n.tolist() == [3, 2]
    assert found.mean.tolist() == [2, 6]
    assert found.variance == pytest.approx([1.0, 2.0])
    assert found.error == pytest.approx([np.sqrt(1 / 3), 1.0])


def test_samples_without_spread():
    same, other = moments(np.full((1, 3), 2.0)), moments(np.full((1, 3), 3.0))
    assert welch(same, same).p.tolist() == [1.0]
    found = welch(other, same)
    assert (found.p[0], found.low[0], found.high[0]) == (0.0, 1.0, 1.0)


def test_a_spread_whose_square_is_no_float_is_one_all_the_same():
    tiny, other = Moments(*np.array([[3.0], [2.0], [1e-180]])), moments(np.full((1, 3), 3.0))
    assert welch(tiny, tiny).p.tolist() == [1.0]
    assert 0 < welch(tiny, other).p[0] < 1e-100
