"""A document before it has a form: what every style composes and every format prints.

A style (:mod:`tiltyard.report.styles`) makes a document of findings; a format
(:mod:`tiltyard.report.formats`) prints it. So the PDF, the page and the spreadsheet show the same
figures, tables and sentences: there is one of each. Nothing here knows of files or of HTML.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Literal, TypeAlias

from tiltyard.analysis.verdict import Verdict
from tiltyard.charts.chart import Spec
from tiltyard.charts.theme import LIGHT


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell of a table."""

    text: str
    """As it is read: rounded by its interval, without its unit where the head has it."""
    value: float | None = None
    """The number itself, in the unit of the column, for spreadsheets and data files."""
    beneath: str = ""
    """A second, quiet line: a deviation, an interval, a commentary."""
    beneath_value: float | None = None
    kind: Literal["text", "system", "verdict"] = "text"
    """``system``: printed with the sign of the system; ``verdict``: with that of the verdict."""
    verdict: Verdict | None = None
    strong: bool = False
    quiet: bool = False
    shade: str = ""
    """Name of a colour of :data:`tiltyard.charts.theme.LIGHT` behind it (maps); mostly none."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    head: str
    unit: str = ""
    """In which all its figures are; printed in the head."""
    figures: bool = True
    """Right-aligned, tabular figures; else text."""
    spare: bool = False
    """Left out where there is little room (a phone)."""
    under: str = ""
    """A head above several columns: ``Out-of-box``. Equal neighbours are one."""


@dataclass(frozen=True)
class SheetChart:
    """How a spreadsheet draws a table natively."""

    kind: Literal["bar", "column", "line", "scatter", "surface"]
    categories: int
    """Column (counted from 0) whose entries name the points."""
    series: tuple[int, ...]
    """Columns with the values."""
    title: str
    axis: str
    """What the values are, with their unit."""
    log: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of entries under heads."""

    id: str
    """Unique in the document, a safe file name: ``iozone-in-cache-ext4``."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    caption: str = ""
    """How to read it, and what its figures are."""
    closing: int = 0
    """Rows at the end that sum up the others (average, mean): set apart by a line."""
    charts: tuple[SheetChart, ...] = ()


@dataclass(frozen=True)
class Figure:
    """One picture."""

    id: str
    """Unique in the document, a safe file name."""
    title: str
    """The finding, where it is one; else what is shown."""
    caption: str
    alt: str
    """What it shows, for those who cannot see it."""
    wide: Spec
    """For a desk and for paper."""
    narrow: Spec | None = None
    """For a phone; ``None``: the wide one is scaled."""
    subtitle: str = ""
    """What is shown, measure, n: below a title that is a finding."""
    workload: str = ""
    """Whose trials its marks are of; empty for a picture of several."""


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str
    role: Literal["plain", "lead", "note", "quiet"] = "plain"
    """``lead``: the answer. ``note``: small print under a table."""


@dataclass(frozen=True)
class Sentences:
    """Findings in words, one a line."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Names with values: a system, a host, three large numbers."""

    rows: tuple[tuple[str, str], ...]
    title: str = ""
    large: bool = False
    """Few and important: printed large beside each other."""


@dataclass(frozen=True)
class Commands:
    """Command lines, ready to paste."""

    lines: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True)
class Callout:
    """Something that must not be overlooked."""

    kind: Literal["note", "warning", "problem", "limits"]
    title: str
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True)
class Fold:
    """Details: folded away on a page, printed in full on paper."""

    summary: str
    blocks: "tuple[Block, ...]"


Block: TypeAlias = Paragraph | Sentences | Facts | Commands | Table | Figure | Callout | Fold


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it."""

    id: str
    """Unique in the document, a safe anchor."""
    title: str
    blocks: tuple[Block, ...] = ()
    sections: "tuple[Section, ...]" = ()
    appendix: bool = False
    """Lettered A, B, C … and after everything else; only at the top level."""
    detail: bool = False
    """Of one workload: where there are too many for a page, it may be on a further one. Only at the
    top level, and below a section that is none."""


@dataclass(frozen=True)
class Logo:
    """A picture of the house, beside the title."""

    data: bytes
    kind: str
    """``image/png`` or ``image/svg+xml``; nothing in it runs or fetches."""
    alt: str


@dataclass(frozen=True)
class Font:
    """One file of the typeface of the text."""

    data: bytes
    kind: Literal["otf", "ttf"]
    family: str
    weight: int
    """400 or 600."""


@dataclass(frozen=True)
class Look:
    """What a house changes of how its reports look."""

    colours: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name of a colour of the theme → colour by day and by night."""
    logo: Logo | None = None
    fonts: tuple[Font, ...] = ()

    def painted(self, svg: str) -> str:
        """A picture that was drawn in the colours of the theme by day, in the house's."""
        if not self.colours:
            return svg
        days = {LIGHT[name]: day for name, (day, _) in self.colours.items()}
        return re.sub("|".join(days), lambda found: days[found[0]], svg)


@dataclass(frozen=True)
class Document:
    """A whole report."""

    style: str
    title: str
    subtitle: str = ""
    authors: tuple[str, ...] = ()
    """Who answers for it, where somebody does."""
    byline: str = ""
    """Who made it, when, of what: one line."""
    signs: dict[str, tuple[str, str]] = field(default_factory=dict)
    """System → glyph and name of its colour: :func:`tiltyard.charts.theme.signs`."""
    front: tuple[Block, ...] = ()
    """What is read first: the answer, one picture, three numbers."""
    sections: tuple[Section, ...] = ()
    colophon: tuple[tuple[str, str], ...] = ()
    """Plan, seed, versions, hashes."""
    look: Look = field(default_factory=Look)

    def lettered(self) -> list[tuple[str, Section]]:
        """The sections in the order of print, appendices last, those with their letters."""
        plain = [("", section) for section in self.sections if not section.appendix]
        appendices = (section for section in self.sections if section.appendix)
        return [*plain, *zip(ascii_uppercase, appendices, strict=False)]

    def tables(self) -> Iterator[Table]:
        """All tables, in reading order."""
        return (block for block in self.blocks() if isinstance(block, Table))

    def figures(self) -> Iterator[Figure]:
        """All pictures, in reading order."""
        return (block for block in self.blocks() if isinstance(block, Figure))

    def blocks(self) -> Iterator[Block]:
        """Everything, in reading order, also what is folded."""
        yield from _inside(self.front)
        for section in self.sections:
            yield from _of(section)


def changed(document: Document, change: Callable[[Block], Block]) -> Document:
    """The same document with every block as ``change`` makes it, also inside of others."""

    def blocks(own: tuple[Block, ...]) -> tuple[Block, ...]:
        return tuple(
            replace(made, blocks=blocks(made.blocks)) if isinstance(made, Callout | Fold) else made
            for made in map(change, own)
        )

    def sections(own: tuple[Section, ...]) -> tuple[Section, ...]:
        return tuple(
            replace(one, blocks=blocks(one.blocks), sections=sections(one.sections)) for one in own
        )

    return replace(document, front=blocks(document.front), sections=sections(document.sections))


def texts_of(blocks: Iterable[Block]) -> Iterator[str]:
    """Paragraphs, lists and values of facts: what is said in words."""
    for block in blocks:
        match block:
            case Paragraph(text=text):
                yield text
            case Sentences(items=items):
                yield from items
            case Facts(rows=rows):
                yield from (value for _, value in rows)


def _of(section: Section) -> Iterator[Block]:
    yield from _inside(section.blocks)
    for part in section.sections:
        yield from _of(part)


def _inside(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Callout | Fold):
            yield from _inside(block.blocks)
