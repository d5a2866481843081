"""Percentiles that are known to a bucket of a histogram: coverage, and what is at the margin."""

import pytest

from simulation.bins import BinRates, bin_rates


@pytest.fixture(scope="module")
def rates() -> tuple[BinRates, ...]:
    return bin_rates(60, seed=9)


def test_intervals_hold_the_true_ratio_wherever_it_lies_in_a_bucket(
    rates: tuple[BinRates, ...],
) -> None:
    """At the worst of 16 places, of 60 comparisons each: 5 % ± 4 errors."""
    assert max(one.misses for one in rates) <= 0.16
    assert rates[0].misses_as_exact > 0.9


def test_what_is_at_the_margin_is_not_called_equivalent(rates: tuple[BinRates, ...]) -> None:
    assert max(one.equivalent for one in rates) <= 0.1
    assert rates[0].equivalent_as_exact > 0.9
