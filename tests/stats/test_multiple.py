import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from tiltyard.stats.multiple import benjamini_hochberg, holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(np.array)


@given(p_values)
def test_holm_agrees_with_statsmodels(p):
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=0, atol=1e-12)


@given(p_values)
def test_benjamini_hochberg_agrees_with_statsmodels(p):
    expected = multipletests(p, method="fdr_bh")[1]
    np.testing.assert_allclose(benjamini_hochberg(p), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_no_comparison_needs_no_correction(adjust):
    assert len(adjust(np.array([]))) == 0


def test_holm_by_hand():
    adjusted = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    np.testing.assert_allclose(adjusted, [0.03, 0.06, 0.06, 0.02])
