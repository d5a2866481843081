"""A workbook: summary, one sheet a table with native charts, the text, and every value."""

from tiltyard.analysis.model import Findings
from tiltyard.report.document import Document
from tiltyard.report.formats.format import Format


def render(document: Document, findings: Findings) -> dict[str, bytes]:
    """A workbook, written by a library that is an extra: it is loaded when one is made."""
    from tiltyard_press.formats.xlsx import workbook

    return workbook.render(document, findings)


FORMAT = Format(
    name="xlsx",
    about="a workbook: one sheet a table with native charts, and every value",
    file="report.xlsx",
    render=render,
)
