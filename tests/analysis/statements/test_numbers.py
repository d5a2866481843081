from dataclasses import dataclass

import pytest

from tiltyard.analysis.line import interval_text
from tiltyard.analysis.statements.numbers import (
    compatible,
    confidence,
    ends,
    printed_digits,
    scale_of_difference,
)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.97, 1.052, "−3.0 to +5.2 %"),
        (0.992, 1.011, "−0.8 to +1.1 %"),
        (0.7, 1.5, "−30 to +50 %"),
        (0.4, 2.9, "0.4× to 2.9×"),
        (0.99999, 1.02, "0.0 to +2.0 %"),
        (1.0001, 1.0001, "+0.0100 to +0.0100 %"),
        (1.0000001, 1.0000002, "+0.0000100 to +0.0000200 %"),
        (1.0, 1.0, "0.0 to 0.0 %"),
    ],
)
def test_all_that_an_interval_leaves_possible(low, high, text):
    assert compatible(low, high) == text


@pytest.mark.parametrize(
    ("low", "high", "verdict", "text"),
    [
        (0.904, 1.0, "slower", "−9.6 to < 0.0 %"),
        (1.0, 1.19, "faster", "> 0 to +19 %"),
        (1.0, 2.9, "faster", "> 1.0× to 2.9×"),
        (1.0, 1.19, "undecided", "0 to +19 %"),
    ],
)
def test_an_end_at_equality_is_open_where_a_verdict_excludes_it(low, high, verdict, text):
    assert compatible(low, high, verdict) == text


@pytest.mark.parametrize(
    ("level", "rate", "text"),
    [
        (0.95, None, "95 % CI"),
        (0.95, 0.05, "95 % CI"),
        (1 - 0.05 / 6, None, "simultaneous 95 % CI"),
        (1 - 0.05 / 90, 0.05, "selection-adjusted 95 % CI"),
        (1 - 0.20 / 90, 0.20, "selection-adjusted 80 % CI"),
    ],
)
def test_an_interval_among_many_is_called_by_what_holds_for_all_of_them(level, rate, text):
    assert confidence(level, rate) == text


def test_doubling_is_told_as_a_factor_and_halving_in_percent():
    assert scale_of_difference(1.9, 2.4).amount(2.1) == "2.10×"
    assert scale_of_difference(0.4, 0.6).amount(0.5) == "50 %"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.04, 1.27, "4 to 27 %"),
        (1.0004, 1.07, "0.04 to 7.0 %"),
        (0.2371, 0.9999, "0.01 to 76 %"),
        (0.93, 0.9996, "0.04 to 7.0 %"),
        (1.02, 9.0, "1.02 to 9.0×"),
        (1.0, 1.07, "> 0.0 to 7.0 %"),
        (0.53, 1.0, "> 0 to 47 %"),
        (1.0, 1.0, "0.0 to 0.0 %"),
    ],
)
def test_an_interval_of_a_difference_never_reads_as_if_there_were_none(low, high, text):
    assert ends(low, high) == text


@pytest.mark.parametrize(
    ("low", "high", "verdict", "text"),
    [
        (0.53, 1.0, "slower", "0.53 … < 1.00"),
        (1.0, 1.06, "faster", "> 1.000 … 1.060"),
        (0.53, 1.0, "undecided", "0.53 … 1.00"),
        (0.73, 0.9996, "slower", "0.7300 … 0.9996"),
    ],
)
def test_an_end_at_1_is_open_where_the_verdict_excludes_it(low, high, verdict, text):
    assert interval_text(Over(0.9, low, high, verdict)) == text


@dataclass(frozen=True)
class Over:
    ratio: float
    low: float
    high: float
    verdict: str


@pytest.mark.parametrize(
    ("value", "against", "half", "most", "digits"),
    [
        (0.62, 0.47, 0.005, 1, 0),  # ±2.4 %
        (8.5, 2.28, 0.005, 2, 0),  # +272.8 ± 1.0 %
        (37.96, 59.0, 0.005, 2, 2),  # ±0.01 %
        (650_379, 475_000, 0.5, 1, 1),
        (281.0, 280.0, 0.5, 1, 1),  # +0.4: as a whole number it would be none
        (0.62, 0.62, 0.005, 1, 1),
    ],
)
def test_a_difference_of_printed_values_has_no_more_digits_than_they_have(
    value, against, half, most, digits
):
    assert printed_digits(value, against, half, most) == digits
