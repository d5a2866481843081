"""Ranks of Walsh averages by bisection, beside all of the averages."""

from importlib import import_module

import numpy as np
import pytest
from scipy.stats import wilcoxon

from tiltyard.stats.signed_rank import EXACT_MOST, largest_c, signed_rank, walsh_averages
from tiltyard.stats.walsh import walsh_average, walsh_signs

RNG = np.random.default_rng(20261121)
KINDS = {
    "noise": lambda n: RNG.normal(0.0, 1.0, n),
    "ties": lambda n: RNG.integers(-3, 4, n).astype(float),
    "close together": lambda n: RNG.normal(3.0, 1e-9, n),
    "nothing": np.zeros,
    "one far away": lambda n: np.append(RNG.normal(0.0, 1.0, n - 1), 1e12),
}


@pytest.mark.parametrize("n", [1, 2, 7, 50, 201])
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_and_signs_are_those_of_all_averages(kind, n):
    differences = KINDS[kind](n)
    every, ordered = walsh_averages(differences), np.sort(differences)
    assert walsh_signs(ordered) == (np.count_nonzero(every >= 0), np.count_nonzero(every <= 0))
    for rank in {0, len(every) // 40, len(every) // 3, len(every) // 2, len(every) - 1}:
        rounding = 1e-15 * np.abs(ordered).max()
        assert walsh_average(ordered, rank) == pytest.approx(every[rank], rel=0, abs=rounding)


def test_many_blocks_are_judged_as_scipy_does():
    differences = RNG.normal(0.03, 1.0, 4 * EXACT_MOST)
    found = signed_rank(differences, largest_c(len(differences), 0.05))
    theirs = wilcoxon(differences, method="approx", correction=True)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)
    every = walsh_averages(differences)
    assert found.estimate == pytest.approx(np.median(every), rel=1e-12)
    assert found.low < found.estimate < found.high
    assert (found.low > 0 or found.high < 0) == (found.p <= 0.05)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
def test_beyond_the_exact_table_levels_are_on_the_safe_side(alpha, monkeypatch):
    n = EXACT_MOST
    exact = largest_c(n, alpha)
    monkeypatch.setattr(import_module("tiltyard.stats.signed_rank"), "EXACT_MOST", n - 1)
    assert exact * 0.999 < largest_c(n, alpha) <= exact


def test_fifty_thousand_blocks_need_no_room_for_their_averages():
    differences = RNG.normal(0.0, 1.0, 50_000)
    found = signed_rank(differences, largest_c(50_000, 0.05))
    assert found.low < float(np.median(differences)) < found.high
