"""A document as plain data, ready for the typesetter."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from tiltyard.analysis.line import MARKS
from tiltyard.charts.figures import with_unit
from tiltyard.charts.svg import to_paper
from tiltyard.charts.theme import LIGHT
from tiltyard.report.document import (
    Block,
    Callout,
    Column,
    Commands,
    Document,
    Entry,
    Facts,
    Figure,
    Fold,
    Look,
    Paragraph,
    Section,
    Sentences,
    Table,
)
from tiltyard.report.formats.format import Budget
from tiltyard.units import unbroken

Data: TypeAlias = dict[str, object]

LETTERS: Final = 500_000
"""Of all tables and lists together, some fifty pages: what is longer is read by programs."""
_UNBROKEN: Final = 18
"""Characters of a word that may stand in one line of a table; a longer one is broken anywhere."""
_BLEED_PX: Final = 4
"""Room for what stands over the edge of a picture: descenders."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(document: Document, after: Document | None = None) -> Data:
    """The whole document: dictionaries, lists, texts and numbers; pictures are SVG texts.

    Args:
        document: what is printed.
        after: its other file, that is read before it and has the first numbers.
    """
    look = document.look
    printer = _Printer(Budget.of(document, LETTERS), look)
    colours = LIGHT | {name: day for name, (day, _) in look.colours.items()}
    return {
        "title": _verbatim(document.title) or "Report",
        "running": _text(document.title),
        "subtitle": _text(document.subtitle),
        "byline": _text(document.byline),
        "authors": list(document.authors) or ["Tiltyard"],
        "colours": colours,
        "font": look.fonts[0].family if look.fonts else "",
        "logo": look.logo and {"alt": look.logo.alt, "bytes": list(look.logo.data)},
        "signs": {
            _text(system): {"glyph": glyph, "colour": colours[colour]}
            for system, (glyph, colour) in document.signs.items()
        },
        "marks": MARKS,
        "figures_before": len([*after.figures()]) if after else 0,
        "tables_before": len([*after.tables()]) if after else 0,
        "front": printer.blocks(document.front),
        "sections": [printer.section(part) for part in document.sections if not part.appendix],
        "appendices": [printer.section(part) for part in document.sections if part.appendix],
        "colophon": [[_text(name), _text(value)] for name, value in document.colophon],
    }


@dataclass(frozen=True)
class _Printer:
    """Blocks to data; knows how much of long tables and lists is printed."""

    budget: Budget
    look: Look

    def section(self, section: Section) -> Data:
        return {
            "title": _text(section.title),
            "blocks": self.blocks(section.blocks),
            "sections": [self.section(part) for part in section.sections],
        }

    def blocks(self, blocks: Iterable[Block]) -> list[Data]:
        return [self._block(block) for block in blocks]

    def _block(self, block: Block) -> Data:
        match block:
            case Paragraph(text, role):
                return {"is": "paragraph", "text": _text(text), "role": role}
            case Sentences():
                return self._sentences(block)
            case Facts(rows, title, large):
                pairs = [[_text(name), _text(value)] for name, value in rows]
                return {"is": "facts", "title": _text(title), "rows": pairs, "large": large}
            case Commands(lines, title):
                text = _verbatim("\n".join(lines))
                return {"is": "commands", "title": _text(title), "text": text}
            case Callout(kind, title, inner):
                return {
                    "is": "callout",
                    "kind": kind,
                    "title": _text(title),
                    "blocks": self.blocks(inner),
                }
            case Fold(summary, inner):
                return {"is": "fold", "title": _text(summary), "blocks": self.blocks(inner)}
            case Figure():
                return _figure(block, self.look)
            case Table():
                return self._table(block)

    def _sentences(self, sentences: Sentences) -> Data:
        return {
            "is": "sentences",
            "items": [_text(item) for item in self.budget.items(sentences)],
            "left_out": self.budget.left_out(sentences),
        }

    def _table(self, table: Table) -> Data:
        closing = table.rows[len(table.rows) - table.closing :]
        shown = (*self.budget.rows(table), *closing)
        return {
            "is": "table",
            "title": _text(table.title),
            "caption": _text(table.caption),
            "left_out": self.budget.left_out(table),
            "columns": [_column(column) for column in table.columns],
            "rows": [[_entry(entry) for entry in row] for row in shown],
            "closing": table.closing,
            "widest": _widest(shown, len(table.columns)),
            "words": _longest_words(shown, len(table.columns)),
            "unbroken": _UNBROKEN,
        }


def _figure(figure: Figure, look: Look) -> Data:
    paper = to_paper(figure.wide, _BLEED_PX)
    return {
        "is": "figure",
        "title": _text(figure.title),
        "subtitle": _text(figure.subtitle),
        "caption": _text(figure.caption),
        "alt": _verbatim(figure.alt or figure.title),
        "picture": look.painted(paper.svg),
        "width_px": paper.width_px,
        "height_px": paper.height_px,
    }


def _column(column: Column) -> Data:
    """A unit that begins with a stroke continues the head; any other stands below it."""
    joined = column.unit.startswith("/")
    return {
        "head": _text(with_unit(column.head, column.unit) if joined else column.head),
        "unit": "" if joined else _text(column.unit),
        "figures": column.figures,
        "under": _text(column.under),
    }


def _entry(entry: Entry) -> Data:
    """Only what differs from plain text: tables are most of a document."""
    data: Data = {"text": _text(entry.text)}
    if entry.beneath:
        data["beneath"] = _text(entry.beneath)
    if entry.kind != "text":
        data["kind"] = entry.kind
    if entry.verdict:
        data["verdict"] = entry.verdict
    if entry.strong:
        data["strong"] = True
    if entry.quiet:
        data["quiet"] = True
    if entry.shade:
        data["shade"] = entry.shade
    return data


def _widest(rows: Iterable[tuple[Entry, ...]], columns: int) -> list[str]:
    """The longest text of each column, to see how wide the table will be."""
    widest = [""] * columns
    for row in rows:
        for place, entry in enumerate(row):
            for text in (entry.text, entry.beneath):
                if len(text) > len(widest[place]):
                    widest[place] = _text(text)
    return widest


def _longest_words(rows: Iterable[tuple[Entry, ...]], columns: int) -> list[str]:
    """The longest word of each column, as much of it as is not broken."""
    longest = [""] * columns
    for row in rows:
        for place, entry in enumerate(row):
            for word in f"{entry.text} {entry.beneath}".split():
                if len(word) > len(longest[place]):
                    longest[place] = _text(word[:_UNBROKEN])
    return longest


def _text(text: str) -> str:
    """As it is printed, with ``5 %`` in one line."""
    return unbroken(_verbatim(text))


def _verbatim(text: str) -> str:
    """Without the characters that no font has and that JSON cannot carry."""
    return _CONTROL.sub("\ufffd", text.expandtabs(4))
