"""Every value of a study as one row, with the study that it is of: files are put together later."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings
from tiltyard.analysis.values import Field, value_table


def tidy(findings: Findings) -> tuple[tuple[str, ...], Iterator[tuple[Field, ...]]]:
    """Names of the columns, and the rows."""
    table = value_table(findings)
    rows = ((findings.question, *row) for row in table.rows())
    return ("study", *table.heads), rows
