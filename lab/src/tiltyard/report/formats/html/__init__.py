"""One HTML file that needs nothing else: no network and no other file; its script is optional."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tiltyard import __version__
from tiltyard.analysis.line import MARKS
from tiltyard.analysis.model import Findings
from tiltyard.analysis.reader_weights import choices
from tiltyard.charts import theme
from tiltyard.charts.figures import with_unit
from tiltyard.charts.svg import to_svg
from tiltyard.charts.theme import FAMILY, FONTS
from tiltyard.printable import visible
from tiltyard.report.document import (
    Callout,
    Column,
    Document,
    Entry,
    Figure,
    Logo,
    Look,
    Paragraph,
    Table,
    texts_of,
)
from tiltyard.report.formats.format import Budget, Format
from tiltyard.report.formats.html.pages import Page, least, pages
from tiltyard.units import unbroken

_WEIGHTS: Final = {"Regular": 400, "SemiBold": 600}


@cache
def faces() -> str:
    """``@font-face`` rules with the font files as ``data:`` addresses."""
    return "\n".join(
        f"@font-face {{ font-family: '{FAMILY}'; font-weight: {weight}; font-style: normal; "
        f"src: url(data:font/otf;base64,{_base64(name)}) format('opentype'); }}"
        for name, weight in _WEIGHTS.items()
    )


def _base64(name: str) -> str:
    return b64encode((FONTS / f"TiltyardSans-{name}.otf").read_bytes()).decode()


def house(look: Look) -> str:
    """What a house changes: typeface of the text, colours by day and by night, its logo's size."""
    rules = [
        f"@font-face {{ font-family: 'House'; font-weight: {font.weight}; "
        f"src: url(data:font/{font.kind};base64,{b64encode(font.data).decode()}); }}"
        for font in look.fonts
    ]
    if look.fonts:
        rules.append(f"html {{ font-family: 'House', {theme.FONT}; }}")
    if look.logo:
        rules.append("header img { display: block; max-height: 4rem; max-width: 60%; }")
    if look.colours:
        day, night = (
            " ".join(f"--{name}: {one[side]};" for name, one in look.colours.items())
            for side in (0, 1)
        )
        rules += [
            f":root {{ {day} }}",
            "@media screen and (prefers-color-scheme: dark) "
            f'{{ :root:not([data-theme="light"]) {{ {night} }} }}',
            f'@media screen {{ :root[data-theme="dark"] {{ {night} }} }}',
        ]
    return "".join(f"\n{rule}" for rule in rules)


def embedded(logo: Logo) -> str:
    """A picture as an address that has all of it."""
    return f"data:{logo.kind};base64,{b64encode(logo.data).decode()}"


_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
"""Of a command: ``--disturbed``."""


def prose(sentence: str) -> Markup:
    """A sentence that breaks neither between a number and its unit nor in an option."""
    text = str(escape(unbroken(sentence)))
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', text))


LIMIT_BYTES = 2_000_000
"""Of a page."""
_PICTURES_BYTES = 1_000_000
"""Of all its pictures together."""
_SKELETON_BYTES = 150_000
"""Of heads, captions, contents and facts, which nothing shortens: at least so much."""
_ROOM_BYTES = 600_000
"""For pictures and the rows of tables beyond the first ones; without it there are more pages."""
_PICTURES_SHARE = 0.7
"""Of what words leave."""
_FILES_MAX = 5_000
"""Trials with a link; a page that small has fewer rows of them."""
_SMALL_BYTES = 50_000
"""A picture of up to this size stays as it is, while others can be made smaller."""
_ALT_LETTERS = 300


@dataclass(frozen=True)
class Drawn:
    """One picture for a desk and, where it was drawn apart, for a phone."""

    wide: Markup
    narrow: Markup | None


