"""Variance components: against their definition, against REML, and against simulation."""

import math
import warnings

import numpy as np
import pytest

from tiltyard.stats.replication import optimal_counts, variance_components, without_shared


def nested(rng, counts, deviations):
    """Values of a nested design, highest level first, with these standard deviations."""
    values = np.zeros(counts)
    for depth, deviation in enumerate(deviations, start=1):
        shape = (*counts[:depth], *(1,) * (len(counts) - depth))
        values = values + rng.normal(0, deviation, shape)
    return values


def test_a_worked_example():
    found = variance_components(np.array([[1.0, 3.0], [5.0, 9.0]]))
    assert found.counts == (2, 2)
    assert found.observed == (5.0, 12.5)
    assert found.own == (5.0, 10.0)


def test_a_level_that_contributes_nothing_is_floored():
    found = variance_components(np.array([[0.0, 4.0], [1.0, 3.0]]))
    assert found.observed == (5.0, 0.0)
    assert found.own == (5.0, 0.0)


def test_components_of_three_levels_are_unbiased():
    rng = np.random.default_rng(1)
    found = [variance_components(nested(rng, (6, 4, 3), (0.03, 0.02, 0.01))) for _ in range(2000)]
    own = np.mean([one.own for one in found], axis=0)
    assert own == pytest.approx([1e-4, 4e-4, 9e-4], rel=0.06)


def test_restricted_maximum_likelihood_says_the_same():
    """In a balanced design REML's components are those of the analysis of variance."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    values = nested(np.random.default_rng(2), (12, 5), (0.03, 0.02))
    groups = np.repeat(np.arange(12), 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MixedLM(values.ravel() * 100, np.ones((60, 1)), groups).fit(reml=True)
    found = variance_components(values * 100)
    assert found.own[0] == pytest.approx(fitted.scale, rel=1e-3)
    assert found.own[1] == pytest.approx(float(fitted.cov_re[0, 0]), rel=1e-3)


def test_a_level_needs_two_repetitions_and_every_value():
    with pytest.raises(ValueError, match="two repetitions"):
        variance_components(np.ones((5, 1)))
    with pytest.raises(ValueError, match="missing"):
        variance_components(np.array([[1.0, np.nan], [1.0, 2.0]]))


@pytest.mark.parametrize(
    ("own", "costs", "counts"),
    [
        ((4.0, 1.0), (1.0, 9.0), (6,)),
        ((1.0, 4.0), (1.0, 1.0), (1,)),
        ((1.0, 1.0), (1.0, 2.0), (2,)),
        ((0.0, 1.0), (1.0, 9.0), (1,)),
        ((1.0, 0.0), (1.0, 9.0), (10,)),
        ((100.0, 1.0), (0.01, 100.0), (10,)),
        ((4.0, 1.0, 0.25), (1.0, 9.0, 100.0), (6, 7)),
    ],
)
def test_optimal_counts(own, costs, counts):
    assert optimal_counts(own, costs, 10) == counts


def test_the_optimum_is_where_a_precision_costs_least():
    own, costs = (4e-4, 1e-4), (2.0, 18.0)
    variance_times_cost = {
        count: (own[1] + own[0] / count) * (costs[1] + count * costs[0]) for count in range(1, 40)
    }
    assert optimal_counts(own, costs, 40) == (
        min(variance_times_cost, key=variance_times_cost.get),
    )


def test_each_level_has_a_cost():
    with pytest.raises(ValueError, match="cost"):
        optimal_counts((1.0, 1.0), (1.0,), 10)
    with pytest.raises(ValueError, match="cost"):
        optimal_counts((1.0, 1.0), (1.0, 0.0), 10)


@pytest.mark.parametrize("systems", [2, 5])
def test_what_systems_share_in_a_block_is_taken_off_without_bias(systems):
    rng = np.random.default_rng(3)
    own = []
    for _ in range(1500):
        shared = rng.normal(0, 0.2, (1, 5, 1))
        values = (
            shared + rng.normal(0, 0.02, (systems, 5, 1)) + rng.normal(0, 0.01, (systems, 5, 3))
        )
        own.append(variance_components(without_shared(values)).own)
    assert np.sqrt(np.mean(own, axis=0)[:2]) == pytest.approx([0.01, 0.02], rel=0.05)


def test_one_system_shares_nothing():
    values = np.random.default_rng(4).normal(0, 1, (1, 5, 3))
    assert without_shared(values) is values
    assert math.isfinite(variance_components(values[0]).own[1])
