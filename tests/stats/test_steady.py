"""Warm-up and steady state on series whose truth is plain."""

import numpy as np
import pytest

from tiltyard.stats.steady import mser5, steady_state


def noise(seed, size, deviation=0.01):
    return 1 + np.random.default_rng(seed).normal(0, deviation, size)


@pytest.mark.parametrize(("slow", "cut"), [(20, 20), (18, 20), (21, 25)])
def test_a_slow_beginning_is_cut_off_in_whole_batches(slow, cut):
    series = np.ones(100)
    series[:slow] = 0.5
    assert mser5(series) == cut


def test_the_cut_is_the_minimum_of_the_definition():
    series = np.random.default_rng(3).gamma(2, 1, 83)
    batches = series[:80].reshape(16, 5).mean(axis=1)
    sums = [((batches[d:] - batches[d:].mean()) ** 2).sum() / (16 - d) ** 2 for d in range(9)]
    assert mser5(series) == 5 * int(np.argmin(sums))


def test_no_more_than_half_is_cut_off():
    assert mser5(np.linspace(1, 2, 100)) == 50


def test_a_constant_series_has_no_warm_up():
    assert mser5(np.ones(20)) == 0


def test_short_series_are_refused():
    with pytest.raises(ValueError, match="too few"):
        mser5(np.ones(19))
    with pytest.raises(ValueError, match="too few"):
        steady_state(np.ones(19), 1.0)


def test_a_level_series_is_steady():
    found = steady_state(noise(4, 120), 1.0)
    assert found.steady
    assert found.p > 0.01


def test_the_first_half_does_not_count():
    series = noise(5, 120)
    series[:60] = 9
    assert steady_state(series, 1.0) == steady_state(noise(5, 120), 1.0)


def test_a_jump_breaks_the_range_and_the_halves():
    series = noise(6, 120)
    series[90:] *= 1.3
    found = steady_state(series, 1.0)
    assert found.spread > 0.2
    assert found.p < 0.01
    assert not found.steady


def test_a_slope_breaks_the_excursion():
    series = noise(7, 120, 0.001) * np.linspace(1, 1.25, 120)
    found = steady_state(series, 1.0)
    assert found.spread < 0.2
    assert found.excursion > 0.1
    assert not found.steady


def test_halves_of_less_than_two_means_are_not_tested():
    assert steady_state(noise(8, 30), 1.0).p is None
    assert steady_state(noise(8, 45), 1.0).p is not None


def test_a_step_without_any_noise_is_told_by_its_range_alone():
    series = np.where(np.arange(120) < 90, 1.0, 2.0)
    found = steady_state(series, 1.0)
    assert found.p is None
    assert not found.steady


def test_one_half_without_noise_is_compared_like_any_other():
    series = noise(10, 120)
    series[90:] = 1.1
    assert steady_state(series, 1.0).p < 0.01


def test_units_do_not_matter():
    series = noise(9, 120, 0.05)
    one, other = steady_state(series, 1.0), steady_state(series * 1e9, 1.0)
    assert (one.spread, one.excursion, one.p) == pytest.approx(
        (other.spread, other.excursion, other.p)
    )
    assert mser5(series) == mser5(series * 1e9)
