import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata

from tiltyard.stats.permutation import MOST
from tiltyard.stats.trend import trend


def test_slope_is_found_in_spite_of_outliers():
    order = np.arange(40.0)
    values = 0.5 * order
    values[[3, 17, 30]] += [100, -80, 60]
    found = trend(order, values)
    assert found is not None
    assert found.slope == pytest.approx(0.5, abs=0.02)
    assert found.spearman > 0.7
    assert found.p == 1 / (MOST + 1)


def test_pure_noise_has_no_trend_in_the_long_run():
    rng = np.random.default_rng(1)
    order = np.arange(30.0)
    found = [trend(order, rng.normal(size=30)) for _ in range(300)]
    assert 2 <= sum(one is not None and one.p < 0.05 for one in found) <= 30


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0, 2.0]])
def test_too_few_or_constant_values_have_no_trend(values):
    assert trend(np.arange(float(len(values))), np.array(values)) is None


def test_many_points_have_the_slope_of_few_and_take_no_memory_by_the_square():
    rng = np.random.default_rng(2)
    order = np.arange(4_000.0)
    values = 0.5 * order + rng.normal(scale=100, size=len(order))
    trend(order[:50], values[:50])
    tracemalloc.start()
    try:
        found = trend(order, values)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None
    assert found.slope == pytest.approx(0.5, rel=0.01)
    assert peak < len(order) ** 2


def test_seven_values_in_order_are_as_certain_as_their_orders_allow():
    """Two of 5040 orders are as extreme; an approximation would say 0."""
    found = trend(np.arange(7.0), np.arange(7.0) ** 3)
    assert found is not None
    assert found.spearman == pytest.approx(1)
    assert found.p == 2 / 5040


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8])
def test_few_values_have_exact_p_values(n):
    rng = np.random.default_rng(n)
    orders = np.array(list(permutations(range(n))))
    values = rng.normal(size=n).round(0 if n == 6 else 9)
    found = trend(np.arange(float(n)), values)
    assert found is not None
    ranks = np.broadcast_to(rankdata(values), orders.shape)
    correlations = np.abs(pearsonr(ranks, orders, axis=1).statistic)
    observed = abs(pearsonr(rankdata(values), np.arange(n)).statistic)
    assert found.p == np.mean(correlations >= observed - 1e-9) > 0
