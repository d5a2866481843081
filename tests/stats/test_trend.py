import numpy as np
import pytest

from tiltyard.stats.trend import trend


def test_slope_is_found_in_spite_of_outliers():
    order = np.arange(40.0)
    values = 0.5 * order
    values[[3, 17, 30]] += [100, -80, 60]
    found = trend(order, values)
    assert found is not None
    assert found.slope == pytest.approx(0.5, abs=0.02)
    assert found.spearman > 0.7
    assert found.p < 1e-6


def test_pure_noise_has_no_trend_in_the_long_run():
    rng = np.random.default_rng(1)
    order = np.arange(30.0)
    found = [trend(order, rng.normal(size=30)) for _ in range(300)]
    assert 2 <= sum(one is not None and one.p < 0.05 for one in found) <= 30


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0, 2.0]])
def test_too_few_or_constant_values_have_no_trend(values):
    assert trend(np.arange(float(len(values))), np.array(values)) is None
