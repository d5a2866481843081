"""Numbers as they are printed."""

import pytest

from tiltyard.units import (
    display_unit,
    format_number,
    format_ratio,
    format_value,
    reading_unit,
    unbroken,
)


@pytest.mark.parametrize(
    ("value", "unit", "printed"),
    [
        (1.21e9, "B/s", "1.21 GB/s"),
        (18_400, "1/s", "18,400 /s"),
        (3.2e-3, "s", "3.20 ms"),
        (0, "s", "0 s"),
        (9.41e9 / 8, "bit/s", "9.41 Gbit/s"),
        (67.21e6 / 8, "bit/s", "67.2 Mbit/s"),
        (0, "bit/s", "0 bit/s"),
        (50.4e-6, "µs", "50.4 µs"),
        (2.3e-3, "µs", "2,300 µs"),
        (0, "µs", "0 µs"),
        (1.003e-6 / 1024, "s/B", "1.00 µs/KB"),
        (0.117, "1", "11.7 %"),
        (0, "1", "0 %"),
        (5, "", "5.00"),
        (float("inf"), "B/s", "–"),
    ],
)
def test_a_value_has_three_digits_and_its_unit(value: float, unit: str, printed: str) -> None:
    assert format_value(value, unit) == printed


def test_of_a_network_throughput_is_in_bits_and_time_in_microseconds() -> None:
    assert reading_unit("B/s", network=True) == "bit/s"
    assert reading_unit("s", network=True) == "µs"
    assert reading_unit("1/s", network=True) == "1/s"
    assert reading_unit("B/s", network=False) == "B/s"


def test_bits_are_an_eighth_of_a_byte() -> None:
    factor, name = display_unit(1.25e9, "bit/s")
    assert (1.25e9 / factor, name) == (10.0, "Gbit/s")


def test_more_digits_where_they_are_asked_for() -> None:
    assert format_number(1_044.92, 4) == "1,045"
    assert format_number(37.956, 4) == "37.96"
    assert format_number(1_234_567) == "1,230,000"


@pytest.mark.parametrize(
    ("ratio", "half_width", "printed"),
    [
        (1.314, 0.05, "1.314"),
        (0.9974, 0.002, "0.9974"),
        (1.31, None, "1.31"),
        (12.44, 0.02, "12.4"),
        (2.25, 11.0, "2.2"),
        (0.041, 11.0, "0.04"),
        (23.2, 11.0, "23"),
        (0.0, 1.0, "0.0"),
    ],
)
def test_a_ratio_has_the_digits_of_its_interval_and_never_none(
    ratio: float, half_width: float | None, printed: str
) -> None:
    assert format_ratio(ratio, half_width) == printed


def test_counts_of_instructions_have_one_more_digit() -> None:
    assert format_value(5694.63, "instr/op") == "5,695 instr/op"
    assert format_value(339.8, "instr/op") == "339.8 instr/op"


def test_a_ratio_without_any_width_has_all_its_digits() -> None:
    assert format_ratio(0.97134, 0.0) == "0.9713"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("4.2 to 27 % (95 % CI)", "4.2 to 27~% (95~% CI)"),
        ("from 4 KiB to 64 MiB, at 9.41 Gbit/s", "from 4~KiB to 64~MiB, at 9.41~Gbit/s"),
        ("18,400 /s after 3.2 ms, 5 s", "18,400~/s after 3.2~ms, 5~s"),
        ("20 blocks, 5 systems, 4 spares", "20 blocks, 5 systems, 4 spares"),
        ("one % of it; 3.12, %", "one % of it; 3.12, %"),
    ],
)
def test_no_line_ends_between_a_number_and_its_unit(text: str, kept: str) -> None:
    assert unbroken(text) == kept.replace("~", "\u00a0")
