import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from tiltyard.stats.multiple import (
    benjamini_hochberg,
    benjamini_yekutieli,
    false_coverage_alpha,
    holm,
)

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(np.array)


@pytest.mark.parametrize("size", [1, 5, 300])
def test_holm_agrees_with_statsmodels(size):
    p = np.random.default_rng(size).random(size) ** 3
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=0, atol=1e-12)


@given(p_values)
def test_holm_is_the_step_down_of_the_paper(p):
    """Ascending: each times the number of those not smaller, and never below one before it."""
    adjusted = np.empty_like(p)
    highest = 0.0
    for rank, place in enumerate(np.argsort(p, kind="stable")):
        highest = max(highest, min(1.0, p[place] * (len(p) - rank)))
        adjusted[place] = highest
    np.testing.assert_allclose(holm(p), adjusted, rtol=1e-12, atol=0)


@given(p_values)
def test_benjamini_hochberg_is_the_step_up_of_the_paper(p):
    """The smallest level at which the procedure of the paper rejects each one."""
    m = len(p)
    expected = [min(m * q / np.count_nonzero(p <= q) for q in p if q >= own) for own in p]
    np.testing.assert_allclose(
        benjamini_hochberg(p), np.minimum(1, expected), rtol=1e-12, atol=1e-12
    )


@given(p_values)
def test_benjamini_yekutieli_is_the_same_times_a_harmonic_sum(p):
    harmonic = np.sum(1 / np.arange(1, len(p) + 1))
    plain = benjamini_hochberg(p)
    found = benjamini_yekutieli(p)
    below = plain * harmonic < 1
    np.testing.assert_allclose(found[below], (plain * harmonic)[below], rtol=1e-12, atol=1e-12)
    assert np.all(found[~below] == 1)


@given(p_values)
@example(np.array([0.0, 1.0, 0.0, 1.0, 0.03]))
@example(np.array([0.02, 0.02, 0.02, 0.5, 0.5]))
@example(np.zeros(3))
@example(np.ones(3))
def test_false_discovery_rates_agree_with_statsmodels(p):
    for ours, method in ((benjamini_hochberg, "fdr_bh"), (benjamini_yekutieli, "fdr_by")):
        theirs = multipletests(p, method=method)[1]
        np.testing.assert_allclose(ours(p), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("adjust", [benjamini_hochberg, benjamini_yekutieli])
def test_equal_p_values_stay_equal_and_those_given_are_left_alone(adjust):
    given = np.array([0.04, 0.001, 0.04, 1.0, 0.0])
    before = given.copy()
    adjusted = adjust(given)
    assert adjusted[0] == adjusted[2]
    assert (adjusted[3], adjusted[4]) == (1.0, 0.0)
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("adjust", [benjamini_hochberg, benjamini_yekutieli])
@pytest.mark.parametrize("wrong", [np.nan, -0.01, 1.01])
def test_what_is_no_probability_is_refused(adjust, wrong):
    """Silently it would make every other one of the family worthless."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust(np.array([0.5, wrong]))


def test_intervals_of_the_selected_are_wider_the_fewer_there_are():
    assert false_coverage_alpha(20, 20, 0.05) == 0.05
    assert false_coverage_alpha(3, 60, 0.05) == pytest.approx(0.0025)
    with pytest.raises(ValueError, match="0 selected of 20"):
        false_coverage_alpha(0, 20, 0.05)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg, benjamini_yekutieli])
def test_no_comparison_needs_no_correction(adjust):
    assert len(adjust(np.array([]))) == 0


def test_holm_by_hand():
    adjusted = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    np.testing.assert_allclose(adjusted, [0.03, 0.06, 0.06, 0.02])
