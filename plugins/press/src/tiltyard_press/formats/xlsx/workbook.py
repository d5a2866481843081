"""A workbook: summary, one sheet a table with native charts, the text, and every value."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from itertools import islice
from math import isfinite
from typing import Final, assert_never

from xlsxwriter import Workbook
from xlsxwriter.format import Format as Look
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from tiltyard.analysis.model import Findings
from tiltyard.analysis.values import Field, ValueTable, value_table
from tiltyard.charts.theme import LIGHT
from tiltyard.report.document import (
    Block,
    Callout,
    Commands,
    Document,
    Facts,
    Figure,
    Fold,
    Paragraph,
    Section,
    Sentences,
    Table,
)
from tiltyard_press.formats.xlsx.tables import (
    SUMMARY,
    TEXT,
    VALUES,
    Looks,
    height,
    reference,
    sheet_names,
    write_table,
)

_NAME_WIDTH: Final = 30
_TEXT_WIDTH: Final = 110
_SIZES: Final = (16, 13, 11)
"""Of headings, level by level."""


class Prose:
    """Writes blocks below each other."""

    def __init__(self, sheet: Worksheet, looks: Looks, sheets: Mapping[str, str]) -> None:
        """``sheets``: id of a table → name of its sheet."""
        self._sheet = sheet
        self._looks = looks
        self._sheets = sheets
        self._at = 0
        sheet.hide_gridlines(2)
        sheet.set_column(0, 0, _NAME_WIDTH)
        sheet.set_column(1, 1, _TEXT_WIDTH)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)

    def front(self, document: Document) -> None:
        """Title, answer, contents, and where it all comes from."""
        self._heading(document.title, 0)
        for line in (document.subtitle, document.byline):
            if line:
                self._line("", line, quiet=True)
        self._blocks(document.front)
        self._heading("Sheets", 1)
        for table in document.tables():
            self._link(self._sheets[table.id], table.title)
        self._link(TEXT, "everything else that the report says")
        self._link(VALUES, "every value, in base units")
        self._line("", "An empty cell is a value that is missing.", quiet=True)
        self._heading("Made of", 1)
        for name, value in document.colophon:
            self._line(name, value)

    def sections(self, document: Document) -> None:
        """What stands in the sections."""
        for letter, section in document.lettered():
            title = f"Appendix {letter}: {section.title}" if letter else section.title
            self._section(section, title, 0)

    def _section(self, section: Section, title: str, level: int) -> None:
        self._heading(title, level)
        self._blocks(section.blocks)
        for part in section.sections:
            self._section(part, part.title, level + 1)

    def _blocks(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._block(block)

    def _block(self, block: Block) -> None:
        match block:
            case Paragraph():
                lead = block.role == "lead"
                quiet = block.role in ("note", "quiet")
                self._line("Answer" if lead else "", block.text, bold=lead, quiet=quiet)
            case Sentences():
                for item in block.items:
                    self._line("", item)
            case Facts():
                self._title(block.title)
                for name, value in block.rows:
                    self._line(name, value, bold=block.large)
            case Commands():
                self._title(block.title)
                for command in block.lines:
                    self._line("", command, font_name="Consolas")
            case Table():
                self._link(self._sheets[block.id], block.title)
            case Figure():
                self._line("Figure", block.title, bold=True)
                self._line("", block.alt)
                for words in filter(None, (block.subtitle, block.caption)):
                    self._line("", words, quiet=True)
            case Callout():
                self._line(block.kind.capitalize(), block.title, bold=True)
                self._blocks(block.blocks)
            case Fold():
                self._title(block.summary)
                self._blocks(block.blocks)
            case _:
                assert_never(block)

    def _heading(self, text: str, level: int) -> None:
        self._at += 1 if self._at else 0
        size = _SIZES[min(level, len(_SIZES) - 1)]
        self._sheet.write_string(self._at, 0, text, self._looks.of(bold=True, font_size=size))
        # Headings run on over the columns.
        self._sheet.set_row(self._at, height("", _TEXT_WIDTH, size))
        self._at += 1

    def _title(self, text: str) -> None:
        if text:
            self._line("", text, bold=True)

    def _line(
        self, name: str, text: str, *, bold: bool = False, quiet: bool = False, **more: object
    ) -> None:
        soft = LIGHT["soft"]
        if name:
            self._sheet.write_string(self._at, 0, name, self._looks.of(font_color=soft))
        if quiet:
            more["font_color"] = soft
        look = self._looks.of(text_wrap=True, bold=bold, **more)
        self._text(text, look)

    def _link(self, sheet: str, text: str) -> None:
        target = f"internal:{reference(sheet)}!A1"
        look = self._looks.of(font_color=LIGHT["series-1"])
        self._sheet.write_url(self._at, 0, target, look, sheet)
        self._text(text, self._looks.of(text_wrap=True))

    def _text(self, text: str, look: Look) -> None:
        self._sheet.write_string(self._at, 1, text, look)
        self._sheet.set_row(self._at, height(text, _TEXT_WIDTH))
        self._at += 1


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


_OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}
_MADE = datetime(2000, 1, 1)
"""The date in the file, so that the same findings give the same bytes."""


def render(document: Document, findings: Findings) -> dict[str, bytes]:
    """The workbook."""
    data = BytesIO()
    workbook = Workbook(data, _OPTIONS)
    workbook.set_properties({"title": document.title, "created": _MADE})
    looks = Looks(workbook, document.signs)
    tables = list(document.tables())
    names = sheet_names([table.id for table in tables])
    sheets = dict(zip((table.id for table in tables), names, strict=True))
    summary = Prose(workbook.add_worksheet(SUMMARY), looks, sheets)
    summary.front(document)
    for table, name in zip(tables, names, strict=True):
        write_table(workbook, name, table, looks)
    Prose(workbook.add_worksheet(TEXT), looks, sheets).sections(document)
    write_values(workbook, VALUES, value_table(findings), looks)
    workbook.close()
    return {"report.xlsx": data.getvalue()}