@dataclass(frozen=True)
class Pictures:
    """All pictures of a document, by id."""

    drawn: Mapping[str, Drawn]

    @classmethod
    def of(cls, document: Document, limit_bytes: int = _PICTURES_BYTES) -> "Pictures":
        """Draw them in reading order until there is no room: drawing is what a page costs.

        Beyond the limit the largest lose titles, narrow forms, then the drawing.
        """
        by_id = {figure.id: figure for figure in document.figures()}
        drawn: dict[str, Drawn] = {}
        rest = iter(by_id.values())
        for figure in rest if limit_bytes > 0 else ():
            drawn[figure.id] = _draw(figure)
            if not _made_to_fit(drawn, by_id, limit_bytes):
                drawn[figure.id] = _words(figure)
                break
        return cls(drawn | {figure.id: _words(figure) for figure in rest})

    @property
    def size_bytes(self) -> int:
        """Of all of them."""
        return sum(map(_size, self.drawn.values()))


def _draw(figure: Figure) -> Drawn:
    """Marks of the wide form tell what they stand for under a pointer; a phone has none."""
    narrow = None if figure.narrow is None else Markup(to_svg(figure.narrow, figure.alt))
    return Drawn(Markup(to_svg(figure.wide, figure.alt, titles=True)), narrow)


def _made_to_fit(drawn: dict[str, Drawn], figures: Mapping[str, Figure], limit_bytes: int) -> bool:
    """Make the large ones smaller as far as is needed; whether all have room then."""
    size = sum(map(_size, drawn.values()))
    for lessen in (_untitled, _wide_only, _words):
        for id in sorted(drawn, key=lambda id: -_size(drawn[id])):
            if size <= limit_bytes:
                return True
            if _size(drawn[id]) > _SMALL_BYTES:
                size -= _size(drawn[id])
                drawn[id] = lessen(figures[id], drawn[id])
                size += _size(drawn[id])
    return size <= limit_bytes


def _untitled(figure: Figure, drawn: Drawn) -> Drawn:
    if "<title>" not in drawn.wide:
        return drawn
    return Drawn(Markup(to_svg(figure.wide, figure.alt)), drawn.narrow)


def _wide_only(_figure: Figure, drawn: Drawn) -> Drawn:
    return Drawn(drawn.wide, None)


def _words(figure: Figure, _drawn: Drawn | None = None) -> Drawn:
    text = f"Too large for this page; --figures svg writes it. {figure.alt[:_ALT_LETTERS]}"
    return Drawn(Markup('<p class="note">{}</p>').format(text), None)


def _size(drawn: Drawn) -> int:
    return len(drawn.wide) + len(drawn.narrow or "")


@dataclass(frozen=True)
class Head:
    """One cell of the head of a table."""

    text: str
    column: int | None
    """Place of the column that it is of; ``None`` where it is over several."""
    columns: int = 1
    rows: int = 1
    classes: str = ""
    unit: str = ""
    """Of the figures below it."""


