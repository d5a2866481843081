"""Native charts: they draw the cells of their sheet, in the colours of the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xlsxwriter import Workbook
from xlsxwriter.chart import Chart
from xlsxwriter.utility import quote_sheetname, xl_range_abs
from xlsxwriter.worksheet import Worksheet

from tiltyard.charts.theme import LIGHT
from tiltyard.report.document import SheetChart, Table
from tiltyard.report.formats.xlsx.looks import Looks
from tiltyard.report.spread import SpreadColumn

_TYPES: Final[dict[str, dict[str, str]]] = {
    "bar": {"type": "bar"},
    "column": {"type": "column"},
    "line": {"type": "line"},
    "scatter": {"type": "scatter"},
    "surface": {"type": "line"},
}
"""Kind → what xlsxwriter is told."""
_MARKED: Final = frozenset({"line", "scatter"})
"""Types whose points are marked."""
_MARKERS: Final = ("circle", "square", "diamond", "triangle")
_SERIES: Final = [colour for name, colour in LIGHT.items() if name.startswith("series-")]
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
            place
            for place, own in enumerate(self.columns)
            if own.place == column and not own.beneath
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
    told = _TYPES[chart.kind]
    drawn = workbook.add_chart(told)
    for number, column in enumerate(chart.series):
        colour = looks.colour_of(table.columns[column].head) or _SERIES[number % len(_SERIES)]
        drawn.add_series(
            {
                "name": _name(frame, column),
                "categories": frame.cells(chart.categories),
                "values": frame.cells(column),
                **_stroke(told["type"], number, colour),
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
