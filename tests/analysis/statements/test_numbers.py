import pytest

from tiltyard.analysis.statements.numbers import compatible, scale_of_difference


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


def test_doubling_is_told_as_a_factor_and_halving_in_percent():
    assert scale_of_difference(1.9, 2.4).amount(2.1) == "2.10×"
    assert scale_of_difference(0.4, 0.6).amount(0.5) == "50 %"
