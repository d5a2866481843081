"""A report of many workloads as several pages: the first one has everything but some workloads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import Final

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
from tiltyard.report.formats.format import FIRST_PAGE, size_of

_TABLE_MAX: Final = 20_000
"""Letters that a table or list of one workload is given; a longer one is shortened."""
_MARKUP: Final = 80
"""Letters around a block, and around a heading."""
_HEAD: Final = 60
"""Letters around the head of a column."""
_FIGURE: Final = 400
"""Letters of a figure that is not drawn: what it would show."""


@dataclass(frozen=True)
class Page:
    """One page of a report."""

    number: int
    document: Document
    about: str
    """What is on it, for a link: ``grid-59 to grid-99``; of the first page its title."""

    @property
    def file(self) -> str:
        """In the folder of the report."""
        return FIRST_PAGE if self.number == 1 else f"index-{self.number}.html"


def pages(document: Document, room: int) -> list[Page]:
    """The document, as one page where that is possible.

    Args:
        document: what is printed.
        room: letters that a page has for words, and for the first rows of its tables.
    """
    if least(document) <= room:
        return [Page(1, document, document.title)]
    first, rest = _split(document.sections, room - sum(map(_whole, document.front)))
    found = [Page(1, replace(document, sections=first), document.title)]
    while rest:
        part, rest = _split(rest, room)
        number, about = len(found) + 1, "; ".join(_stretches(part))
        own = replace(document, subtitle=f"Page {number}: {about}", front=(), sections=part)
        found.append(Page(number, own, about))
    return found


def least(document: Document) -> int:
    """Letters of a page on which each table has its first row only."""
    blocks = sum(_size(block, 0) for block in document.front)
    return blocks + sum(_of(section, 0) for section in document.sections)


def _split(
    sections: Sequence[Section], room: float
) -> tuple[tuple[Section, ...], tuple[Section, ...]]:
    """What stays, and what goes to further pages; one detail at least stays."""
    details = [one for section in sections for one in _details(section)]
    sizes = [_of(one, _TABLE_MAX) for one in details]
    room -= sum(_of(section, _TABLE_MAX) for section in sections) - sum(sizes)
    staying = sum(reached <= room for reached in accumulate(sizes))
    goes = {id(one) for one in details[max(staying, 1) :]}
    first: list[Section] = []
    rest: list[Section] = []
    for section in sections:
        if section.detail:
            (rest if id(section) in goes else first).append(section)
            continue
        inner = tuple(one for one in section.sections if id(one) not in goes)
        others = tuple(one for one in section.sections if id(one) in goes)
        if inner or section.blocks:
            first.append(replace(section, sections=inner))
        if others:
            rest.append(replace(section, blocks=(), sections=others))
    return tuple(first), tuple(rest)


def _stretches(sections: Sequence[Section]) -> Iterator[str]:
    """What a page is about: ``The verdict: grid-40 to grid-99``, ``grid to grid-7``."""
    for top, own in groupby(sections, key=lambda one: "" if one.detail else one.title):
        titles = [one.title for section in own for one in _details(section)]
        stretch = " to ".join(dict.fromkeys((titles[0], titles[-1])))
        yield f"{top}: {stretch}" if top else stretch


def _details(section: Section) -> Iterator[Section]:
    """Itself, or those in it."""
    if section.detail:
        yield section
    else:
        yield from (one for one in section.sections if one.detail)


def _whole(block: Block) -> int:
    return _size(block, _TABLE_MAX)


def _of(section: Section, table_max: int) -> int:
    """Letters of a section, its heading and its place in the contents."""
    inner = sum(_size(block, table_max) for block in section.blocks)
    parts = sum(_of(part, table_max) for part in section.sections)
    return 2 * (_MARKUP + len(section.title)) + inner + parts


def _size(block: Block, table_max: int) -> int:
    """Letters of a block, roughly; of a table with so many letters of rows at most."""
    match block:
        case Table():
            rows = len(block.rows) or 1
            inner = max(size_of(block) // rows, min(size_of(block), table_max))
            inner += sum(_HEAD + len(column.head) for column in block.columns)
            return 5 * _MARKUP + 3 * len(block.title) + len(block.caption) + inner
        case Sentences(items=items):
            return _MARKUP + max(*map(len, items), 0, min(size_of(block), table_max))
        case Figure():
            words = (block.title, block.subtitle, block.caption)
            return 2 * _MARKUP + _FIGURE + sum(map(len, words))
        case Callout(blocks=blocks) | Fold(blocks=blocks):
            return _MARKUP + sum(_size(one, table_max) for one in blocks)
        case Paragraph(text=text):
            return _MARKUP + len(text)
        case Facts(rows=facts):
            return _MARKUP + sum(_MARKUP + len(name) + len(value) for name, value in facts)
        case Commands(lines=lines):
            return _MARKUP + sum(map(len, lines))
