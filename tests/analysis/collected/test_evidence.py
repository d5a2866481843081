"""Ratios of results that were not run here, against known answers."""

import math

import numpy as np
import pytest
from scipy import stats

from support.collections import KB
from tiltyard.analysis.collected.evidence import Location, location, paired, together, unpaired
from tiltyard.collected.model import Reading


def test_values_are_compared_as_scipy_does_it() -> None:
    first = (10.1, 10.4, 9.9, 10.6)
    second = (9.0, 9.3, 9.1)
    places = [
        location(Reading(metric="m", system=name, values=values), None)
        for name, values in (("a", first), ("b", second))
    ]
    (found,) = unpaired([(places[0], places[1])])  # type: ignore[list-item]
    own = stats.ttest_ind(np.log(first), np.log(second), equal_var=False)
    interval = own.confidence_interval(0.95)
    assert found.p == pytest.approx(own.pvalue, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert found.n == 3
    assert not found.paired


def test_a_summary_is_worth_what_its_values_are_to_first_order() -> None:
    values = np.array([100.0, 101.0, 99.5, 100.4, 99.1])
    whole = location(Reading(metric="m", system="a", values=tuple(values)), None)
    kept = location(
        Reading(metric="m", system="a", mean=values.mean(), sd=values.std(ddof=1), n=5), None
    )
    assert whole is not None
    assert kept is not None
    assert kept.mean == pytest.approx(whole.mean, abs=1e-4)
    assert kept.error == pytest.approx(whole.error, rel=0.01)


def test_a_standard_error_printed_as_zero_is_not_zero() -> None:
    found = location(Reading(metric="m", system="a", mean=512.0 * 1024, se=0.0, n=3), KB)
    assert found is not None
    assert found.error == pytest.approx(0.5 / 512)
    assert found.rounding == pytest.approx(0.5 / 512)


def test_a_single_number_has_no_interval() -> None:
    one = location(Reading(metric="m", system="a", mean=4.0), None)
    other = location(Reading(metric="m", system="b", values=(2.0,)), None)
    assert one is not None
    assert other is not None
    (found,) = unpaired([(one, other)])
    assert found.estimate == pytest.approx(math.log(2))
    assert (found.low, found.high, found.p) == (None, None, None)


def test_an_interval_of_absurd_width_is_still_one_of_numbers() -> None:
    wide = Location(0.0, 1e30, 3)
    (found,) = unpaired([(wide, Location(0.0, 0.1, 3))])
    assert found.low is not None
    assert found.high is not None
    assert 0 < math.exp(found.low) < math.exp(found.high) < math.inf


def test_nothing_is_said_of_what_is_not_positive() -> None:
    assert location(Reading(metric="m", system="a", values=(1.0, 0.0)), None) is None
    assert location(Reading(metric="m", system="a"), None) is None


def test_blocks_pair_what_has_the_same_number() -> None:
    first = Reading(metric="m", system="a", values=(2.0,) * 6, blocks=(6, 5, 4, 3, 2, 1))
    second = Reading(metric="m", system="b", values=(1.0,) * 7, blocks=(1, 2, 3, 4, 5, 6, 7))
    found = paired(first, second)
    assert found is not None
    assert found.n == 6
    assert found.estimate == pytest.approx(math.log(2))
    assert paired(first, second.model_copy(update={"blocks": (7, 8, 9, 10, 11, 12, 13)})) is None


def test_a_mean_of_logarithms_is_surer_than_its_parts() -> None:
    found = together([Location(1.0, 0.3, 5), Location(3.0, 0.4, 3)])
    assert found.mean == 2.0
    assert found.error == pytest.approx(0.25)
    assert found.n == 3
    assert together([Location(1.0, 0.3, 5), Location(3.0, None, 1)]).error is None
