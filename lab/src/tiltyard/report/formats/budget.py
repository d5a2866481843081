"""How much of long tables and lists a form shows, so that it can be opened and read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tiltyard.report.document import Document, Entry, Sentences, Table

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
            _size(block) for block in document.blocks() if isinstance(block, Table | Sentences)
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
        return inner[: self._shown(_size(table), len(inner))]

    def items(self, sentences: Sentences) -> Sequence[str]:
        """The sentences that are shown."""
        return sentences.items[: self._shown(_size(sentences), len(sentences.items))]

    def _shown(self, size: int, lines: int) -> int:
        return lines if size <= self.most else max(1, int(lines * self.most / size))


def _size(block: Table | Sentences) -> int:
    """Letters that it takes, roughly."""
    if isinstance(block, Sentences):
        return sum(map(len, block.items)) + _SURROUNDS * len(block.items)
    texts = sum(len(entry.text) + len(entry.beneath) for row in block.rows for entry in row)
    return texts + _SURROUNDS * len(block.columns) * len(block.rows)
