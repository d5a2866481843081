"""Consistency and outliers."""

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from tiltyard.stats.consistency import SpreadRatio, spread_ratios
from tiltyard.stats.outliers import max_outlier


def spread_ratio(first: np.ndarray, second: np.ndarray, alpha: float) -> SpreadRatio | None:
    """One pair of many, which all have their own."""
    others = np.random.default_rng(99).normal(size=(2, 3, len(first)))
    found = spread_ratios(np.vstack((others[0], first)), np.vstack((others[1], second)), alpha)
    assert found[0] != found[1]
    return found[-1]


PAIRED = np.random.default_rng(10).normal(0, [1.0, 3.0], (9, 2))


def test_the_p_value_is_that_of_all_signs():
    """The sum over all 512 patterns of signs, written out; and the test of the distances."""
    first, second = (PAIRED - np.median(PAIRED, axis=0)).T
    place = 2 * rankdata(first + second) - 10
    size = rankdata(np.abs(first - second))
    observed = np.sum(np.sign(first - second) * place * size)
    sums = [
        np.sum(np.array(signs) * place * size) for signs in itertools.product((-1, 1), repeat=9)
    ]
    pitman_morgan = np.mean(np.abs(sums) >= abs(observed) - 1e-9)
    distances = wilcoxon(np.abs(first) - np.abs(second), method="exact").pvalue
    found = spread_ratio(*PAIRED.T, 0.01)
    assert found is not None
    assert found.p == pytest.approx(max(pitman_morgan, distances), rel=1e-9)


def test_the_ratio_is_that_of_the_standard_deviations():
    found = spread_ratio(*PAIRED.T, 0.01)
    assert found is not None
    assert found.log_ratio == pytest.approx(np.log(PAIRED[:, 0].std() / PAIRED[:, 1].std()))
    assert found.low < found.log_ratio < found.high


def test_swapping_turns_the_sign_only():
    forth, back = spread_ratio(*PAIRED.T, 0.01), spread_ratio(*PAIRED.T[::-1], 0.01)
    assert forth is not None
    assert back is not None
    assert back.p == forth.p
    assert back.log_ratio == pytest.approx(-forth.log_ratio)
    assert back.correlation == pytest.approx(-forth.correlation)


@pytest.mark.parametrize("shape", ["normal", "heavy", "skewed"])
def test_equal_spreads_are_told_apart_no_more_often_than_allowed(shape):
    rng = np.random.default_rng(11)
    draw = {
        "normal": lambda: rng.normal(size=(2, 20)),
        "heavy": lambda: rng.standard_t(3, (2, 20)),
        "skewed": lambda: np.exp(0.5 * rng.normal(size=(2, 20))),
    }[shape]
    found = [spread_ratio(*draw(), 0.01) for _ in range(600)]
    assert np.mean([one.p <= 0.05 for one in found if one]) <= 0.07


def test_many_blocks_take_the_normal_law():
    rng = np.random.default_rng(12)
    found = spread_ratio(rng.normal(0, 1, 60), rng.normal(0, 3, 60), 0.01)
    assert found is not None
    assert found.p < 1e-6


def test_without_spread_there_is_nothing_to_compare():
    assert spread_ratio(np.ones(10), PAIRED[:, 0].repeat(2)[:10], 0.01) is None


def test_the_oddest_value_is_found_in_its_column():
    values = np.random.default_rng(13).normal(0, [0.01, 0.1], (20, 2))
    values[4, 0] = 0.9
    values[7, 1] = np.nan
    found = max_outlier(values, 10)
    assert found is not None
    assert (found.row, found.column, found.n) == (4, 0, 20)
    median = np.median(values[:, 0])
    mad = np.median(np.abs(values[:, 0] - median))
    assert found.distance == pytest.approx(0.9 - median)
    assert found.score == pytest.approx(0.6745 * (0.9 - median) / mad, rel=1e-4)
    assert found.p < 0.01


def test_short_columns_have_no_outlier():
    assert max_outlier(np.random.default_rng(14).normal(size=(9, 3)), 10) is None


def test_noise_with_heavy_tails_has_few_outliers():
    rng = np.random.default_rng(15)
    p_values = [max_outlier(rng.standard_t(3, (20, 3)), 10).p for _ in range(400)]
    assert np.mean(np.array(p_values) <= 0.01) <= 0.03
