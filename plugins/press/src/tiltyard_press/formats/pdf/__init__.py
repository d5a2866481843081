"""A PDF: typeset, numbered, tagged for those who cannot see it; nothing in it but the document."""

import contextlib
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeVar

from tiltyard.analysis.model import Findings
from tiltyard.charts.theme import FONTS
from tiltyard.report.document import Block, Document, Fold, Paragraph, Section
from tiltyard.report.formats.format import Format
from tiltyard_press.formats.pdf.data import printable

Part = TypeVar("Part")


def spelled(document: Part, characters: Iterable[str]) -> Part:
    """A document, or any part of one, with ``[U+6F22]`` for each of these characters.

    Keys are spelled as well, so that what stands for a system stands for it still.

    Source: the notation of The Unicode Standard, appendix A.1.
    """
    spellings = {ord(one): f"[U+{ord(one):04X}]" for one in characters}
    changed: Part = _spelled(document, spellings)  # type: ignore[assignment]
    return changed


def _spelled(part: object, spellings: Mapping[int, str]) -> object:
    match part:
        case str():
            return part.translate(spellings)
        case tuple() | list():
            return type(part)(_spelled(one, spellings) for one in part)
        case dict():
            return {_spelled(key, spellings): _spelled(one, spellings) for key, one in part.items()}
    if is_dataclass(part) and not isinstance(part, type):
        own = {one.name: getattr(part, one.name) for one in fields(part)}
        return replace(part, **{name: _spelled(one, spellings) for name, one in own.items()})
    return part


if TYPE_CHECKING:
    import typst

_LAYOUT: Final = Path(__file__).parent
MOST_PAGES: Final = 15
"""Of one file."""
APPENDIX: Final = "report-appendix.pdf"
_LONG: Final = 500
"""Rows of tables from which on what is looked up is likely more than one file may have."""


def render(document: Document, _findings: Findings) -> dict[str, bytes]:
    """The report on A4; one of many pages as two files, the second with all that is looked up.

    Those are its appendices, and what a page folds away. Its figures and tables go on with the
    numbers of the first, so that a number is that of one thing only.
    """
    main, rest = _main(document), _looked_up(document)
    if rest is None:
        return {"report.pdf": _set(document)}
    # To set all of a long document only to count its pages would take as long as both files.
    appendix = _set(rest, after=main) if _rows(rest) >= _LONG else b""
    if _pages(appendix) <= MOST_PAGES:
        whole = _set(document)
        if _pages(whole) <= MOST_PAGES:
            return {"report.pdf": whole}
    return {"report.pdf": _set(main), APPENDIX: appendix or _set(rest, after=main)}


def _rows(document: Document) -> int:
    return sum(len(table.rows) for table in document.tables())


def _main(document: Document) -> Document:
    """The first of two files."""
    note = Paragraph(f"Appendices, and the tables behind the pictures: {APPENDIX}.", "note")
    front = _unfolded(document.front)
    sections = tuple(_read(section) for section in document.sections if not section.appendix)
    shown = tuple(section for section in sections if section.blocks or section.sections)
    return replace(document, front=(*front, note), sections=shown)


def _looked_up(document: Document) -> Document | None:
    """The other file; ``None`` if there is nothing to put into it."""
    sections = []
    for section in document.sections:
        folds = tuple(_folds(section))
        if section.appendix:
            sections.append(section)
        elif folds:
            sections.append(replace(section, blocks=folds, sections=()))
    if not sections:
        return None
    title = f"{document.title} – Appendix"
    return replace(document, title=title, subtitle="", front=(), sections=tuple(sections))


def _read(section: Section) -> Section:
    """A section without what is looked up only."""
    parts = tuple(_read(part) for part in section.sections)
    kept = tuple(part for part in parts if part.blocks or part.sections)
    return replace(section, blocks=_unfolded(section.blocks), sections=kept)


def _unfolded(blocks: Iterable[Block]) -> tuple[Block, ...]:
    return tuple(block for block in blocks if not isinstance(block, Fold))


def _folds(section: Section) -> Iterator[Block]:
    yield from (block for block in section.blocks if isinstance(block, Fold))
    for part in section.sections:
        yield from _folds(part)


def _pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def _set(document: Document, after: Document | None = None) -> bytes:
    """A document on A4, accessible by PDF/UA-1; its numbers go on after those of another file.

    No date is in it and no font but ours, so the same document is the same bytes everywhere. Only
    where it has a character that our fonts lack are the fonts of this host taken as well; one that
    they lack too is spelled by its number.
    """
    import typst

    text = _text_of(document, after)
    foreign = _lacking("".join(sorted(set(text))), ours_only=True)
    if foreign:
        unknown = _lacking(foreign, ours_only=False)
        known = spelled(document, unknown)
        # A font may have two characters and still not the sign that both of them make.
        with contextlib.suppress(typst.TypstError):
            return _report(_text_of(known, after), document, ours_only=unknown == foreign)
        text = _text_of(spelled(document, foreign), after)
    return _report(text, document, ours_only=True)


def _text_of(document: Document, after: Document | None) -> str:
    """All that is printed, as the layout takes it."""
    return json.dumps(printable(document, after), ensure_ascii=False)


def _lacking(characters: str, ours_only: bool) -> str:
    """Those that no font has; a picture would leave them out silently."""
    import typst

    try:
        _typeset("probe.typ", {"characters": characters}, ours_only)
    except typst.TypstError:
        if len(characters) == 1:
            return characters
        middle = len(characters) // 2
        halves = (characters[:middle], characters[middle:])
        return "".join(_lacking(half, ours_only) for half in halves)
    return ""


def _report(text: str, document: Document, ours_only: bool) -> bytes:
    inputs, own = {"document": text}, document.look.fonts
    if not own:
        return _typeset("report.typ", inputs, ours_only)
    import typst

    with TemporaryDirectory(prefix="tiltyard-fonts-") as folder:
        for number, font in enumerate(own):
            (Path(folder) / f"{number}.{font.kind}").write_bytes(font.data)
        fonts = typst.Fonts(include_system_fonts=not ours_only, font_paths=[FONTS, Path(folder)])
        return _typeset("report.typ", inputs, ours_only, fonts)


def _typeset(
    layout: str, inputs: dict[str, str], ours_only: bool, fonts: "typst.Fonts | None" = None
) -> bytes:
    import typst

    return typst.compile(
        _LAYOUT / layout,
        root=_LAYOUT,
        format="pdf",
        font_paths=fonts or _fonts(ours_only),
        sys_inputs=inputs,
        pdf_standards=["ua-1"],
    )


@functools.cache
def _fonts(ours_only: bool) -> "typst.Fonts":
    """To look for the fonts of a host takes longer than to use them."""
    import typst

    return typst.Fonts(include_system_fonts=not ours_only, font_paths=[FONTS])


FORMAT = Format(
    name="pdf",
    about="typeset on A4: numbered figures and tables, contents, appendices; tagged (PDF/UA-1)",
    file="report.pdf",
    render=render,
)