@dataclass(frozen=True)
class Grid:
    """Prints tables; knows the signs of the systems."""

    signs: Mapping[str, str]
    """System → class of its sign."""

    @classmethod
    def of(cls, document: Document) -> "Grid":
        """For all tables of a document."""
        return cls({name: f"s{number}" for number, name in enumerate(document.signs, 1)})

    def heads(self, table: Table) -> list[list[Head]]:
        """One row of heads, or two where some columns have a common head or unit."""
        groups = list(_groups(table.columns))
        if all(not text for text, _ in groups):
            return [[self._head(at, column) for at, column in enumerate(table.columns)]]
        upper, lower = [], []
        first = 0
        for text, own in groups:
            if text:
                upper.append(Head(text, None, len(own), classes="group"))
                lower += [
                    self._head(first + at, column, bare=text != column.under)
                    for at, column in enumerate(own)
                ]
            else:
                upper.append(replace(self._head(first, own[0]), rows=2))
            first += len(own)
        return [upper, lower]

    def pinned(self, table: Table) -> int:
        """The column that stays when the table is scrolled: the first one with words."""
        return next((at for at, column in enumerate(table.columns) if not column.figures), 0)

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Entry]]) -> Markup:
        """The rows, one a line."""
        return Markup("\n".join(self._row(columns, row) for row in rows))

    def _row(self, columns: Sequence[Column], row: Sequence[Entry]) -> str:
        cells = (
            self._cell("td" if place else "th", entry, column)
            for place, (entry, column) in enumerate(zip(row, columns, strict=True))
        )
        return f"<tr>{''.join(cells)}</tr>"

    def _cell(self, tag: str, entry: Entry, column: Column) -> str:
        classes = " ".join(self._look(entry, column))
        marks = ' scope="row"' if tag == "th" else ""
        marks += f' class="{classes}"' if classes else ""
        number = _number(entry) if column.figures else ""
        marks += f' data-v="{number}"' if number else ""
        spread = entry.beneath_value
        own = "" if spread is None else f' data-v="{spread:.6g}"'
        beneath = f"<small{own}>{prose(entry.beneath)}</small>" if entry.beneath else ""
        return f"<{tag}{marks}>{_text(entry, column)}{beneath}</{tag}>"

    def _look(self, entry: Entry, column: Column) -> Iterator[str]:
        if not column.figures:
            yield "words"
        if column.spare:
            yield "spare"
        if entry.kind == "system" and entry.text in self.signs:
            yield self.signs[entry.text]
        if entry.strong:
            yield "strong"
        if entry.quiet:
            yield "quiet"
        if entry.shade:
            yield f"shade-{entry.shade}"

    def _head(self, at: int, column: Column, *, bare: bool = False) -> Head:
        """One column; ``bare`` where its unit stands above it."""
        text = column.head if bare else _headed(column)
        return Head(text, at, classes=self._classes(column), unit=column.unit)

    def _classes(self, column: Column) -> str:
        own = ("" if column.figures else "words", "spare" if column.spare else "")
        return " ".join(filter(None, (*own, self.signs.get(column.head, ""))))


def _groups(columns: Sequence[Column]) -> Iterator[tuple[str, list[Column]]]:
    """What stands over each run of columns; their unit where several have the same one."""
    runs = groupby(columns, key=lambda column: (column.under, "" if column.under else column.unit))
    for (under, unit), found in runs:
        own = list(found)
        if under:
            common = {column.unit for column in own}
            yield _with(under, common.pop() if len(own) > 1 and len(common) == 1 else ""), own
        elif unit and len(own) > 1:
            yield _with("", unit), own
        else:
            yield from (("", [column]) for column in own)


def _with(head: str, unit: str) -> str:
    """A head over several columns; a rate has no label of its own there."""
    return ", ".join(filter(None, (head, "per second" if unit in ("/s", "1/s") else unit)))


def _headed(column: Column) -> str:
    return with_unit(column.head, column.unit)


def _text(entry: Entry, column: Column) -> str:
    """The text, with the sign of its verdict."""
    text = str(prose(entry.text))
    if entry.kind != "verdict" or entry.verdict is None:
        return text
    look = "worth" if column.figures else "chip"
    hidden = "" if column.figures else ' aria-hidden="true"'
    mark = f"<i{hidden}>{MARKS[entry.verdict]}</i>"
    return f'<span class="{look} {entry.verdict}">{mark} {text}</span>'


def _number(entry: Entry) -> str:
    """The value for sorting, where the text does not say it already."""
    if entry.value is None:
        return ""
    number = f"{entry.value:.6g}"
    return "" if entry.text.replace(",", "").replace("−", "-") == number else number


_ADDRESS = re.compile(r"https?://[^\s<>\"]+")
_LONG_ANSWER = 100
"""Letters from which on an answer is printed smaller."""


def render_page(document: Document, findings: Findings | None = None) -> str:
    """The first page of a document; everything in it can be read with scripts off.

    Args:
        document: what is printed.
        findings: what readers may weigh otherwise; without them there is no view of their own.

    Returns:
        A self-contained page. Its script may run because the page names the script's hash;
        nothing else may, and nothing is fetched.
    """
    return next(_rendered(document, findings))[1]


