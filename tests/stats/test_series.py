"""Order and steps of a series."""

import numpy as np
import pytest
from scipy.stats import kstest, theilslopes, ttest_ind, ttest_ind_from_stats

from tiltyard.stats.level_shift import _steps, level_shift
from tiltyard.stats.permutation import MOST, lag_one, largest_cusum, permutation_p
from tiltyard.stats.steady import _halves_p
from tiltyard.stats.trend import theil_sen_interval


@pytest.mark.parametrize("statistic", [largest_cusum, lag_one])
def test_p_values_are_valid_where_the_order_means_nothing(statistic):
    rng = np.random.default_rng(4)
    p_values = [permutation_p(statistic, rng.standard_t(3, 24), seed) for seed in range(300)]
    assert kstest(p_values, "uniform").pvalue > 0.01


def test_a_step_is_as_certain_as_permutations_can_say():
    values = np.concatenate([np.zeros(20), np.ones(20)])
    values += np.random.default_rng(5).normal(0, 0.1, 40)
    assert permutation_p(largest_cusum, values, 1) == 1 / (MOST + 1)
    assert permutation_p(lag_one, values, 1) == 1 / (MOST + 1)


def test_the_same_seed_gives_the_same_p_value():
    values = np.random.default_rng(6).normal(size=30)
    assert permutation_p(lag_one, values, 7) == permutation_p(lag_one, values, 7)


def test_the_cusum_is_the_largest_departure():
    assert largest_cusum(np.array([[0.0, 0.0, 2.0, 2.0]]))[0] == 2.0
    assert largest_cusum(np.zeros((1, 4)))[0] == 0.0


def test_lag_one_has_the_sign_of_the_resemblance():
    rows = np.array([[1.0, 1.0, 1.0, -1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]])
    together, apart = lag_one(rows)
    assert together == pytest.approx(0.5)
    assert apart == pytest.approx(-5 / 6)
    assert lag_one(np.ones((1, 5)))[0] == 0.0


def test_a_level_shift_has_its_place_and_interval():
    values = np.random.default_rng(8).normal(0, 0.1, 50)
    values[31:] += 1.0
    found = level_shift(values, 0.01)
    assert found is not None
    assert found.place == 31
    assert found.low < 1.0 < found.high
    assert found.change == pytest.approx(1.0, abs=0.1)


def test_noise_and_constants_have_no_shift():
    assert level_shift(np.random.default_rng(9).normal(size=50), 0.01) is None
    assert level_shift(np.ones(30), 0.01) is None


@pytest.mark.parametrize(
    ("seed", "n", "changes", "steps"),
    [
        (1, 40, {12: 0.4, 30: -0.3}, {0.02: [12, 24, 27, 31], 0.1: [12, 31], 0.5: [12]}),
        (2, 60, {20: 0.2, 23: -0.2, 45: 0.5},
         {0.02: [4, 8, 20, 23, 27, 30, 42, 45, 53, 57], 0.1: [45]}),
        (3, 25, {4: 1.0}, {0.02: [4, 9, 12, 16], 0.1: [4]}),
    ],
)  # fmt: skip
def test_steps_are_those_that_ruptures_finds(seed, n, changes, steps):
    """As ``Pelt(model="l2", min_size=3, jump=1)`` of ruptures 1.1.10 did, by penalty."""
    values = np.random.default_rng(seed).normal(0, 0.1, n)
    for place, change in changes.items():
        values[place:] += change
    assert {penalty: _steps(values, penalty) for penalty in steps} == steps


def test_intervals_and_p_values_are_those_of_scipy():
    """Whose import takes longer than a page."""
    rng = np.random.default_rng(10)
    for n in (12, 33, 80):
        values = np.round(rng.normal(0, 0.1, n), 2 if n == 33 else 9)
        values[n // 3 :] += 0.4
        found = level_shift(values, 0.01)
        after, before = values[found.place :], values[: found.place]
        welch = ttest_ind(after, before, equal_var=False).confidence_interval(0.99)
        assert (found.low, found.high) == (welch.low, welch.high)
        order = np.sort(rng.integers(0, 40, n)).astype(float)
        sen = theilslopes(values, order, alpha=0.99)
        assert theil_sen_interval(order, values, 0.01) == (sen.low_slope, sen.high_slope)
        halves = values[: n // 2], values[(n + 1) // 2 :]
        moments = [of for part in halves for of in (part.mean(), part.std(ddof=1), len(part))]
        assert _halves_p(values, 1) == ttest_ind_from_stats(*moments, equal_var=False).pvalue
