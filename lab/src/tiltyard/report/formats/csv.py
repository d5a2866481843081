"""Tables and values as CSV files."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings
from tiltyard.analysis.values import value_table
from tiltyard.delimited import delimited
from tiltyard.report.document import Document, Table
from tiltyard.report.formats.format import Format, spread


def render(document: Document, findings: Findings) -> dict[str, bytes]:
    """One file a table, a list of them, every value, and by what they can be checked."""
    tables = list(document.tables())
    values = value_table(findings)
    listed = ((_path(table), table.title, table.caption) for table in tables)
    return {
        "tables.csv": delimited(("file", "title", "caption"), listed),
        **{_path(table): _table(table) for table in tables},
        "values.csv": delimited(values.heads, values.rows()),
        "colophon.csv": delimited(("name", "value"), document.colophon),
    }


def _path(table: Table) -> str:
    return f"tables/{table.id}.csv"


def _table(table: Table) -> bytes:
    return delimited([own.whole_head for own in spread(table)], _rows(table))


def _rows(table: Table) -> Iterator[list[str | float]]:
    """Numbers with all their digits, else the text; a missing value is an empty field."""
    columns = spread(table)
    for row in table.rows:
        entries = [row[own.place] for own in columns]
        yield [
            own.text(entry) if (value := own.value(entry)) is None else value
            for own, entry in zip(columns, entries, strict=True)
        ]


FORMAT = Format(
    name="csv",
    about="one CSV file a table, with all digits, and every value; for programs",
    file="tables.csv",
    render=render,
)
