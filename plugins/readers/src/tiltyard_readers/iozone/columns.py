"""The columns of IOzone's table: which test prints which, and how wide in which version."""

from dataclasses import dataclass
from typing import Final

METRICS: Final = (
    "write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read",
    "record_rewrite", "stride_read", "fwrite", "frewrite", "fread", "freread",
    "pwrite", "repwrite", "pread", "repread",
)  # fmt: skip
"""All figures, in the order of the columns."""


@dataclass(frozen=True)
class Test:
    """One test, and the widths of what it prints."""

    number: int
    """As ``-i`` takes it."""
    metrics: tuple[str, ...]
    old: tuple[int, ...]
    """Up to version 3.426."""
    middle: tuple[int, ...]
    """Up to 3.497."""
    new: tuple[int, ...]
    skipped: tuple[int, int, int]
    """Blanks in place of the figures, where the test was not selected."""


TESTS: Final = (
    Test(0, METRICS[0:2], (8, 8), (9, 9), (10, 10), (16, 18, 18)),
    Test(1, METRICS[2:4], (9, 9), (9, 9), (10, 10), (18, 18, 18)),
    Test(2, METRICS[4:6], (8, 8), (9, 9), (10, 10), (16, 18, 18)),
    Test(3, METRICS[6:7], (8,), (9,), (10,), (8, 9, 9)),
    Test(4, METRICS[7:8], (9,), (10,), (11,), (8, 10, 10)),
    Test(5, METRICS[8:9], (9,), (10,), (11,), (8, 10, 10)),
    Test(6, METRICS[9:11], (9, 9), (9, 9), (10, 10), (18, 18, 18)),
    Test(7, METRICS[11:13], (8, 9), (9, 9), (10, 10), (16, 17, 17)),
    Test(9, METRICS[13:15], (8, 9), (9, 9), (10, 10), (17, 18, 18)),
    Test(10, METRICS[15:17], (8, 9), (8, 9), (10, 10), (19, 18, 18)),
)
"""In the order of the columns; test 8 prints nothing here, 11 and 12 are not on Linux."""


@dataclass(frozen=True)
class Layout:
    """One era of widths."""

    values: int
    """0 old, 1 middle, 2 new."""
    blanks: int

    def fields(self, selected: frozenset[int], tests: tuple[Test, ...]) -> list[tuple[str, int]]:
        """Name and width of each field of a row; blanks have no name."""
        found: list[tuple[str, int]] = []
        for test in tests:
            if test.number in selected:
                widths = (test.old, test.middle, test.new)[self.values]
                found += zip(test.metrics, widths, strict=True)
            else:
                found.append(("", test.skipped[self.blanks]))
        return found


def layouts(version: tuple[int, int] | None) -> tuple[Layout, ...]:
    """The layouts that a version may have; all of them where it is not known."""
    old, middle, new = Layout(0, 0), Layout(1, 1), Layout(2, 2)
    between = Layout(1, 0)
    """3.430 has the new widths of figures and the old blanks."""
    if version is None:
        return (old, between, middle, new)
    if version <= (3, 426):
        return (old,)
    if version < (3, 440):
        return (between, middle)
    return (middle,) if version < (3, 498) else (new,)
