"""What passes and what does not, on series whose truth is known."""

import math

import numpy as np
import pytest

from tiltyard.stats.types import FloatArray
from tiltyard.wire import Floor
from tiltyard_calibrate.examine import (
    clock_of,
    delay_of,
    overhead_of,
    same_of,
    sensitivity_of,
    step_of,
)

FLOOR = Floor(clock_ns=25.0, clock_step_ns=20.0, operation_ns=2.5)
BLOCKS = 400


def times_ns(seed: int, extra_ns: float, cv: float = 0.01) -> tuple[FloatArray, FloatArray]:
    """Operations of 6 µs with noise, and with something on top, in blocks that wander."""
    random = np.random.default_rng(seed)
    wander = np.exp(np.cumsum(random.normal(0, 0.01, BLOCKS)))
    plain = 6000 * wander * np.exp(random.normal(0, cv, BLOCKS))
    delayed = 6000 * wander * np.exp(random.normal(0, cv, BLOCKS)) + extra_ns
    return plain, delayed


def test_a_delay_that_is_there_is_recovered() -> None:
    found = delay_of(600, *times_ns(1, 600.0))
    assert found is not None
    assert found.passed
    assert (found.comparisons, found.wrong_sign, found.found) == (20, 0, 20)
    assert found.covered >= found.covered_needed == 17
    assert found.bias_ns == pytest.approx(0, abs=30)
    assert found.resolvable


@pytest.mark.parametrize("extra_ns", [0.0, 400.0, 900.0, -600.0])
def test_an_instrument_that_sees_another_delay_fails(extra_ns: float) -> None:
    found = delay_of(600, *times_ns(2, extra_ns))
    assert found is not None
    assert not found.passed


def test_a_delay_that_is_right_on_average_only_fails() -> None:
    plain, _ = times_ns(6, 0.0, cv=0.001)
    noise = np.random.default_rng(6).normal(0, 10, BLOCKS)
    off = np.where(np.arange(BLOCKS) // 20 % 2, 400.0, -400.0)
    found = delay_of(600, plain, plain + 600 + off + noise)
    assert found is not None
    assert found.low_ns < 600 < found.high_ns
    assert (found.wrong_sign, found.covered, found.passed) == (0, 0, False)


def test_a_small_bias_that_single_comparisons_cannot_see_fails() -> None:
    found = delay_of(600, *times_ns(9, 750.0, cv=0.045))
    assert found is not None
    assert found.wrong_sign == 0
    assert found.covered >= found.covered_needed
    assert not found.passed


def test_a_delay_with_the_wrong_sign_is_counted() -> None:
    found = delay_of(600, *times_ns(3, -600.0))
    assert found is not None
    assert found.wrong_sign == 20


def test_on_a_noisy_host_a_small_delay_need_not_be_found_but_must_be_covered() -> None:
    found = delay_of(300, *times_ns(4, 300.0, cv=0.1))
    assert found is not None
    assert not found.resolvable
    assert found.found < 16
    assert found.covered >= found.covered_needed


def test_too_few_blocks_make_no_comparison() -> None:
    plain, delayed = times_ns(5, 600.0)
    assert delay_of(600, plain[:19], delayed[:19]) is None
    assert same_of(np.zeros((19, 2)), 0) is None


def test_equal_names_pass_and_a_biased_instrument_does_not() -> None:
    random = np.random.default_rng(6)
    values = random.normal(0, 0.02, (1200, 2)) + np.cumsum(random.normal(0, 0.01, 1200))[:, None]
    found = same_of(values, disturbed=3)
    assert found is not None
    assert found.passed
    assert (found.comparisons, found.allowed, found.blocks_disturbed) == (60, 7, 3)
    assert found.false_verdicts <= 7
    assert found.cv_percent == pytest.approx(2.0, rel=0.15)
    assert found.resolution_percent == pytest.approx(2.6, abs=0.5)
    biased = same_of(values + np.array([0.0, 0.02]), disturbed=0)
    assert biased is not None
    assert not biased.passed


def rates(seed: int, operation_ns: float) -> FloatArray:
    """Logarithms of rates under two names, shape (40, 2)."""
    noise = np.random.default_rng(seed).normal(0, 0.004, (40, 2))
    return math.log(1e9 / operation_ns) + noise


def times(seed: int, operation_ns: float) -> FloatArray:
    """The same as times in ns."""
    return 1e9 * np.exp(-rates(seed, operation_ns))


def test_cheap_clock_readings_pass_and_dear_ones_do_not() -> None:
    cheap = overhead_of("reads", times(7, 6000.0), times(8, 6025.0), 2.5, allowed_share=0.01)
    assert cheap.passed
    assert cheap.timed_ns == pytest.approx(25, abs=10)
    assert cheap.loop_share == pytest.approx(2.5 / 6000, rel=0.01)
    near = overhead_of("reads", times(7, 6000.0), times(8, 6050.0), 2.5, 0.01)
    assert near.passed is None, "50 ns are neither ruled out nor exceeded"
    assert overhead_of("reads", times(7, 6000.0), times(8, 6200.0), 2.5, 0.01).passed is False


def test_a_loop_that_takes_its_share_of_an_operation_does_not_pass() -> None:
    assert overhead_of("reads", times(7, 500.0), times(8, 525.0), 2.5, 0.01).passed
    assert overhead_of("reads", times(7, 500.0), times(8, 525.0), 6.0, 0.01).passed is False


def test_a_metric_must_follow_its_calls() -> None:
    values = np.column_stack((rates(9, 6000.0)[:, 0], rates(9, 12_000.0)[:, 1]))
    found = sensitivity_of("read", values)
    assert (found.passed, found.blocks) == (True, 40)
    assert found.drop == pytest.approx(0.5, abs=0.01)
    values = np.column_stack((rates(9, 6000.0)[:, 0], rates(9, 7000.0)[:, 1]))
    assert not sensitivity_of("read", values).passed


@pytest.mark.parametrize(("ratio", "passed"), [(0.95, True), (0.943, False), (1.05, False)])
def test_a_step_must_be_found_where_it_was_set(ratio: float, passed: bool) -> None:
    full = np.random.default_rng(10).normal(17, 0.001, 20)
    full[3] = np.nan
    less = full + math.log(ratio) + np.random.default_rng(11).normal(0, 0.001, 20)
    found = step_of("475 Mbit/s", 0.95, full, less, allowed=0.5)
    assert (found.passed, found.blocks) == (passed, 19)
    assert found.true_percent == pytest.approx(-5)


def test_the_clock_must_be_fine_and_stay() -> None:
    assert clock_of(FLOOR, ["tsc", "tsc"], 0.02).passed
    assert not clock_of(FLOOR, ["tsc", "hpet"], 0.02).passed
    assert not clock_of(FLOOR, ["tsc"], 19e-6).passed
    assert clock_of(FLOOR, ["tsc"], 20e-6).passed
