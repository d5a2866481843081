"""Verdicts on known differences."""

import math

import numpy as np
import pytest

from support.contrasts import FASTER, design_of, judged, quantity_of
from tiltyard.analysis.contrast import Contrasts
from tiltyard.analysis.judging import judge
from tiltyard.analysis.quantity import Quantity
from tiltyard.stats.multiple import benjamini_hochberg


def test_seven_blocks_on_one_side_are_a_verdict_with_the_known_numbers():
    (contrast,) = judged(quantity_of(FASTER)).contrasts
    assert (contrast.system, contrast.against, contrast.verdict) == ("b", "a", "faster")
    interval = contrast.interval
    assert interval is not None
    assert (math.exp(interval.low), math.exp(interval.high)) == pytest.approx((1.24, 1.39))
    assert 1.30 < math.exp(interval.estimate) < 1.33
    assert interval.p == pytest.approx(0.0413, abs=3e-4)


@pytest.mark.parametrize(("direction", "verdict"), [("higher", "faster"), ("lower", "slower")])
def test_direction_of_the_metric_decides_what_faster_means(direction, verdict):
    assert judged(quantity_of(FASTER, direction)).contrasts[0].verdict == verdict


def test_six_blocks_are_not_enough_for_the_first_look():
    (contrast,) = judged(quantity_of(FASTER[:6])).contrasts
    assert contrast.verdict == "undecided"
    assert contrast.interval is None
    assert contrast.p_adjusted is None


def test_equivalent_needs_the_whole_interval_inside_the_region():
    near = [1.001, 0.999, 1.004, 0.997, 1.002, 1.0, 0.998]
    assert judged(quantity_of(near)).contrasts[0].verdict == "equivalent"
    assert (
        judged(quantity_of(near), design_of(equivalent_within=0.003)).contrasts[0].verdict
        == "undecided"
    )


def test_a_detected_but_irrelevant_difference_is_equivalent():
    small = [1.004, 1.005, 1.003, 1.006, 1.004, 1.005, 1.0045]
    (contrast,) = judged(quantity_of(small)).contrasts
    assert contrast.verdict == "equivalent"
    assert contrast.interval is not None
    assert contrast.interval.low > 0


def test_an_interval_reaches_to_equality_until_the_family_allows_to_exclude_it():
    noise = np.random.default_rng(1).normal(0, 0.1, (20, 7))
    family = [quantity_of(FASTER)] + [quantity_of(np.exp(row)) for row in noise]
    found = judge(family, ["a", "b"], design_of(), benjamini_hochberg, 0.05)[0].contrasts[0]
    assert found.interval is not None
    assert found.interval.low == 0 < found.interval.high
    assert found.p_adjusted is not None
    assert found.p_adjusted > 0.05
    assert found.verdict == "undecided"


@pytest.mark.parametrize(("failed", "verdict"), [([3], "faster"), ([1, 3, 5], "invalid")])
def test_more_than_a_fifth_of_failed_blocks_is_invalid(failed, verdict):
    ratios = FASTER + FASTER[: len(failed)]
    (contrast,) = judged(quantity_of(ratios, failed=failed), to_come=0).contrasts
    assert contrast.failed == len(failed)
    assert contrast.attempted == len(ratios)
    assert contrast.verdict == verdict


def test_an_invalid_comparison_makes_the_others_no_bolder():
    good, bad = quantity_of(FASTER), quantity_of(FASTER * 2, failed=range(7))
    found = judge([good, bad], ["a", "b"], design_of(), benjamini_hochberg, 0.05)
    assert found[1].contrasts[0].verdict == "invalid"
    alone = judged(good).contrasts[0]
    assert found[0].contrasts[0].p_adjusted == pytest.approx(2 * (alone.p_adjusted or 0))


def test_differences_beyond_the_look_wait():
    (contrast,) = judged(quantity_of([*FASTER, 0.2, 0.2])).contrasts
    assert contrast.interval is not None
    assert contrast.interval.blocks == 7
    assert len(contrast.differences) == 9
    assert contrast.verdict == "faster"


def test_a_pair_has_one_side_whoever_asks_for_it():
    found = judged(quantity_of(FASTER))
    forth, back = found.pair("b", "a"), found.pair("a", "b")
    assert (forth.system, forth.against, forth.verdict) == ("b", "a", "faster")
    assert (back.system, back.interval) == (forth.system, forth.interval)
    with pytest.raises(KeyError):
        found.pair("a", "c")


def test_every_pair_is_told_once_as_later_against_earlier():
    log_values = np.random.default_rng(2).normal(size=(7, 3))
    quantity = Quantity("the work", "s", "lower", 1, log_values, np.ones((7, 3), dtype=np.bool_))
    (found,) = judge([quantity], ["a", "b", "c"], design_of(), benjamini_hochberg, 0.05)
    pairs = [(contrast.system, contrast.against) for contrast in found.contrasts]
    assert pairs == [("b", "a"), ("c", "a"), ("c", "b")]
    assert found.systems == ("a", "b", "c")


def test_columns_say_what_their_rows_say():
    rng = np.random.default_rng(5)
    log_values = rng.normal(size=(23, 3)) * 0.01 + (0, 0, 0.2)
    log_values[[4, 9], 1] = np.nan
    quantity = Quantity("the work", "s", "lower", 1, log_values, np.ones((23, 3), dtype=np.bool_))
    early = Quantity("less", "s", "lower", 1, log_values[:3], np.ones((3, 3), dtype=np.bool_))
    parts = judge(
        [quantity, early], ["a", "b", "c"], design_of(), benjamini_hochberg, 0.05, baseline="b"
    )
    found = Contrasts.together(part.contrasts for part in parts)
    rows = list(found)
    assert [(row.system, row.against) for row in rows[:3]] == [("a", "b"), ("c", "a"), ("c", "b")]
    assert {row.verdict for row in rows} > {"slower"}
    assert found.verdicts == [row.verdict for row in rows]
    assert found.is_open.tolist() == [row.is_open for row in rows]
    assert found.made.tolist() == [len(row.differences) for row in rows] == [21, 23, 21, 3, 3, 3]
    assert found.has_interval.tolist() == [row.interval is not None for row in rows]
    assert found.means[:3] == pytest.approx([row.mean for row in rows[:3]])
    assert np.isnan(found.means[3:]).all()
    every = found.intervals(np.ones(len(found), dtype=np.bool_))
    assert every == [row.interval for row in rows if row.interval]
    assert found.waiting.tolist()[:3] == [
        len(row.differences) - row.interval.blocks for row in rows if row.interval
    ]
