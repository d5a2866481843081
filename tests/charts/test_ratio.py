"""The ratio axis."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from support.specimen import findings as specimen
from tiltyard.charts import ratio

FINDINGS = specimen(blocks=2, workloads=("postmark",))
RATIOS = st.lists(st.floats(0.002, 500), max_size=20)


@given(RATIOS)
def test_everything_drawn_is_inside_with_the_band(ratios: list[float]) -> None:
    low, high = ratio.domain(FINDINGS, ratios)
    assert all(low < drawn < high for drawn in (*ratios, *ratio.band(FINDINGS)))


@given(RATIOS)
def test_the_axis_has_enough_ticks_and_one_among_them(ratios: list[float]) -> None:
    low, high = ratio.domain(FINDINGS, ratios)
    ticks = ratio.ticks((low, high))
    assert 3 <= len(ticks) <= 11
    assert 1 in ticks
    assert all(low <= tick <= high for tick in ticks)


@given(RATIOS)
def test_no_long_stretch_is_without_a_tick(ratios: list[float]) -> None:
    low, high = ratio.domain(FINDINGS, ratios)
    places = [math.log(place) for place in (low, *ratio.ticks((low, high)), high)]
    longest = max(b - a for a, b in pairwise(places))
    assert longest <= 0.4 * (places[-1] - places[0])


def test_what_cannot_be_drawn_does_not_stretch_the_axis() -> None:
    assert ratio.domain(FINDINGS, [None, 0.0, float("inf")]) == ratio.domain(FINDINGS, [])


def test_the_band_is_symmetric_in_the_ratio() -> None:
    low, high = ratio.band(FINDINGS)
    assert low * high == 1
    assert high == 1.02


def test_the_axis_says_which_way_is_better_if_that_is_the_same_for_all() -> None:
    index = FINDINGS.workloads[0].index
    times = index.model_copy(update={"direction": "lower"})
    words = "relative to ext4, log scale"
    assert ratio.axis_title(FINDINGS, [index]) == f"{words} (right is better)"
    assert ratio.axis_title(FINDINGS, [times]) == f"{words} (left is better)"
    assert ratio.axis_title(FINDINGS, [index, times]) == words
