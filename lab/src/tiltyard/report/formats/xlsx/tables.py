"""One sheet for one table."""

from collections.abc import Sequence
from itertools import groupby
from math import isfinite
from typing import Final

from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from tiltyard.charts.theme import LIGHT
from tiltyard.report.document import Entry, Table
from tiltyard.report.formats.xlsx.charts import Frame, add_charts
from tiltyard.report.formats.xlsx.looks import Looks, height, number_format
from tiltyard.report.formats.xlsx.names import SUMMARY, reference
from tiltyard.report.spread import SpreadColumn, spread

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
    if own.beneath or entry.quiet:
        found["font_color"] = LIGHT["soft"]
    elif entry.kind == "system" and (colour := looks.colour_of(entry.text)):
        found["font_color"] = colour
    if entry.strong and not own.beneath:
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
