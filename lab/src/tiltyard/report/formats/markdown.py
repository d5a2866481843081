"""GitHub-flavoured Markdown, with pictures as SVG files beside it."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, assert_never

from tiltyard.analysis.line import MARKS
from tiltyard.analysis.model import Findings
from tiltyard.charts.figures import with_unit
from tiltyard.charts.svg import to_file
from tiltyard.printable import html, markdown, visible
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
    Logo,
    Paragraph,
    Section,
    Sentences,
    Table,
)
from tiltyard.report.formats.format import Format

ALERTS: Final = {
    "note": "NOTE",
    "limits": "IMPORTANT",
    "warning": "WARNING",
    "problem": "CAUTION",
}
"""Kind of callout → what GitHub calls it; elsewhere it is a quotation with that word."""


def render(document: Document, _findings: Findings) -> dict[str, bytes]:
    """One text and one file a figure."""
    lines = chain.from_iterable((*chunk, "") for chunk in _Writer(document).chunks())
    look = document.look
    files = {
        _path(one): look.painted(to_file(one.wide, one.alt)).encode() for one in document.figures()
    }
    if look.logo:
        files[_logo(look.logo)] = look.logo.data
    return {"report.md": visible("\n".join(lines)).encode(), **files}


def _logo(logo: Logo) -> str:
    return f"figures/logo.{'png' if logo.kind == 'image/png' else 'svg'}"


def _path(figure: Figure) -> str:
    return f"figures/{figure.id}.svg"


class _Writer:
    """Blocks to chunks of lines; between chunks stands an empty line."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def chunks(self) -> Iterator[list[str]]:
        """The whole document."""
        document = self._document
        if logo := document.look.logo:
            yield [f"![{markdown(logo.alt)}]({_logo(logo)})"]
        yield [f"# {markdown(document.title)}"]
        yield from ([markdown(text)] for text in (document.subtitle, document.byline) if text)
        yield from self._blocks(document.front)
        for letter, section in document.lettered():
            title = f"Appendix {letter}: {section.title}" if letter else section.title
            yield from self._section(section, "##", title)
        yield ["---"]
        yield [f"- {markdown(name)}: {markdown(value)}" for name, value in document.colophon]

    def _section(self, section: Section, marks: str, title: str) -> Iterator[list[str]]:
        yield [f"{marks} {markdown(title)}"]
        yield from self._blocks(section.blocks)
        for part in section.sections:
            yield from self._section(part, f"{marks}#"[:6], part.title)

    def _blocks(self, blocks: Sequence[Block]) -> Iterator[list[str]]:
        for block in blocks:
            yield from self._block(block)

    def _block(self, block: Block) -> Iterator[list[str]]:
        match block:
            case Paragraph():
                text = markdown(block.text)
                yield [f"**{text}**" if block.role == "lead" else text]
            case Sentences():
                yield [f"- {markdown(item)}" for item in block.items]
            case Facts():
                yield from _facts(block)
            case Commands():
                yield from _titled(block.title)
                yield _code(block.lines)
            case Table():
                yield from self._table(block)
            case Figure():
                yield [f"**{markdown(block.title)}**", *filter(None, [markdown(block.subtitle)])]
                yield [f"![{markdown(block.alt)}]({_path(block)})"]
                yield [markdown(block.caption)]
            case Callout():
                yield list(self._callout(block))
            case Fold():
                yield ["<details>", f"<summary>{html(block.summary)}</summary>"]
                yield from self._blocks(block.blocks)
                yield ["</details>"]
            case _:
                assert_never(block)

    def _callout(self, callout: Callout) -> Iterator[str]:
        yield f"> [!{ALERTS[callout.kind]}]"
        yield f"> **{markdown(callout.title)}**"
        for chunk in self._blocks(callout.blocks):
            yield ">"
            yield from (f"> {line}" for line in chunk)

    def _table(self, table: Table) -> Iterator[list[str]]:
        yield [f"**{markdown(table.title)}**"]
        closing = len(table.rows) - table.closing
        yield [
            _line(map(_head, table.columns)),
            _line("---:" if column.figures else "---" for column in table.columns),
            *(
                _line(self._entry(entry, closing=number >= closing) for entry in row)
                for number, row in enumerate(table.rows)
            ),
        ]
        if table.caption:
            yield [markdown(table.caption)]

    def _entry(self, entry: Entry, *, closing: bool) -> str:
        text = markdown(entry.text)
        if entry.kind == "system" and entry.text in self._document.signs:
            text = f"{self._document.signs[entry.text][0]} {text}"
        if entry.verdict is not None:
            text = f"{MARKS[entry.verdict]} {text}"
        if text and (entry.strong or closing):
            text = f"**{text}**"
        return f"{text}<br>{markdown(entry.beneath)}" if entry.beneath else text


def _head(column: Column) -> str:
    head = markdown(with_unit(column.head, column.unit))
    return f"{markdown(column.under)}<br>{head}" if column.under else head


def _facts(facts: Facts) -> Iterator[list[str]]:
    yield from _titled(facts.title)
    if facts.large and facts.rows:
        names, values = zip(*facts.rows, strict=True)
        yield [
            _line(map(markdown, names)),
            _line("---" for _ in names),
            _line(f"**{markdown(value)}**" for value in values),
        ]
    else:
        yield [f"- {markdown(name)}: {markdown(value)}" for name, value in facts.rows]


def _titled(title: str) -> list[list[str]]:
    return [[f"**{markdown(title)}**"]] if title else []


def _code(lines: Sequence[str]) -> list[str]:
    """A fence that is longer than any in the lines."""
    ticks = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, ticks + 1)
    return [f"{fence}sh", *(line for command in lines for line in command.split("\n")), fence]


def _line(cells: "Iterator[str] | map[str]") -> str:
    return f"| {' | '.join(cells)} |"


FORMAT = Format(
    name="markdown",
    about="one GitHub-flavoured text with its pictures as SVG files; for repositories and wikis",
    file="report.md",
    render=render,
)
