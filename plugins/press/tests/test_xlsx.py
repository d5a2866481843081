"""The workbook, read back by another library."""

from dataclasses import replace
from io import BytesIO
from zipfile import ZipFile

import openpyxl
import pytest
from openpyxl.chart.bar_chart import BarChart
from openpyxl.chart.line_chart import LineChart
from openpyxl.workbook import Workbook

from support.documents import everything
from support.specimen import findings as specimen
from tiltyard.analysis.values import value_table
from tiltyard.charts.theme import LIGHT
from tiltyard.report.document import Column, Document, Entry, SheetChart, Table
from tiltyard_press.formats.xlsx import render
from tiltyard_press.formats.xlsx.tables import number_format, sheet_names

FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "=HYPERLINK(A1)", "{=1}", "http://example.org/")


def opened(document: Document) -> Workbook:
    data = render(document, specimen(blocks=2))["report.xlsx"]
    return openpyxl.load_workbook(BytesIO(data))


@pytest.fixture(scope="module")
def book() -> Workbook:
    return opened(everything())


def test_there_is_one_sheet_a_table(book: Workbook) -> None:
    tables = [table.id for table in everything().tables()]
    assert book.sheetnames == ["Overview", *tables, "Text", "Values"]


def test_the_summary_links_to_every_sheet(book: Workbook) -> None:
    links = [cell.hyperlink.location for row in book["Overview"] for cell in row if cell.hyperlink]
    assert links == [f"'{name}'!A1" for name in book.sheetnames[1:]]


def test_numbers_are_numbers_with_all_digits_that_read_as_in_the_text(book: Workbook) -> None:
    sheet = book["throughput-systems"]
    heads = [cell.value for cell in sheet[6]]
    assert heads == ["System", "write, MB/s", "write, MB/s (beneath)", "read, MB/s", "verdict"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=7, max_row=9)]
    assert rows == [
        ["ext4", 14.1234, 0.21, 30, "baseline"],
        ["xfs", 18.42, None, None, "faster"],
        ["average", 16.27, None, 30, None],
    ]
    assert [sheet["B7"].number_format, sheet["C7"].number_format] == ["0.0", '"± "0.0']


def test_heads_that_belong_together_are_merged_and_stay_in_sight(book: Workbook) -> None:
    sheet = book["throughput-systems"]
    assert [str(merged) for merged in sheet.merged_cells.ranges] == ["B5:D5"]
    assert sheet["B5"].value == "Out-of-box"
    assert sheet.freeze_panes == "B7"
    assert sheet.auto_filter.ref == "A6:E8"


def test_charts_draw_the_body_of_their_table(book: Workbook) -> None:
    (bars,) = book["throughput-systems"]._charts
    assert isinstance(bars, BarChart)
    assert [one.val.numRef.f for one in bars.series] == [
        "'throughput-systems'!$B$7:$B$8",
        "'throughput-systems'!$D$7:$D$8",
    ]
    assert {one.cat.strRef.f for one in bars.series} == {"'throughput-systems'!$A$7:$A$8"}
    assert bars.y_axis.title.tx.rich.p[0].r[0].t == "MB/s"
    assert (bars.x_axis.scaling.orientation, bars.y_axis.crosses) == ("maxMin", "max")
    (lines,) = book["plain"]._charts
    assert lines.x_axis.title.tx.rich.p[0].r[0].t == "record, KiB"
    assert isinstance(lines, LineChart)
    assert lines.y_axis.scaling.logBase == 10
    assert lines.y_axis.title.tx.rich.p[0].r[0].t == "µs"


def test_deviations_are_bars_of_error(book: Workbook) -> None:
    (bars,) = book["throughput-systems"]._charts
    write, read = (one.errBars for one in bars.series)
    assert write.plus.numRef.f == write.minus.numRef.f == "'throughput-systems'!$C$7:$C$8"
    assert [(point.idx, point.v) for point in write.plus.numRef.numCache.pt] == [(0, 0.21)]
    assert read is None


def test_an_interval_beneath_is_no_deviation() -> None:
    table = next(everything().tables())
    first, *others = table.rows
    first = (first[0], replace(first[1], beneath="13.9 … 14.4", beneath_value=None), *first[2:])
    changed = replace(table, rows=(first, *others))
    book = opened(replace(everything(), front=(changed,), sections=()))
    (bars,) = book["throughput-systems"]._charts
    assert [one.errBars for one in bars.series] == [None, None]


