"""A table as spreadsheets and data files want it: one number a cell.

What stands beneath an entry (a deviation, an interval) has a column of its own, right of it, so
that it can be computed with, sorted and drawn; a second row would make every other row another
kind of thing.
"""

from dataclasses import dataclass

from tiltyard.charts.figures import with_unit
from tiltyard.report.document import Column, Entry, Table

MISSING = "–"


@dataclass(frozen=True)
class SpreadColumn:
    """One column, with the one of the table that it comes from."""

    place: int
    """Of the column in the table."""
    column: Column
    beneath: bool
    """Whether it holds what stands beneath the entries."""

    @property
    def head(self) -> str:
        """``write, MB/s``; without the head above it."""
        head = with_unit(self.column.head, self.column.unit)
        return f"{head} (beneath)" if self.beneath else head

    @property
    def whole_head(self) -> str:
        """``Out-of-box: write, MB/s``."""
        return f"{self.column.under}: {self.head}" if self.column.under else self.head

    def text(self, entry: Entry) -> str:
        """What is read there; empty where a value is missing."""
        text = entry.beneath if self.beneath else entry.text
        return "" if text == MISSING else text

    def value(self, entry: Entry) -> float | None:
        """The number there."""
        return entry.beneath_value if self.beneath else entry.value


def spread(table: Table) -> tuple[SpreadColumn, ...]:
    """The columns of a table, each followed by what stands beneath it, if anything does."""
    found = []
    for place, column in enumerate(table.columns):
        found.append(SpreadColumn(place, column, beneath=False))
        if any(row[place].beneath for row in table.rows):
            found.append(SpreadColumn(place, column, beneath=True))
    return tuple(found)
