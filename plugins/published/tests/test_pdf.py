"""The printed studies on paper, each in its style: all that is told, and fit to be read.

One of many pages is two files; what is told must be in one of them.
"""

import re
from io import BytesIO
from typing import TypeVar

import pytest
from pypdf import PdfReader

from support.papers import ink_outside, is_accessible, pixels_of, squeezed, text_of
from support.publications import STUDIES
from tiltyard.analysis.collected import analyse_collection
from tiltyard.app.report import style_of
from tiltyard.report.document import Figure, Table
from tiltyard_press.formats import pdf
from tiltyard_published.read import Publication

PAGES_MAX = 40
Numbered = TypeVar("Numbered", Figure, Table)


@pytest.mark.parametrize("name", STUDIES)
def test_a_printed_study_on_paper(publications: dict[str, Publication], name: str) -> None:
    study = publications[name]
    findings = analyse_collection(study.collection)
    document = style_of(study.style).compose(findings)
    papers = pdf.render(document, findings)
    assert papers.keys() <= {"report.pdf", pdf.APPENDIX}
    assert pages_of(papers["report.pdf"]) <= pdf.MOST_PAGES
    texts = [text_of(paper) for paper in papers.values()]
    for paper in papers.values():
        pages = pixels_of(paper)
        assert is_accessible(paper)
        assert len(pages) < PAGES_MAX
        assert [number for number, page in enumerate(pages, 1) if ink_outside(page)] == []
    for kind, blocks in (("Figure", document.figures()), ("Table", document.tables())):
        for number, block in enumerate(in_order(kind, list(blocks), texts[0]), 1):
            assert squeezed(f"{kind} {number} {block.title}") in "".join(texts)


def test_what_is_looked_up_leaves_few_pages_and_nothing_is_lost(
    publications: dict[str, Publication],
) -> None:
    """The longest of the printed studies, in the style that says the most."""
    findings = analyse_collection(publications["netperf-rhel6"].collection)
    document = style_of("study").compose(findings)
    papers = pdf.render(document, findings)
    assert [*papers] == ["report.pdf", pdf.APPENDIX]
    assert pages_of(papers["report.pdf"]) <= pdf.MOST_PAGES
    told = text_of(papers["report.pdf"]) + text_of(papers[pdf.APPENDIX])
    assert [one.title for one in document.tables() if squeezed(one.title) not in told] == []


def pages_of(paper: bytes) -> int:
    return len(PdfReader(BytesIO(paper)).pages)


def in_order(kind: str, blocks: list[Numbered], report: str) -> list[Numbered]:
    """Those of the report, then those of its appendix: numbers go on from file to file."""
    first = [
        block
        for block in blocks
        if re.search(rf"{kind}\d+{re.escape(squeezed(block.title))}", report)
    ]
    return first + [block for block in blocks if block not in first]
