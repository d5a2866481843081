"""Planning: the formula's known answers, and resampling against it."""

import math

import numpy as np
import pytest
from scipy.stats import t

from simulation.forecasts import FAMILIES, NOISES, likely_forecast, look_forecast
from tiltyard.stats.planning import (
    blocks_for_half_width,
    blocks_needed,
    blocks_to_find,
    deviation_interval,
    difference_found,
    expected_looks,
    pair_deviation,
    prediction_interval,
)
from tiltyard.stats.sequential import RepeatedInterval, Spending, looks, repeated_interval

STANDARD = looks("standard", False, None)


@pytest.mark.parametrize(("cv", "blocks"), [(0.01, 4), (0.03, 11), (0.10, 92)])
def test_the_formula_gives_the_methods_numbers(cv, blocks):
    assert blocks_to_find(pair_deviation(cv), 0.05, 0.9) == blocks


def test_correlation_within_blocks_saves_blocks():
    assert pair_deviation(0.1, 0.75) == pytest.approx(pair_deviation(0.1) / 2)
    assert blocks_to_find(pair_deviation(0.1, 0.75), 0.05, 0.9) == 26


@pytest.mark.parametrize("blocks", [4, 11, 92, 500])
def test_the_smallest_difference_is_the_formulas_inverse(blocks):
    found = difference_found(0.04, blocks, 0.8)
    assert blocks_to_find(0.04, found, 0.8) == blocks


def test_three_blocks_find_nothing():
    assert difference_found(0.04, 3, 0.9) is None


def needed(estimate, half_width, blocks=20, claim_level=0.05, rope=0.02, level=0.95):
    interval = RepeatedInterval(
        blocks, estimate, estimate - half_width, estimate + half_width, 0.5, level
    )
    spending = Spending("standard", False, STANDARD)
    return blocks_needed(spending, [interval], math.log1p(rope), claim_level)[0]


def test_blocks_needed_are_looks_first_and_grow_with_the_noise():
    assert needed(0.10, 0.11, blocks=7) == 10
    assert 20 < needed(0.10, 0.15) < needed(0.10, 0.2) < needed(0.10, 0.3)
    # A family claims later, and equivalence is not reached at once either.
    assert needed(0.10, 0.15, claim_level=0.05 / 15) > needed(0.10, 0.15)
    assert needed(0.0, 0.9) is None
    assert blocks_for_half_width(7, 0.06, 0.02) == 63


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("noise", NOISES)
def test_forecasts_come_true_as_often_as_they_say(noise, family):
    """Pilots of five blocks, over differences up to ±10 % and noises of 0.5 to 10 %."""
    assert look_forecast(noise, family, 300, np.random.default_rng(21)).off <= 0.05


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("noise", NOISES)
def test_the_blocks_that_are_needed_decide_in_four_of_five(noise, family):
    found = likely_forecast(noise, family, 120, np.random.default_rng(22))
    assert found.said > 60
    error = 3 * math.sqrt(0.8 * 0.2 / found.said)
    assert 0.75 - error <= found.came_true <= 0.95 + error


def test_five_blocks_know_their_noise_badly():
    low, high = deviation_interval(1.0, 5)
    # chi-squared quantiles of 4 degrees of freedom: 11.1433 and 0.484419 (printed tables).
    assert low == pytest.approx(math.sqrt(4 / 11.1433), abs=1e-5)
    assert high == pytest.approx(math.sqrt(4 / 0.484419), abs=1e-5)


def test_the_prediction_interval_covers_repetitions():
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.02, 0.03, (4000, 7)), rng.normal(0.02, 0.03, (4000, 10))
    inside = 0
    for one, other in zip(first, second, strict=True):
        low, high = prediction_interval(one.mean(), one.std(ddof=1), 7, 10)
        inside += low <= other.mean() <= high
    assert inside / 4000 == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / 4000))


def foresee(differences, *, level=0.05, power=0.9, seed=5):
    return expected_looks(
        differences, Spending("standard", False, STANDARD),
        rope=math.log1p(0.02), level=level, power=power, seed=seed,
    )  # fmt: skip


def test_resampling_foresees_what_new_blocks_then_show():
    rng = np.random.default_rng(4)
    sample = rng.normal(0, 0.03, 200)
    new = rng.normal(0, 0.03, (400, 20))
    for expected in foresee(sample):
        found = [repeated_interval(path[: expected.blocks], "standard", STANDARD) for path in new]
        widths = [(one.high - one.low) / 2 for one in found]
        assert expected.half_width == pytest.approx(np.median(widths), rel=0.12)


def test_a_difference_of_the_size_foreseen_is_found_with_that_power():
    rng = np.random.default_rng(6)
    expected = foresee(rng.normal(0, 0.03, 200))[-1]
    paths = rng.normal(expected.difference, 0.03, (400, 20))
    found = np.zeros(400, dtype=bool)
    for n, _ in STANDARD:
        intervals = [repeated_interval(path[:n], "standard", STANDARD) for path in paths]
        found |= np.array([one.low > 0 for one in intervals])
    assert found.mean() == pytest.approx(0.9, abs=0.06)


def test_resampling_agrees_with_the_formula_where_the_noise_is_normal():
    sample = np.random.default_rng(7).normal(0, 0.03, 300)
    last = foresee(sample)[-1]
    formula = math.log1p(difference_found(float(sample.std(ddof=1)), last.blocks, 0.9))
    # Four looks and ranks cost a little more than the formula's one look.
    assert 1.0 < last.difference / formula < 1.35


def test_few_blocks_are_not_taken_for_less_noise():
    rng = np.random.default_rng(8)
    widths = [foresee(rng.normal(0, 0.03, 5))[-1].half_width for _ in range(60)]
    whole = foresee(rng.normal(0, 0.03, 300))[-1].half_width
    assert np.sqrt(np.mean(np.square(widths))) == pytest.approx(whole, rel=0.25)


def test_with_many_comparisons_an_early_look_claims_nothing():
    expected = foresee(np.random.default_rng(9).normal(0, 0.03, 50), level=0.05 / 40)
    assert [one.difference is None for one in expected] == [True, True, False, False]


def test_the_first_look_of_fast_is_a_t_test_and_can_claim():
    """Five blocks have no signed-rank interval of 95 %; with a model of the noise they have one."""
    spending = Spending("fast", False, looks("fast", False, None))
    sample = np.random.default_rng(12).normal(0, 0.03, 300)
    five, *_ = expected_looks(sample, spending, rope=0.02, level=0.05, power=0.9, seed=5)
    half_width = float(t.ppf(0.995, 4)) * sample.std(ddof=1) / math.sqrt(5)
    assert five.blocks == 5
    assert five.half_width == pytest.approx(half_width, rel=0.1)
    assert five.difference is not None


def test_equal_systems_with_little_noise_will_be_decided():
    noise = np.random.default_rng(10).normal(0, 1, 20)
    noise -= noise.mean()
    quiet, noisy = foresee(0.003 * noise), foresee(0.3 * noise)
    assert quiet[0].decided > 0.99
    # Nor is the difference of a noisy sample known: some of those that it leaves open are found.
    assert noisy[-1].decided < 0.15


def test_the_same_seed_foresees_the_same():
    sample = np.random.default_rng(11).normal(0, 0.03, 9)
    assert foresee(sample) == foresee(sample)
    assert foresee(sample) != foresee(sample, seed=6)


def test_one_block_foresees_nothing():
    with pytest.raises(ValueError, match="two blocks"):
        foresee(np.array([0.1]))
