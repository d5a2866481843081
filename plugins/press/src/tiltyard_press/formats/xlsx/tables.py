"""Sheets of tables and of values, with the formats of their cells."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from textwrap import wrap
from typing import Final

from xlsxwriter import Workbook
from xlsxwriter.chart import Chart
from xlsxwriter.format import Format
from xlsxwriter.utility import quote_sheetname, xl_range_abs
from xlsxwriter.worksheet import Worksheet

from tiltyard.charts.theme import LIGHT, SERIES
from tiltyard.report.document import Entry, SheetChart, Table
from tiltyard.report.formats.format import SpreadColumn, spread

SUMMARY: Final = "Overview"
TEXT: Final = "Text"
VALUES: Final = "Values"

_LONGEST = 31
_FORBIDDEN = re.compile(r"[\[\]:*?/\\'\x00-\x1f]")
_TAKEN = (SUMMARY, TEXT, VALUES, "History")
"""Our own; and one that Excel keeps for itself."""


def sheet_names(ids: Sequence[str]) -> list[str]:
    """One name for each id, as much of it as there is room for."""
    taken = {name.lower() for name in _TAKEN}
    names = []
    for own in ids:
        name = _unique(_FORBIDDEN.sub("-", own).strip() or "table", taken)
        taken.add(name.lower())
        names.append(name)
    return names


def _unique(wanted: str, taken: set[str]) -> str:
    name, number = wanted[:_LONGEST].rstrip("-"), 1
    while name.lower() in taken:
        number += 1
        suffix = f"~{number}"
        name = wanted[: _LONGEST - len(suffix)].rstrip("-") + suffix
    return name


def reference(name: str) -> str:
    """A name as formulas of charts and links want it."""
    return f"'{name}'"


_NUMBER = re.compile(
    r"(?P<before>[^\d+−-]*)(?P<sign>[+−-]?)(?P<whole>\d[\d,]*)(?:\.(?P<decimals>\d+))?(?P<after>\D*)"
)
GENERAL = "General"
_SIZE: Final = 11
"""Points of what has no size of its own; such a line is 15 points high."""
_LINE: Final = 15 / _SIZE


class Looks:
    """Formats of one workbook."""

    def __init__(self, workbook: Workbook, signs: dict[str, tuple[str, str]]) -> None:
        self._workbook = workbook
        self._signs = signs
        self._made: dict[tuple[tuple[str, object], ...], Format] = {}

    def of(self, **properties: object) -> Format:
        """A format with these properties of xlsxwriter; the same one for the same properties."""
        key = tuple(sorted(properties.items()))
        if key not in self._made:
            known = {"font_color": LIGHT["ink"], "valign": "top", **properties}
            self._made[key] = self._workbook.add_format(known)
        return self._made[key]

    def colour_of(self, system: str) -> str | None:
        """The colour of a system; ``None`` for any other word."""
        return LIGHT[self._signs[system][1]] if system in self._signs else None


def height(text: str, width: int, size: int = _SIZE) -> float | None:
    """How high the row of a wrapped text must be, in points; ``None`` where one line will do.

    Excel finds it out by itself, other programs do not. Letters are narrower than digits, mostly,
    which leaves room for another font in the place of Excel's.

    Args:
        text: what stands in it.
        width: of the column, in digits.
        size: of the letters, in points.
    """
    lines = sum(max(1, len(wrap(line, max(1, width)))) for line in text.split("\n"))
    return None if lines == 1 and size == _SIZE else lines * size * _LINE


def number_format(text: str, value: float) -> str:
    """The format in which a number reads as its text does: ``14.1`` → ``0.0``, ``+3 %``, ``± 0.2``.

    A text with fewer digits than the integer has (``18,400``) shows all of those. ``General`` where
    the text is not that number, rounded: then all its digits are shown.
    """
    found = _NUMBER.fullmatch(text)
    if found is None or '"' in text:
        return GENERAL
    whole, decimals, negative = (
        found["whole"],
        found["decimals"] or "",
        found["sign"] in tuple("−-"),
    )
    plain = whole.replace(",", "")
    shown = float(f"{'-' if negative else ''}{plain}.{decimals}")
    zeros = 0 if decimals else len(plain) - len(plain.rstrip("0"))
    if abs(value - shown) > 0.5000001 * 10 ** (zeros - len(decimals)):
        return GENERAL
    digits = ("#,##0" if "," in whole else "0") + ("." + "0" * len(decimals) if decimals else "")
    before, after = _literal(found["before"]), _literal(found["after"])
    if negative:
        return f'{before}{digits}{after};{before}"{found["sign"]}"{digits}{after}'
    return f"{before}{'+' if found['sign'] else ''}{digits}{after}"


def _literal(text: str) -> str:
    return f'"{text}"' if text else ""


_TYPES: Final[dict[str, dict[str, str]]] = {
    "bar": {"type": "bar"},
    "column": {"type": "column"},
    "line": {"type": "line"},
    "scatter": {"type": "scatter"},
    "surface": {"type": "line"},
}
"""Kind → options of xlsxwriter."""
_MARKED: Final = frozenset({"line", "scatter"})
"""Types whose points are marked."""
_MARKERS: Final = ("circle", "square", "diamond", "triangle")
_SERIES: Final = [LIGHT[name] for name in SERIES]
_FONTS: Final = ("name_font", "num_font")
_WIDTH_PX: Final = 640
_HEIGHT_PX: Final = 360
_ROW_PX: Final = 20


@dataclass(frozen=True)
class Frame:
    """Where a table stands in its sheet; rows are counted from 0."""

    sheet: str
    columns: Sequence[SpreadColumn]
    head: int
    first: int
    last: int
    """The last row of the body: rows that sum up are not drawn."""
    below: int
    """The first row below the table."""

    def place(self, column: int) -> int:
        """Where the entries of a column of the table stand."""
        return next(
            place for place, own in enumerate(self.columns) if own.place == column and not own.part
        )

    def cells(self, column: int) -> list[str | int]:
        """The body of a column of the table, as xlsxwriter wants it."""
        place = self.place(column)
        return [self.sheet, self.first, place, self.last, place]


def add_charts(
    workbook: Workbook, sheet: Worksheet, table: Table, frame: Frame, looks: Looks
) -> None:
    """Put the charts of a table into its sheet: right of a long one, below a wide one."""
    beside = len(table.rows) > len(frame.columns)
    row, column = (frame.head, len(frame.columns) + 1) if beside else (frame.below + 1, 0)
    for chart in table.charts:
        drawn = _drawn(workbook, table, chart, frame, looks)
        sheet.insert_chart(row, column, drawn)
        row += _HEIGHT_PX // _ROW_PX + 2


def _drawn(
    workbook: Workbook, table: Table, chart: SheetChart, frame: Frame, looks: Looks
) -> Chart:
    options = _TYPES[chart.kind]
    drawn = workbook.add_chart(options)
    for number, column in enumerate(chart.series):
        colour = looks.colour_of(table.columns[column].head) or _SERIES[number % len(_SERIES)]
        drawn.add_series(
            {
                "name": _name(frame, column),
                "categories": frame.cells(chart.categories),
                "values": frame.cells(column),
                **_stroke(options["type"], number, colour),
                **_deviations(table, frame, column),
            }
        )
    drawn.set_title({"name": _words(chart.title), "name_font": {"size": 12, "color": LIGHT["ink"]}})
    _axes(drawn, chart, frame.columns[frame.place(chart.categories)].head)
    drawn.set_legend({"none": True} if len(chart.series) == 1 else {"position": "bottom"})
    drawn.set_size({"width": _WIDTH_PX, "height": _HEIGHT_PX})
    drawn.set_chartarea({"border": {"none": True}})
    drawn.show_blanks_as("gap")
    return drawn


def _axes(drawn: Chart, chart: SheetChart, categories: str) -> None:
    """Name both axes; bars lie, and their first category is on top as in the table."""
    lying = chart.kind == "bar"
    fonts = {name: {"color": LIGHT["soft"], "size": 9, "bold": False} for name in _FONTS}
    of_categories = {
        "name": _words(categories),
        "major_gridlines": {"visible": False},
        **({"reverse": True, "crossing": "max"} if lying else {}),
        **fonts,
    }
    of_values = {
        "name": _words(chart.axis),
        "major_gridlines": {"visible": True, "line": {"color": LIGHT["line"]}},
        "line": {"none": True},
        **({"log_base": 10} if chart.log else {}),
        **fonts,
    }
    drawn.set_x_axis(of_values if lying else of_categories)
    drawn.set_y_axis(of_categories if lying else of_values)


def _name(frame: Frame, column: int) -> str | list[str | int]:
    """The head of a column; in words where another head stands above it."""
    place = frame.place(column)
    own = frame.columns[place]
    return _words(own.whole_head) if own.column.under else [frame.sheet, frame.head, place]


def _words(text: str) -> str:
    """A text that xlsxwriter does not take for a reference: ``'x'!A1`` with a word joiner in it."""
    return text.replace("!", "!\u2060")


def _deviations(table: Table, frame: Frame, column: int) -> dict[str, object]:
    """Bars of error, where what stands beneath each entry is a deviation: ``± 0.2``."""
    body = table.rows[: frame.last - frame.first + 1]
    beneath = [row[column] for row in body if row[column].beneath]
    if not beneath or not all(
        entry.beneath.startswith("±") and entry.beneath_value is not None for entry in beneath
    ):
        return {}
    place = frame.place(column) + 1
    cells = xl_range_abs(frame.first, place, frame.last, place)
    drawn = f"{quote_sheetname(frame.sheet)}!{cells}"
    known = [row[column].beneath_value for row in body]
    bars = {
        "type": "custom",
        **{f"{side}_values": drawn for side in ("plus", "minus")},
        **{f"{side}_data": known for side in ("plus", "minus")},
        "line": {"color": LIGHT["soft"]},
    }
    return {"y_error_bars": bars}


def _stroke(form: str, number: int, colour: str) -> dict[str, object]:
    """How a series is drawn: surfaces filled, lines with marks."""
    if form not in _MARKED:
        return {"fill": {"color": colour}}
    marker = {
        "type": _MARKERS[number % len(_MARKERS)],
        "size": 6,
        "fill": {"color": colour},
        "border": {"color": colour},
    }
    line = {"none": True} if form == "scatter" else {"color": colour, "width": 2}
    return {"line": line, "marker": marker}


_HEADS_AT: Final = 5
"""Row of the heads, counted from 0: title, caption, way back, nothing, heads above, heads."""
_NARROWEST: Final = 7
_WIDEST: Final = 60
_HEAD_WIDTH: Final = 16
"""A longer head is wrapped."""
_FILTER_WIDTH: Final = 3
_TITLE_SIZE: Final = 14


def write_table(workbook: Workbook, name: str, table: Table, looks: Looks) -> None:
    """Write a table, its charts right of it or below it, whichever is nearer."""
    sheet = workbook.add_worksheet(name)
    sheet.hide_gridlines(2)
    sheet.write_string(0, 0, table.title, looks.of(bold=True, font_size=_TITLE_SIZE))
    sheet.set_row(0, height("", _WIDEST, _TITLE_SIZE))
    sheet.write_string(1, 0, table.caption, looks.of(font_color=LIGHT["soft"]))
    back = f"internal:{reference(SUMMARY)}!A1"
    sheet.write_url(2, 0, back, looks.of(font_color=LIGHT["series-1"]), f"← {SUMMARY}")
    columns = spread(table)
    _heads(sheet, columns, looks)
    first, body = _HEADS_AT + 1, len(table.rows) - table.closing
    for number, row in enumerate(table.rows):
        _row(sheet, first + number, row, columns, looks, closing=number - body)
    widths = [_width(own, table) for own in columns]
    for place, width in enumerate(widths):
        sheet.set_column(place, place, width)
    heads = zip((own.head for own in columns), widths, strict=True)
    heights = [height(head, width - _FILTER_WIDTH) for head, width in heads]
    sheet.set_row(_HEADS_AT, max(filter(None, heights), default=None))
    sheet.freeze_panes(first, 0 if columns[0].column.figures else 1)
    if body > 1:
        sheet.autofilter(_HEADS_AT, 0, _HEADS_AT + body, len(columns) - 1)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(_HEADS_AT - 1, _HEADS_AT)
    if body:
        frame = Frame(name, columns, _HEADS_AT, first, first + body - 1, first + len(table.rows))
        add_charts(workbook, sheet, table, frame, looks)


def _heads(sheet: Worksheet, columns: Sequence[SpreadColumn], looks: Looks) -> None:
    place = 0
    above = looks.of(bold=True, align="center", bottom=1, bottom_color=LIGHT["faint"])
    for under, own in groupby(columns, key=lambda one: one.column.under):
        last = place + len(list(own)) - 1
        if under and last > place:
            sheet.merge_range(_HEADS_AT - 1, place, _HEADS_AT - 1, last, "", above)
        if under:
            sheet.write_string(_HEADS_AT - 1, place, under, above)
        place = last + 1
    for place, one in enumerate(columns):
        look = looks.of(bold=True, text_wrap=True, valign="bottom", bottom=2, **_sided(one, place))
        sheet.write_string(_HEADS_AT, place, one.head, look)


def _row(
    sheet: Worksheet,
    at: int,
    row: Sequence[Entry],
    columns: Sequence[SpreadColumn],
    looks: Looks,
    *,
    closing: int,
) -> None:
    """``closing``: place among the closing rows; negative before them."""
    longest = max((own.text(row[own.place]) for own in columns), key=len, default="")
    if len(longest) > _WIDEST:
        sheet.set_row(at, height(longest, _WIDEST))
    for place, own in enumerate(columns):
        entry = row[own.place]
        value, text = own.value(entry), own.text(entry)
        properties = {**_sided(own, place), **_properties(entry, own, looks)}
        if closing == 0:
            properties["top"] = 1
        if value is not None and isfinite(value):
            form = number_format(text, value)
            sheet.write_number(at, place, value, looks.of(**properties, num_format=form))
        elif text:
            sheet.write_string(at, place, text, looks.of(**properties))
        elif properties.keys() & {"top", "bg_color"}:
            sheet.write_blank(at, place, None, looks.of(**properties))


def _properties(entry: Entry, own: SpreadColumn, looks: Looks) -> dict[str, object]:
    found: dict[str, object] = {}
    if own.part or entry.quiet:
        found["font_color"] = LIGHT["soft"]
    elif entry.kind == "system" and (colour := looks.colour_of(entry.text)):
        found["font_color"] = colour
    if entry.strong and not own.part:
        found["bold"] = True
    if entry.shade:
        found["bg_color"] = LIGHT[entry.shade]
    if len(own.text(entry)) > _WIDEST:
        found["text_wrap"] = True
    return found


def _sided(own: SpreadColumn, place: int) -> dict[str, object]:
    """Figures stand right, words left, and not close to the figures before them."""
    if own.column.figures:
        return {"align": "right"}
    return {"align": "left", "indent": 1} if place else {"align": "left"}


def _width(own: SpreadColumn, table: Table) -> int:
    longest = max((len(own.text(row[own.place])) for row in table.rows), default=0)
    head = min(len(own.head), max(_HEAD_WIDTH, *map(len, own.head.split()), 0)) + _FILTER_WIDTH
    return min(_WIDEST, max(_NARROWEST, longest + 2, head))
