"""The exact rank-sum test and its interval, against scipy's and by counting."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from tiltyard.stats.rank_sum import RankSum, arrangements, fewest


@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 4), (3, 7), (6, 5)])
def test_p_is_the_exact_one(n: int, m: int) -> None:
    rng = np.random.default_rng(n * m)
    for shift in (0.0, 1.0, 5.0):
        first, second = rng.normal(shift, 1, n), rng.normal(0, 1, m)
        expected = mannwhitneyu(first, second, method="exact").pvalue
        assert RankSum(first, second).p == pytest.approx(expected)


def test_arrangements_are_counted() -> None:
    n, m = 3, 4
    counts = [0] * (n * m + 1)
    for places in combinations(range(n + m), n):
        counts[sum(place - before for before, place in enumerate(places))] += 1
    assert arrangements(n, m) == tuple(counts)
    assert sum(counts) == comb(n + m, n)


def test_the_interval_excludes_zero_exactly_where_p_is_small() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        found = RankSum(rng.normal(rng.choice([0, 1]), 1, 6), rng.normal(0, 1, 5))
        for alpha in (0.05, 0.1, 0.3):
            ends = found.interval(alpha)
            assert ends is not None
            assert (not ends[0] <= 0 <= ends[1]) == (found.p <= alpha)


def test_ties_and_equal_samples_claim_nothing() -> None:
    same = np.array([1.0, 1.0, 1.0, 1.0])
    assert RankSum(same, same).p == 1
    assert RankSum(same, same).interval(0.05) == (0, 0)


def test_few_values_have_no_interval() -> None:
    assert RankSum(np.arange(3.0), np.arange(3.0) + 9).interval(0.05) is None
    assert RankSum(np.array([1.0]), np.array([2.0])).interval(0.05) is None
    assert (fewest(0.05), fewest(0.025), fewest(0.01)) == (4, 5, 5)
