"""Series of blocks as many comparisons: cutting, stopping, counting."""

import math

import numpy as np
import pytest

from tiltyard_calibrate.examine import (
    EACH,
    allowed,
    compared,
    interval_of,
    pieces,
    resolution_percent,
    uniform_p,
)

ROPE = math.log1p(0.02)


@pytest.mark.parametrize(("trials", "may"), [(200, 16), (60, 7)])
def test_the_allowed_number_is_that_of_the_acceptance_table(trials: int, may: int) -> None:
    assert allowed(trials, 0.05) == may


def test_of_fifty_intervals_six_may_miss() -> None:
    assert 50 - allowed(50, 0.05) == 44


def test_a_series_is_cut_without_remainder_and_without_gaps() -> None:
    series = np.arange(50.0)
    series[3] = np.nan
    found = list(pieces(series))
    assert [len(piece) for piece in found] == [EACH, EACH]
    assert found[0][:4].tolist() == [0, 1, 2, 4]
    assert found[1][-1] == 40


def test_a_pair_needs_both_members() -> None:
    series = np.ones((41, 2))
    series[0, 1] = np.nan
    assert sum(map(len, pieces(series))) == 40
    series[1, 0] = np.nan
    assert sum(map(len, pieces(series))) == EACH


def test_a_clear_difference_stops_at_the_first_look() -> None:
    differences = np.random.default_rng(1).normal(0.05, 0.005, EACH)
    found = compared(differences, ROPE)
    assert (found.verdict, found.found.n, found.c) == ("more", 7, 0)
    assert compared(-differences, ROPE).verdict == "less"
    assert found.whole.n == EACH


def test_little_noise_proves_equivalence() -> None:
    differences = np.random.default_rng(2).normal(0, 0.002, EACH)
    assert compared(differences, ROPE).verdict == "equivalent"


def test_much_noise_decides_nothing() -> None:
    differences = np.random.default_rng(3).normal(0, 0.2, EACH)
    found = compared(differences, ROPE)
    assert (found.verdict, found.found.n) == ("undecided", EACH)


def test_equal_systems_are_told_apart_as_rarely_as_promised() -> None:
    random = np.random.default_rng(4)
    series = random.normal(0, 0.03, 2000 * EACH)
    false = sum(compared(piece, ROPE).verdict in ("less", "more") for piece in pieces(series))
    assert 0.035 < false / 2000 < 0.065


def test_p_values_of_equal_systems_are_uniform_and_of_unequal_ones_not() -> None:
    random = np.random.default_rng(5)

    def p_values(shift: float) -> list[float]:
        return [compared(piece, ROPE).whole.p for piece in pieces(random.normal(shift, 1, 1200))]

    assert (uniform_p(p_values(0.0)) or 0) > 0.01
    assert (uniform_p(p_values(1.0)) or 1) < 0.01
    assert uniform_p([0.5] * 4) is None


def test_the_smallest_difference_is_found_by_four_comparisons_of_five() -> None:
    piece = np.random.default_rng(6).normal(0, 0.03, EACH)
    whole = compared(piece, ROPE).whole
    assert resolution_percent([compared(piece, ROPE)]) == pytest.approx(
        100 * math.expm1(1.35 * (whole.high - whole.low) / 2)
    )
    random = np.random.default_rng(9)
    made = [random.normal(0, 0.03, EACH) for _ in range(600)]
    smallest = math.log1p(resolution_percent([compared(one, ROPE) for one in made]) / 100)
    found = [compared(one + smallest, ROPE).verdict == "more" for one in made]
    assert 0.75 < sum(found) / len(found) < 0.86


def test_the_interval_of_a_whole_series_covers_with_95_percent() -> None:
    random = np.random.default_rng(7)
    found = [interval_of(random.normal(1.0, 0.5, 15)) for _ in range(800)]
    covered = sum(one.low <= 1.0 <= one.high for one in found) / len(found)
    assert 0.93 < covered < 0.98
