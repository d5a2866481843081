"""What a format is, and what several formats need: long tables, one value a cell."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tiltyard.analysis.model import Findings
from tiltyard.charts.figures import with_unit
from tiltyard.report.document import Column, Document, Entry, Sentences, Table

FIRST_PAGE: Final = "index.html"
FURTHER_PAGE: Final = re.compile(r"index-[0-9]+\.html")
"""Pages of a report that is too long for one."""


@dataclass(frozen=True)
class Format:
    """One form in which a document is printed."""

    name: str
    """What a person types: ``pdf``."""
    about: str
    file: str
    """The file that is opened first, in the folder of the report: ``report.pdf``."""
    render: Callable[[Document, Findings], dict[str, bytes]]
    """Document and the findings it was made of → files, by path in the folder of the report; pure,
    and the same bytes for the same findings."""


_SURROUNDS: Final = 40
"""What an entry or a sentence takes beside its text, in letters."""


@dataclass(frozen=True)
class Budget:
    """The most that any one table or list may take: short ones are whole, long ones share."""

    most: float
    """In letters."""

    @classmethod
    def of(cls, document: Document, limit: int) -> "Budget":
        """Fill from the shortest up until the limit is reached.

        Args:
            document: of which tables and lists are shown.
            limit: letters of all of them together, with what surrounds their entries.
        """
        sizes = sorted(
            size_of(block) for block in document.blocks() if isinstance(block, Table | Sentences)
        )
        left = float(limit)
        for place, size in enumerate(sizes):
            share = left / (len(sizes) - place)
            if size > share:
                return cls(share)
            left -= size
        return cls(float("inf"))

    def rows(self, table: Table) -> Sequence[tuple[Entry, ...]]:
        """The rows that are shown, without those that close the table."""
        inner = table.rows[: len(table.rows) - table.closing]
        return inner[: self._shown(size_of(table), len(inner))]

    def items(self, sentences: Sentences) -> Sequence[str]:
        """The sentences that are shown."""
        return sentences.items[: self._shown(size_of(sentences), len(sentences.items))]

    def left_out(self, block: Table | Sentences) -> str:
        """``92 of 2,000 rows``, and the way to all of them; empty where all are shown."""
        if isinstance(block, Sentences):
            shown, total = len(self.items(block)), len(block.items)
            told = f"{shown:,} of {total:,} are shown; findings.json has all of them."
        else:
            shown, total = len(self.rows(block)) + block.closing, len(block.rows)
            told = f"{shown:,} of {total:,} rows; all of them: tiltyard report STUDY --format csv"
        return told if shown < total else ""

    def _shown(self, size: int, lines: int) -> int:
        return lines if size <= self.most else max(1, int(lines * self.most / size))


def size_of(block: Table | Sentences) -> int:
    """Letters that its rows or items take, roughly."""
    if isinstance(block, Sentences):
        return sum(map(len, block.items)) + _SURROUNDS * len(block.items)
    texts = sum(len(entry.text) + len(entry.beneath) for row in block.rows for entry in row)
    return texts + _SURROUNDS * len(block.columns) * len(block.rows)


MISSING = "–"


@dataclass(frozen=True)
class SpreadColumn:
    """One column, with the one of the table that it comes from."""

    place: int
    """Of the column in the table."""
    column: Column
    part: Literal["", "beneath", "verdict"] = ""
    """Of the entries: what stands beneath them, or verdicts of figures, which have a sign
    elsewhere."""

    @property
    def head(self) -> str:
        """``write, MB/s``; without the head above it."""
        head = with_unit(self.column.head, self.column.unit)
        return f"{head} ({self.part})" if self.part else head

    @property
    def whole_head(self) -> str:
        """``Out-of-box: write, MB/s``."""
        return f"{self.column.under}: {self.head}" if self.column.under else self.head

    def text(self, entry: Entry) -> str:
        """What is read there; empty where a value is missing."""
        if self.part == "verdict":
            return entry.verdict or ""
        text = entry.beneath if self.part else entry.text
        return "" if text == MISSING else text

    def value(self, entry: Entry) -> float | None:
        """The number there."""
        if self.part == "verdict":
            return None
        return entry.beneath_value if self.part else entry.value


def spread(table: Table) -> tuple[SpreadColumn, ...]:
    """The columns of a table, each followed by what stands beneath it and by its verdicts."""
    found = []
    for place, column in enumerate(table.columns):
        found.append(SpreadColumn(place, column))
        if any(row[place].beneath for row in table.rows):
            found.append(SpreadColumn(place, column, "beneath"))
        if column.figures and any(row[place].verdict for row in table.rows):
            found.append(SpreadColumn(place, column, "verdict"))
    return tuple(found)
