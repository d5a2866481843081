"""Adjusted verdicts claim no more than allowed, and find more; an intercept would not."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from simulation.adjusting import (
    EXPLAINED,
    LAWS,
    OURS,
    adjusted_rates,
    waking_rates,
)
from tiltyard.stats.covariates import BALANCED_WITHIN, explained, residuals
from tiltyard.stats.sequential import Spending, looks
from tiltyard.stats.signed_rank import attainable_p, signed_ranks
from tiltyard.stats.types import FloatArray

PATHS = 4_000
MOST = 0.055
"""Each look is exact; over all of them the constants assume how unadjusted looks go together."""


def all_flips(n: int) -> FloatArray:
    """Every way in which the labels of n blocks may fall; shape (2ⁿ, n)."""
    return np.array(list(product((1.0, -1.0), repeat=n)))


@pytest.mark.parametrize("k", [1, 2])
def test_over_all_labels_the_adjusted_test_is_exact(k: int) -> None:
    """No law is drawn: of all ways to exchange the names no more than p have a p-value up to p."""
    rng = np.random.default_rng(3)
    flips = all_flips(8)
    differences = flips * rng.standard_cauchy(8)
    covariates = flips[..., np.newaxis] * rng.exponential(1, (8, k))
    left = residuals(differences + covariates.sum(axis=2), covariates)
    p = np.sort(signed_ranks(left.values, 0, left.weights).p)
    assert np.all(np.searchsorted(p, p, side="right") / len(p) <= p + 1e-12)


def test_an_intercept_would_not_be() -> None:
    """The same with the slope of the usual regression."""
    rng = np.random.default_rng(3)
    flips = all_flips(8)
    covariate, differences = flips * rng.exponential(1, 8), flips * rng.normal(0, 1, 8)
    centred = covariate - covariate.mean(axis=1, keepdims=True)
    slope = (centred * differences).sum(axis=1) / (centred**2).sum(axis=1)
    p = np.sort(signed_ranks(differences - covariate * slope[:, np.newaxis], 0).p)
    assert np.any(np.searchsorted(p, p, side="right") / len(p) > p + 0.01)


def test_claims_coverage_and_power() -> None:
    found = adjusted_rates(PATHS, seed=11)
    assert [(one.law, one.explained) for one in found] == [
        (law, share) for law in LAWS for share in EXPLAINED
    ]
    for one in found:
        for way in OURS:
            assert binom.sf(one.false[way] * PATHS - 1, PATHS, MOST) > 1e-4, one
            assert binom.cdf(one.covered[way] * PATHS, PATHS, 0.95) > 1e-4, one
        assert binom.sf(one.false["with an intercept"] * PATHS - 1, PATHS, MOST) < 1e-6, one
        if one.explained == 0.9:
            assert one.found["adjusted"] > 0.95 > one.found["unadjusted"]
        if one.explained == 0:
            assert one.found["adjusted"] > one.found["unadjusted"] - 0.05, "little is lost"


def test_a_system_that_makes_others_work_is_not_relieved_of_its_cost() -> None:
    paths = 60
    for one in waking_rates(paths, seed=11):
        assert binom.sf(round(one.wrong["adjusted"] * paths) - 1, paths, MOST) > 1e-4, one
        if one.case.wakes:
            assert one.withheld > 0.9, one
        elif one.case.others < BALANCED_WITHIN:
            assert one.withheld < 0.2, one
        if one.case.wakes >= 0.04 and one.case.others > BALANCED_WITHIN:
            assert one.wrong["adjusted, covariate not tested"] > 0.15, "so it matters"


def test_the_estimate_is_of_the_difference_and_not_drawn_to_zero() -> None:
    """Plain Walsh averages of the residuals would be short by one of n."""
    rng = np.random.default_rng(5)
    covariate = rng.normal(0, 1, (2_000, 14))
    differences = 0.3 + 0.2 * covariate + rng.normal(0, 0.01, covariate.shape)
    spending = Spending("standard", False, looks("standard", False, None))
    found = spending.evidence(2, differences, covariates=covariate[..., np.newaxis])
    assert np.median(found.estimate) == pytest.approx(0.3, abs=0.001)
    left = residuals(differences, covariate[..., np.newaxis])
    plain = signed_ranks(left.values, 0)
    assert np.median(plain.estimate) < 0.295


def test_a_covariate_without_spread_takes_nothing_off() -> None:
    differences = np.random.default_rng(1).normal(0, 1, (5, 9))
    left = residuals(differences, np.zeros((5, 9, 2)))
    assert np.array_equal(left.values, differences)
    assert np.all(left.weights == 1)
    assert explained(differences[0], np.zeros((9, 2)), 0.0) == 0


def test_a_block_that_the_coefficient_rests_on_alone_tells_nothing() -> None:
    """Its residual is rounding, and its weight none: it counts for both signs."""
    covariate = np.zeros((1, 9, 1))
    covariate[0, 4] = 2.5
    differences = np.full((1, 9), 0.1)
    left = residuals(differences, covariate)
    assert left.values[0, 4] == 0
    found = signed_ranks(left.values, 1, left.weights)
    assert (found.low, found.high, found.estimate) == pytest.approx((0.1, 0.1, 0.1))
    assert found.p == attainable_p(9)[1]
    unbounded = signed_ranks(left.values, 0, left.weights)
    assert (unbounded.low, unbounded.high) == (-np.inf, np.inf)


def test_bounds_of_large_differences_hold_them_whatever_the_blocks_weigh() -> None:
    """Where few blocks have most of the covariate's spread as well as elsewhere."""
    rng = np.random.default_rng(8)
    trials = np.where(rng.random((4_000, 14, 2)) < 0.15, rng.exponential(3, (4_000, 14, 2)), 0)
    covariate = trials[..., 0] - trials[..., 1]
    differences = 0.3 + 0.5 * covariate + rng.normal(0, 0.01, covariate.shape)
    spending = Spending("standard", False, looks("standard", False, None))
    found = spending.evidence(2, differences, covariates=covariate[..., np.newaxis])
    covered = (found.low <= 0.3) & (found.high >= 0.3)
    weights = residuals(differences, covariate[..., np.newaxis]).weights.min(axis=1)
    for some in (weights < 0.1, weights >= 0.1):
        assert some.sum() > 400
        assert covered[some].mean() > 0.94
