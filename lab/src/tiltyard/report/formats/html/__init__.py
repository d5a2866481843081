"""One HTML file that needs nothing else: no network and no other file; its script is optional."""

from tiltyard.analysis.model import Findings
from tiltyard.printable import visible
from tiltyard.report.document import Document
from tiltyard.report.formats.format import Format
from tiltyard.report.formats.html.page import render_page


def render(document: Document, _findings: Findings) -> dict[str, bytes]:
    """The page, in UTF-8."""
    return {"index.html": visible(render_page(document)).encode()}


FORMAT = Format(
    name="html",
    about="one self-contained page, light and dark, for desk, phone and paper",
    file="index.html",
    render=render,
)
