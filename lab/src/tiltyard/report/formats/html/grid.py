"""Tables as HTML: heads over groups of columns, and rows, written as short as they can be."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from markupsafe import Markup, escape

from tiltyard.charts.figures import MARKS, with_unit
from tiltyard.report.document import Column, Document, Entry, Table
from tiltyard.report.formats.html.prose import prose


@dataclass(frozen=True)
class Head:
    """One cell of the head of a table."""

    text: str
    column: int | None
    """Place of the column that it is of; ``None`` where it is over several."""
    columns: int = 1
    rows: int = 1
    classes: str = ""


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
        beneath = f"<small>{escape(prose(entry.beneath))}</small>" if entry.beneath else ""
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
        return Head(column.head if bare else _headed(column), at, classes=self._classes(column))

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
    text = str(escape(prose(entry.text)))
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
