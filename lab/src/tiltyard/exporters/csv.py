"""Every value as one line of a CSV file, in base units, with the study that it is of."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings
from tiltyard.analysis.values import Field, value_table
from tiltyard.delimited import delimited
from tiltyard.exporters.exporter import Exporter


def tidy(findings: Findings) -> tuple[tuple[str, ...], Iterator[tuple[Field, ...]]]:
    """Names of the columns, and the rows."""
    table = value_table(findings)
    rows = ((findings.question, *row) for row in table.rows())
    return ("study", *table.heads), rows


def render(findings: Findings) -> bytes:
    """The file, in UTF-8."""
    return delimited(*tidy(findings))


EXPORTER = Exporter(
    name="csv",
    about="every value as a line, in base units; for R, pandas, a database",
    file="values.csv",
    render=render,
)
