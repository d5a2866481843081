import numpy as np
import pytest
from diptest import diptest

from tiltyard.stats.bimodal import dip_test, two_modes


def heaps(weight: float, distance: float, n: int = 60, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1.0, n) + distance * (np.arange(n) >= weight * n)


def test_the_modes_are_found_with_their_shares():
    found = two_modes(heaps(0.3, 8.0) * 1e-3 + 20.0)
    assert found.low == pytest.approx(20.0, abs=1e-3)
    assert found.high == pytest.approx(20.008, abs=1e-3)
    assert found.weight_low == pytest.approx(0.3, abs=0.01)
    assert found.minor_weight == found.weight_low
    assert found.separation == pytest.approx(8.0, abs=1.5)
    assert found.bic_gain > 50


def test_one_mode_is_no_better_as_two():
    assert two_modes(heaps(0.5, 0.0)).bic_gain < 10


def test_the_dip_is_that_of_its_library_and_never_of_probability_zero():
    values = heaps(0.5, 6.0)
    dip, p = diptest(values)
    assert dip_test(values).dip == dip
    assert dip_test(values).p == max(p, 1e-6)
    assert dip_test(heaps(0.5, 0.0)).p > 0.05


def test_the_same_values_have_the_same_modes():
    values = heaps(0.4, 5.0)
    assert two_modes(values) == two_modes(values.copy())
