"""Tables for a terminal whose rows are stacked where it is too narrow for their columns.

The first column names the row. It is never cut: where the columns do not fit beside each other,
each row is its name and, below it, the other cells, a line each behind the head of its column.
"""

from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table

_NAME: Final = 24
"""Columns that a name has if it needs them."""
_WORDS: Final = 12
"""The same of running text, which goes on in further lines."""


class StackingTable(Table):
    """Such a table; without lines, for results that are also read through a pipe."""

    def __init__(self, *heads: str, **options: Any) -> None:
        """Heads of columns; more can be added as to any table of rich."""
        super().__init__(
            *heads, **{"box": None, "pad_edge": False, "header_style": "bold", **options}
        )
        for column in self.columns:
            column.overflow = "fold"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """In columns, or stacked."""
        if self._needed(console, options) <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        if self.title:
            yield self.title
        names, *others = self.columns
        for number, name in enumerate(names.cells):
            yield name
            yield Padding(self._beneath(others, number), (0, 0, 0, 2))

    def _needed(self, console: Console, options: ConsoleOptions) -> int:
        """Columns of a terminal in which every name is whole and every figure in one line."""
        gaps = sum(self.padding[1::2]) * (len(self.columns) - 1)
        wide = options.update(max_width=10_000)
        return gaps + sum(
            self._least(column, console, wide, is_name=number == 0)
            for number, column in enumerate(self.columns)
        )

    def _least(
        self, column: Column, console: Console, options: ConsoleOptions, *, is_name: bool
    ) -> int:
        if column.width is not None:
            return column.width
        cells = (column.header, *column.cells)
        widest = max(Measurement.get(console, options, cell).maximum for cell in cells)
        return widest if column.no_wrap else min(widest, _NAME if is_name else _WORDS)

    def _beneath(self, columns: list[Column], number: int) -> Table:
        """The other cells of a row, those that are empty left out."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style=self.header_style, overflow="fold")
        grid.add_column(overflow="fold")
        for column in columns:
            cell = list(column.cells)[number]
            if str(cell):
                grid.add_row(column.header, cell)
        return grid
