"""Which axes are spoken of, what spans are called, and what is followed as a course."""

from collections.abc import Sequence

import pytest

from support.network_studies import MESSAGES, messages
from tiltyard.analysis.axes import Axis, Point, label_of, progress_of, spoken_axes

KIB = 1024


def labels(points: Sequence[Point]) -> list[str]:
    axes = spoken_axes(points)
    return [label_of(point, axes) for point in points]


def exchanges(sizes: Sequence[tuple[int, int]]) -> list[Point]:
    return [{"request": a, "response": b, "burst": 1, "flows": 1} for a, b in sizes]


def test_what_never_changes_is_not_said() -> None:
    assert labels(messages((64, 65_507))) == ["64 B message", "65,507 B message"]
    assert labels(messages((4 * KIB,), (0, 64 * KIB))) == [
        "auto receive buffer",
        "64 KiB receive buffer",
    ]


def test_of_one_point_all_is_said_but_what_is_left_to_the_kernel() -> None:
    assert labels(messages((64,))) == ["64 B message, 1 flow"]


def test_a_request_and_a_response_of_one_size_are_one_axis() -> None:
    assert labels(exchanges([(1, 1), (64, 64)])) == [
        "1 B request and response",
        "64 B request and response",
    ]
    assert labels(exchanges([(1, 1), (64, 1024)])) == [
        "1 B request, 1 B response",
        "64 B request, 1 KiB response",
    ]


def test_counts_that_happen_to_be_equal_stay_two_axes() -> None:
    points: list[Point] = [{"threads": n, "flows": n} for n in (1, 2)]
    assert labels(points) == ["1 thread, 1 flow", "2 threads, 2 flows"]


def test_every_point_has_a_label_of_its_own() -> None:
    points = messages((32, 64), (0, 8192), (1, 2))
    assert len(set(labels(points))) == len(points)


@pytest.mark.parametrize(
    ("names", "levels", "words"),
    [
        (("message",), MESSAGES, "messages of 32 B to 65,507 B"),
        (("request", "response"), (1, 64, 1024), "requests and responses of 1 B to 1 KiB"),
        (("receive_buffer",), (0, 8192, 2**21), "receive buffers of auto and 8 KiB to 2 MiB"),
        (("receive_buffer",), (0, 8192), "receive buffers of auto and 8 KiB"),
        (("record",), (4 * KIB, 64 * KIB), "records of 4 KiB and 64 KiB"),
        (("threads",), (8, 1, 2), "1 to 8 threads"),
        (("loop",), (1, 2, 3), "loops 1 to 3"),
    ],
)
def test_levels_together(names: tuple[str, ...], levels: Sequence[int], words: str) -> None:
    assert Axis(names).span(levels) == words


def test_the_course_is_the_numeric_axis_with_most_levels() -> None:
    found = progress_of(messages((64, 1024, 16_384), flows=(1, 8)))
    assert found is not None
    assert (found.axis.name, found.levels) == ("message", (64, 1024, 16_384))
    assert found.case({"message": 64, "flows": 8}) == "8 flows"
    assert [found.text(level) for level in found.levels] == ["64", "1,024", "16,384"]
    assert found.heading == "message, bytes"


def test_large_sizes_keep_their_prefixes() -> None:
    found = progress_of(messages((4096,), (0, 8192, 2**21)))
    assert found is not None
    assert [found.text(level) for level in found.levels] == ["auto", "8 KiB", "2 MiB"]
    assert found.heading == "receive buffer"


@pytest.mark.parametrize(
    "points",
    [
        [],
        [{}],
        messages((64, 1024)),
        messages((64, 1024, 4096), (0, 8192)),
        messages(MESSAGES[:5], flows=range(1, 6)),
        [{"phase": name} for name in ("create", "stat", "remove")],
        [{"message": 1}, {"message": 2}, {"message": 3, "flows": 1}],
    ],
    ids=["none", "empty", "two", "map", "too many cases", "not numeric", "of two grids"],
)
def test_there_is_no_course(points: list[Point]) -> None:
    assert progress_of(points) is None
