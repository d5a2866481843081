"""Formats of a report: one file a format, and one line in the list below."""

from tiltyard.report.formats import csv, html, json, latex, markdown, pdf, pptx, xlsx
from tiltyard.report.formats.format import Format

FORMATS: tuple[Format, ...] = (
    html.FORMAT,
    pdf.FORMAT,
    xlsx.FORMAT,
    pptx.FORMAT,
    markdown.FORMAT,
    latex.FORMAT,
    csv.FORMAT,
    json.FORMAT,
)
"""All formats; the first is made where none is asked for."""
