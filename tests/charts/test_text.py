"""Room for texts, and names that fit and differ."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltyard.charts.theme import distinct, extent_px, named_axis, text_px

LONG = [
    "Red Hat Enterprise Linux 6, out-of-box",
    "Red Hat Enterprise Linux 6, optimized",
    "Microsoft Windows Server 2012, out-of-box",
]


def test_a_width_is_that_of_the_typeface() -> None:
    assert text_px("M", 100) > text_px("n", 100) > text_px("i", 100) > 0
    assert text_px("漢", 100) > text_px("n", 100)
    assert text_px("first\nsecond") == text_px("first second")


@pytest.mark.parametrize("name", ["WWWW 100 % MMM", "Red Hat Enterprise Linux 6.4, XFS, optimized"])
def test_a_name_has_room(name: str) -> None:
    assert text_px(name) + 8 <= extent_px([name, "x"]) < text_px(name) + 9


@settings(deadline=None)
@given(st.text(min_size=1), st.floats(20, 300))
def test_a_name_has_the_room_it_is_given(name: str, room_px: float) -> None:
    assert text_px(distinct([name], room_px)[name]) <= room_px


@pytest.mark.parametrize("room_px", [90, 120, 180, 400])
def test_names_that_begin_alike_are_told_apart(room_px: float) -> None:
    shown = distinct(LONG, room_px)
    assert list(shown) == LONG
    assert len(set(shown.values())) == len(LONG)
    assert all(text_px(text) <= room_px for text in shown.values())


def test_names_that_fit_stay_as_they_are() -> None:
    assert distinct(["ext4", "xfs"], 100) == {"ext4": "ext4", "xfs": "xfs"}


def test_an_axis_has_the_room_that_its_names_need_but_no_more_than_there_is() -> None:
    names = {"0": LONG[0]}
    assert named_axis(names)["minExtent"] == extent_px([LONG[0]])
    assert named_axis(names, most_px=1000) == named_axis(names)
    cut = named_axis(names, most_px=100)
    assert (cut["minExtent"], cut["labelLimit"]) == (100, 94)
