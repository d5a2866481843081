"""The sheet of all values, in base units; another one where the first is full."""

from collections.abc import Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import Final

from xlsxwriter import Workbook
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from tiltyard.analysis.values import Field, ValueTable
from tiltyard.report.formats.xlsx.looks import Looks

ROWS: Final = 2**20
"""That a sheet can have."""
_LETTERS: Final = 32_767
"""That a cell can have."""


def write_values(
    workbook: Workbook, name: str, table: ValueTable, looks: Looks, rows: int = ROWS
) -> None:
    """Write one row a value, under heads that stay in sight."""
    found, number = table.rows(), 1
    part = list(islice(found, rows - 1))
    while part or number == 1:
        _write(workbook, name if number == 1 else f"{name} {number}", table.heads, part, looks)
        part, number = list(islice(found, rows - 1)), number + 1


def _write(
    workbook: Workbook,
    name: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Field]],
    looks: Looks,
) -> None:
    sheet = workbook.add_worksheet(name, _ValueSheet)
    for place, head in enumerate(heads):
        sheet.write_string(0, place, head, looks.of(bold=True, bottom=2))
        longest = max((len(str(row[place])) for row in rows[:100]), default=0)
        sheet.set_column(place, place, max(len(head) + 4, min(longest + 1, 30)))
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(rows), len(heads) - 1)
    sheet.fill(rows)


class _ValueSheet(Worksheet):  # type: ignore[misc]
    """A sheet that writes what stands under its heads by itself.

    The library keeps an object for each cell and asks each for its looks. Values have none, and
    there are a million cells of them: it would take most of the time of the whole workbook.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []

    def fill(self, rows: Sequence[Sequence[Field]]) -> None:
        """Put rows under the heads; a field that is ``None`` or not finite is an empty cell."""
        columns = [xl_col_to_name(place) for place in range(self.dim_colmax + 1)]
        self._lines = [
            f'<row r="{at}">{"".join(self._cells(columns, row, at))}</row>'
            for at, row in enumerate(rows, 2)
        ]
        self.dim_rowmax = len(rows)

    def _cells(self, columns: Sequence[str], row: Sequence[Field], at: int) -> Iterator[str]:
        for column, field in zip(columns, row, strict=True):
            if isinstance(field, str):
                shared = self.str_table._get_shared_string_index(field[:_LETTERS])
                yield f'<c r="{column}{at}" t="s"><v>{shared}</v></c>'
            elif field is not None and isfinite(field):
                yield f'<c r="{column}{at}"><v>{field}</v></c>'

    def _write_rows(self) -> None:
        """The heads as the library writes them, then our lines."""
        super()._write_rows()
        self.fh.writelines(self._lines)