def test_a_chart_has_the_colours_of_the_systems() -> None:
    table = Table(
        id="grid",
        title="Grid",
        columns=(Column("record", "KiB"), Column("xfs", "MB/s"), Column("ext4", "MB/s")),
        rows=((Entry("4", 4.0), Entry("1", 1.0), Entry("2", 2.0)),) * 2,
        charts=(SheetChart("surface", 0, (1, 2), "Throughput", "MB/s"),),
    )
    book = opened(replace(everything(), front=(table,), sections=()))
    (lines,) = book["grid"]._charts
    colours = [one.graphicalProperties.line.solidFill.srgbClr for one in lines.series]
    assert colours == [LIGHT[name].removeprefix("#").upper() for name in ("series-2", "series-1")]


def test_no_text_is_a_formula_or_a_link() -> None:
    rows = tuple((Entry(text), Entry(text, beneath=text)) for text in FORMULAS)
    table = Table("bad", FORMULAS[0], (Column(FORMULAS[1]), Column(FORMULAS[2])), rows)
    charts = tuple(SheetChart("bar", 0, (1,), text, f"'{text}'!A1") for text in FORMULAS)
    found = replace(table, caption=FORMULAS[3], charts=charts)
    data = render(replace(everything(), front=(found,), sections=()), specimen(blocks=2))
    with ZipFile(BytesIO(data["report.xlsx"])) as parts:
        texts = {name: parts.read(name).decode() for name in parts.namelist()}
    assert not [name for name, text in texts.items() if "<f>" in text]
    references = [text for name, text in texts.items() if "/charts/chart" in name]
    assert len(references) == len(FORMULAS)
    assert all(
        one.startswith("bad!$")
        for text in references
        for one in (part.partition("</c:f>")[0] for part in text.split("<c:f>")[1:])
    )


def test_values_are_all_there_in_base_units(book: Workbook) -> None:
    table = value_table(specimen(blocks=2))
    rows = list(book["Values"].iter_rows(values_only=True))
    assert rows[0] == table.heads
    for found, wanted in zip(rows[1:], table.rows(), strict=True):
        assert found == (*wanted[:-4], pytest.approx(wanted[-4], rel=1e-15), *wanted[-3:])


def test_names_of_sheets_are_short_and_unique() -> None:
    long = "iozone-out-of-cache-random-write-ext4"
    names = sheet_names([long, f"{long}-2", "values", "History", "a/b:c", long.upper()])
    assert names == [
        long[:31], f"{long[:29]}~2", "values~2", "History~2", "a-b-c", f"{long.upper()[:29]}~3"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value", "form"),
    [
        ("14.1", 14.1234, "0.0"),
        ("18,400", 18_412.0, "#,##0"),
        ("+20.1 %", 20.13, '+0.0" %"'),
        ("−3 %", -3.2, '0" %";"−"0" %"'),
        ("± 0.2", 0.21, '"± "0.0'),
        ("0.0", -0.01, "0.0"),
        ("14.1", 0.0141, "General"),
        ("3", -3.0, "General"),
        ("18,400", 18_460.0, "General"),
        ("<0.001", 0.0004, "General"),
        ("1.24 … 1.39", 1.31, "General"),
        ('5 "', 5.0, "General"),
    ],
)
def test_a_number_reads_as_its_text_or_shows_all_digits(text: str, value: float, form: str) -> None:
    assert number_format(text, value) == form


def test_a_row_is_as_high_as_its_text() -> None:
    """For programs that do not find it out by themselves; their font may be a wider one."""
    text = "some words " * 30
    table = Table(
        "t", "T", (Column("a", figures=False), Column("b " * 20)), ((Entry(text), Entry("7")),)
    )
    book = opened(Document(style="x", title="T", subtitle=text, front=(table,)))
    of_table, overview = book["t"].row_dimensions, book["Overview"].row_dimensions
    # Five and ten pairs of words a line, in columns of 60 and of 110.
    assert of_table[7].height == 6 * 15
    assert overview[2].height == 3 * 15
    assert of_table[6].height > 15
    assert of_table[1].height > 15
    assert of_table[2].height is None


def test_words_do_not_touch_the_figures_before_them(book: Workbook) -> None:
    sheet = book["throughput-systems"]
    assert [sheet[place].alignment.indent for place in ("A7", "D7", "E6", "E7")] == [0, 0, 1, 1]
    assert [sheet[place].alignment.horizontal for place in ("A7", "D7", "E7")] == [
        "left",
        "right",
        "left",
    ]


def test_a_full_sheet_of_values_is_followed_by_another() -> None:
    from xlsxwriter import Workbook as Writer

    from tiltyard_press.formats.xlsx.tables import Looks
    from tiltyard_press.formats.xlsx.workbook import write_values

    table, data = value_table(specimen(blocks=2)), BytesIO()
    writer = Writer(data, {"in_memory": True})
    write_values(writer, "Values", table, Looks(writer, {}), rows=len(table.values))
    writer.close()
    book = openpyxl.load_workbook(data)
    assert book.sheetnames == ["Values", "Values 2"]
    assert book["Values"].max_row == len(table.values)
    assert book["Values 2"].max_row == 2
