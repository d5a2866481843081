"""A PDF: typeset, numbered, tagged for those who cannot see it; nothing in it but the document.

Typst lays it out (decision 0024). What is printed reaches it as data, never as markup, so that no
text of a study can be a command; the layout is in the ``.typ`` files of this folder.
"""

import json
from pathlib import Path
from typing import Final

from tiltyard.analysis.model import Findings
from tiltyard.charts.theme import FONTS
from tiltyard.report.document import Document
from tiltyard.report.formats.format import Format
from tiltyard.report.formats.pdf.data import printable

_LAYOUT: Final = Path(__file__).parent


def render(document: Document, _findings: Findings) -> dict[str, bytes]:
    """The report on A4, accessible by PDF/UA-1.

    No date is in it and no font but ours, so the same document is the same bytes everywhere. Only
    where it has a character that our fonts lack are the fonts of this host taken as well; the file
    is then tagged, but claims no standard, since a font may still lack the character.
    """
    data = printable(document)
    text = json.dumps(data, ensure_ascii=False)
    pdf = _typeset("report.typ", {"document": text}, ours_only=_shown_by_ours(text))
    return {"report.pdf": pdf}


def _shown_by_ours(text: str) -> bool:
    """Whether our fonts have every character; a picture leaves out silently what they lack."""
    import typst

    try:
        _typeset("probe.typ", {"characters": "".join(sorted(set(text)))}, ours_only=True)
    except typst.TypstError:
        return False
    return True


def _typeset(layout: str, inputs: dict[str, str], ours_only: bool) -> bytes:
    import typst

    return typst.compile(
        _LAYOUT / layout,
        root=_LAYOUT,
        format="pdf",
        font_paths=typst.Fonts(include_system_fonts=not ours_only, font_paths=[FONTS]),
        sys_inputs=inputs,
        pdf_standards=["ua-1"] if ours_only else [],
    )


FORMAT = Format(
    name="pdf",
    about="typeset on A4: numbered figures and tables, contents, appendices; tagged (PDF/UA-1)",
    file="report.pdf",
    render=render,
)
