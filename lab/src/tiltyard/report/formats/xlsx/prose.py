"""Everything that is no table, in two columns: what it is, and what it says."""

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Final, assert_never

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

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
from tiltyard.report.formats.xlsx.looks import Looks, height
from tiltyard.report.formats.xlsx.names import TEXT, VALUES, reference

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
        letters = iter(ascii_uppercase)
        for section in document.sections:
            title = f"Appendix {next(letters)}: {section.title}" if section.appendix else None
            self._section(section, title or section.title, 0)

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
                self._line("", block.caption, quiet=True)
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

    def _text(self, text: str, look: Format) -> None:
        self._sheet.write_string(self._at, 1, text, look)
        self._sheet.set_row(self._at, height(text, _TEXT_WIDTH))
        self._at += 1
