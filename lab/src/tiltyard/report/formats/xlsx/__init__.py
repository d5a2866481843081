"""A workbook: summary, one sheet a table with native charts, the text, and every value.

A text is never a formula, whatever it begins with. A value that is missing is an empty cell, so
that no chart and no sum takes it for a number. What stands beneath an entry has a column of its own
(:mod:`tiltyard.report.spread`). Spreadsheets have surfaces, but xlsxwriter writes none, and in
their perspective a peak hides what lies behind it: a surface is drawn as a family of lines.
"""

from datetime import datetime
from io import BytesIO

from xlsxwriter import Workbook

from tiltyard.analysis.model import Findings
from tiltyard.analysis.values import value_table
from tiltyard.report.document import Document
from tiltyard.report.formats.format import Format
from tiltyard.report.formats.xlsx.looks import Looks
from tiltyard.report.formats.xlsx.names import SUMMARY, TEXT, VALUES, sheet_names
from tiltyard.report.formats.xlsx.prose import Prose
from tiltyard.report.formats.xlsx.tables import write_table
from tiltyard.report.formats.xlsx.values import write_values

_OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}
_MADE = datetime(2000, 1, 1)
"""The date in the file, so that the same findings give the same bytes."""


def render(document: Document, findings: Findings) -> dict[str, bytes]:
    """The workbook."""
    data = BytesIO()
    workbook = Workbook(data, _OPTIONS)
    workbook.set_properties({"title": document.title, "created": _MADE})
    looks = Looks(workbook, document.signs)
    tables = list(document.tables())
    names = sheet_names([table.id for table in tables])
    sheets = dict(zip((table.id for table in tables), names, strict=True))
    summary = Prose(workbook.add_worksheet(SUMMARY), looks, sheets)
    summary.front(document)
    for table, name in zip(tables, names, strict=True):
        write_table(workbook, name, table, looks)
    Prose(workbook.add_worksheet(TEXT), looks, sheets).sections(document)
    write_values(workbook, VALUES, value_table(findings), looks)
    workbook.close()
    return {"report.xlsx": data.getvalue()}


FORMAT = Format(
    name="xlsx",
    about="a workbook: one sheet a table with native charts, and every value",
    file="report.xlsx",
    render=render,
)
