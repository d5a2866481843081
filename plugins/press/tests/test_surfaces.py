"""The projection of surfaces: what is near covers what is far, and heights are true."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltyard_press.charts.surfaces import Heights, View, faces, falls, round_ticks

VIEW = View(400)
SHARES = st.floats(0, 1)


def test_the_floor_is_a_diamond_with_its_near_corner_at_the_foot() -> None:
    far, right, left, near = VIEW.at(0, 0), VIEW.at(1, 0), VIEW.at(0, 1), VIEW.at(1, 1)
    assert far[0] == near[0] == 200
    assert (left[0], right[0]) == (0, 400)
    assert left[1] == right[1]
    assert far[1] < left[1] < near[1] == pytest.approx(VIEW.height_px)
    assert VIEW.at(0, 0, 1) == (200, 0)


@settings(deadline=None)
@given(SHARES, SHARES, SHARES)
def test_equal_heights_are_equally_long_everywhere(
    right: float, left: float, height: float
) -> None:
    foot, top = VIEW.at(right, left), VIEW.at(right, left, height)
    assert top[0] == foot[0]
    assert foot[1] - top[1] == pytest.approx(height * VIEW.at(0, 0)[1], abs=0.11)


@settings(deadline=None)
@given(st.integers(2, 6), st.integers(2, 6))
def test_near_pieces_are_drawn_after_far_ones(rows: int, columns: int) -> None:
    found = faces([[0.5] * columns for _ in range(rows)], VIEW)
    assert len(found) == (rows - 1) * (columns - 1)
    nearness = [sum(y for _, y in face.corners) for face in found]
    assert all(later >= earlier - 1 for earlier, later in pairwise(nearness))


def test_a_piece_is_as_high_as_its_corners() -> None:
    heights: Heights = [[0.0, 1.0], [0.5, 0.5]]
    (face,) = faces(heights, VIEW)
    assert face.height == 0.5
    assert face.corners == (
        VIEW.at(0, 0, 0.0),
        VIEW.at(1, 0, 1.0),
        VIEW.at(1, 1, 0.5),
        VIEW.at(0, 1, 0.5),
    )


def test_what_is_not_known_is_a_hole() -> None:
    heights: list[list[float | None]] = [[0.5] * 4 for _ in range(4)]
    heights[1][1] = None
    assert len(faces(heights, VIEW)) == 9 - 4


@settings(deadline=None)
@given(st.floats(1e-6, 1e12))
def test_ticks_are_round_and_reach_over_the_most(most: float) -> None:
    ticks = round_ticks(most)
    assert ticks[0] == 0
    assert 2 <= len(ticks) <= 6
    assert ticks[-1] >= most * (1 - 1e-6)


def test_the_lower_end_is_found() -> None:
    assert falls([3, 2, 1])
    assert not falls([1, 2, 3])
    assert falls([9, 1, 1, 2])