def _rendered(document: Document, findings: Findings | None) -> Iterator[tuple[str, str]]:
    """File and text of each page: mostly one."""
    style = style_sheet(document)
    view = _view(findings) if findings else Markup()
    room = LIMIT_BYTES - sum(map(len, (_script(), style, view)))
    every = pages(document, room - _ROOM_BYTES)
    left = _PICTURES_BYTES
    for page in every:
        words = max(least(page.document), _SKELETON_BYTES)
        pictures = Pictures.of(page.document, min(left, int(_PICTURES_SHARE * (room - words))))
        left -= pictures.size_bytes
        budget = Budget.of(page.document, room - words - pictures.size_bytes)
        yield page.file, _page(page, every, pictures, budget, style, view)
        view = Markup()


def _page(
    page: Page, every: Sequence[Page], pictures: Pictures, budget: Budget, style: str, view: str
) -> str:
    script, document = _script(), page.document
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            sections=document.lettered(),
            others=[other for other in every if other is not page],
            budget=budget,
            grid=Grid.of(document),
            pictures=pictures,
            style=style,
            view=view,
            script=Markup(script),
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            version=__version__,
        )
    )


def _view(findings: Findings) -> Markup:
    """What the script needs for a view of a reader's own, and the files of the trials, as JSON."""
    found = {
        **choices(findings).model_dump(mode="json"),
        "files": [one.file for one in findings.trials[:_FILES_MAX]],
    }
    return Markup(json.dumps(found, separators=(",", ":")).replace("<", "\\u003c"))


@dataclass(frozen=True)
class Card:
    """A study in a gallery."""

    link: str
    document: Document

    @property
    def warnings(self) -> list[tuple[str, str, list[str]]]:
        """What must be known before the answer: title, kind and texts of each box above it."""
        return [
            (block.title, block.kind, [*texts_of(block.blocks)])
            for block in self.document.front
            if isinstance(block, Callout) and block.kind in ("warning", "problem")
        ]

    @property
    def lead(self) -> str:
        """The answer."""
        front = self.document.front
        return next((b.text for b in front if isinstance(b, Paragraph) and b.role == "lead"), "")

    @property
    def figure(self) -> Figure | None:
        """The picture of the answer."""
        return next((block for block in self.document.front if isinstance(block, Figure)), None)

    @property
    def drawn(self) -> Drawn | None:
        """That picture, drawn."""
        return _draw(self.figure) if self.figure else None


def render_gallery(cards: Sequence[Card]) -> bytes:
    """One page with the answer and the picture of each study, which link to its report."""
    page = _environment().get_template("gallery.html.j2")
    return visible(page.render(cards=cards, style=style_sheet(), version=__version__)).encode()


def style_sheet(document: Document | None = None) -> Markup:
    """The style of every page of ours, with the typeface and the signs of a document's systems."""
    signs = list(document.signs.values()) if document else []
    sheet = _environment().get_template("style.css.j2")
    own = house(document.look) if document else ""
    return Markup(sheet.render(theme=theme, faces=faces(), signs=signs) + own)


def linked(text: str) -> Markup:
    """A text; an address that is all of it can be followed."""
    if _ADDRESS.fullmatch(text):
        return Markup('<a href="{0}" rel="noreferrer">{0}</a>').format(text)
    return prose(text)


@cache
def _script() -> str:
    templates = files(__package__).joinpath("templates")
    return "\n".join(
        templates.joinpath(name).read_text(encoding="utf-8")
        for name in ("page.js", "shown.js", "view.js")
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "prose": prose,
        "linked": linked,
        "embedded": embedded,
        "kind": lambda block: type(block).__name__.lower(),
    }
    environment.globals["LONG_ANSWER"] = _LONG_ANSWER
    return environment


def render(document: Document, findings: Findings) -> dict[str, bytes]:
    """The pages, in UTF-8."""
    return {file: visible(page).encode() for file, page in _rendered(document, findings)}


FORMAT = Format(
    name="html",
    about="one self-contained page, light and dark, for desk, phone and paper",
    file="index.html",
    render=render,
)
