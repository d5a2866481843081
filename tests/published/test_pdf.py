"""The printed studies on paper, each in its style: all that is told, and fit to be read."""

import pytest

from published.conftest import STUDIES
from support.papers import ink_outside, is_accessible, pixels_of, squeezed, text_of
from tiltyard.analysis.collected import analyse_collection
from tiltyard.app.report import style_of
from tiltyard.report.formats import pdf
from tiltyard_published.read import Publication

PAGES_MAX = 40


@pytest.mark.parametrize("name", STUDIES)
def test_a_printed_study_on_paper(publications: dict[str, Publication], name: str) -> None:
    study = publications[name]
    findings = analyse_collection(study.collection)
    document = style_of(study.style).compose(findings)
    paper = pdf.render(document, findings)["report.pdf"]
    text, pages = text_of(paper), pixels_of(paper)
    assert is_accessible(paper)
    for kind, blocks in (("Figure", document.figures()), ("Table", document.tables())):
        for number, block in enumerate(blocks, 1):
            assert squeezed(f"{kind} {number} {block.title}") in text
    assert len(pages) < PAGES_MAX
    assert [number for number, page in enumerate(pages, 1) if ink_outside(page)] == []
