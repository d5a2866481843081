import numpy as np
import pytest
from scipy.stats import ttest_1samp

from tiltyard.stats.student import p_below, paired_ts

SAMPLES = np.random.default_rng(1).normal(0.3, 1.0, (6, 9))


def test_agrees_with_scipy():
    found = paired_ts(SAMPLES, 0.01)
    theirs = ttest_1samp(SAMPLES, 0.0, axis=1)
    interval = theirs.confidence_interval(0.99)
    np.testing.assert_allclose(found.p, theirs.pvalue, rtol=1e-12)
    np.testing.assert_allclose(found.low, interval.low, rtol=1e-12)
    np.testing.assert_allclose(found.high, interval.high, rtol=1e-12)
    np.testing.assert_allclose(found.estimate, SAMPLES.mean(axis=1), rtol=1e-12)


def test_one_sided_agrees_with_scipy():
    theirs = ttest_1samp(SAMPLES, 0.7, axis=1, alternative="less")
    np.testing.assert_allclose(p_below(SAMPLES, 0.7), theirs.pvalue, rtol=1e-12)


@pytest.mark.parametrize(("value", "p"), [(0.0, 1.0), (0.5, 0.0), (-0.5, 0.0)])
def test_without_spread_a_distance_is_certain(value, p):
    found = paired_ts(np.full((1, 5), value), 0.05)
    assert (found.p[0], found.low[0], found.high[0]) == (p, value, value)
