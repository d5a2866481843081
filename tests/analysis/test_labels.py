"""Points of a grid in words."""

import pytest

from tiltyard.analysis.axes import label_of, spoken_axes

KIB = 1024


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ({}, ""),
        ({"file": 64 * KIB**2, "record": 4 * KIB}, "64 MiB file, 4 KiB record"),
        ({"block": 4 * KIB, "threads": 8}, "4 KiB block, 8 threads"),
        ({"threads": 1}, "1 thread"),
        ({"children": 1}, "1 child"),
        ({"loop": 1}, "loop 1"),
        ({"record": 64 * KIB, "depth": 32}, "64 KiB record, depth 32"),
        ({"phase": "stat"}, "stat phase"),
    ],
)
def test_sizes_and_counts_come_first_and_places_last(at: dict[str, int | str], words: str) -> None:
    assert label_of(at, spoken_axes([at])) == words
