"""The PDF: everything of a document is in it, verbatim, and it looks as it should."""

import io
from html import unescape

import pytest
from pypdf import PdfReader

from support.documents import BARS, everything
from support.papers import (
    alternatives_of,
    fonts_of,
    ink_outside,
    is_accessible,
    labels_of,
    pixels_of,
    squeezed,
    tags_of,
    text_of,
)
from tiltyard.analysis.line import MARKS
from tiltyard.analysis.model import Findings
from tiltyard.charts.svg import to_paper
from tiltyard.charts.theme import signs
from tiltyard.report.document import (
    Column,
    Document,
    Entry,
    Facts,
    Figure,
    Fold,
    Paragraph,
    Section,
    Sentences,
    Table,
)
from tiltyard.report.styles import study
from tiltyard_press.formats import pdf


def made(document: Document, findings: Findings) -> bytes:
    return pdf.render(document, findings)["report.pdf"]


@pytest.fixture(scope="module")
def specimen(findings: Findings) -> bytes:
    return made(everything(), findings)


@pytest.fixture(scope="module")
def studied(findings: Findings) -> bytes:
    return made(study.compose(findings), findings)


def test_everything_is_in_it(specimen: bytes) -> None:
    document, text = everything(), text_of(specimen)
    wanted = [document.title, document.subtitle, document.byline]
    wanted += [part for row in document.colophon for part in row]
    for block in document.blocks():
        match block:
            case Table():
                wanted += [block.title, block.caption]
                wanted += [part for column in block.columns for part in (column.head, column.unit)]
                wanted += [
                    part
                    for row in block.rows
                    for entry in row
                    for part in (entry.text, entry.beneath)
                ]
            case Figure():
                wanted += [block.title, block.caption, *labels_of(to_paper(block.wide).svg)]
            case Paragraph():
                wanted.append(block.text)
            case Sentences():
                wanted += block.items
            case Facts():
                wanted += [block.title, *(part for row in block.rows for part in row)]
            case Fold():
                wanted.append(block.summary)
    assert [part for part in wanted if squeezed(part) not in text] == []


def test_sections_are_numbered_and_appendices_lettered(specimen: bytes) -> None:
    text = text_of(specimen)
    for heading in ("1Throughput", "1.1Deeper", "AConfiguration"):
        assert heading in text
    for caption in ("Figure1Whoisahead", "Table1Throughputbysystem", "Table2Plain&simple"):
        assert caption in text
    assert "1/2" in text
    assert "2/2" in text


def test_systems_and_verdicts_keep_their_signs(specimen: bytes) -> None:
    text = text_of(specimen)
    assert "●ext4" in text
    assert "■xfs" in text
    assert "▲faster" in text


def test_what_is_drawn_is_the_same_in_pdf_and_html(
    findings: Findings, studied: bytes, page: str
) -> None:
    figures = list(study.compose(findings).figures())
    assert len(figures) >= 5
    assert alternatives_of(studied) == [figure.alt for figure in figures]
    on_paper, on_page, told = text_of(studied), set(labels_of(page)), unescape(page)
    for number, figure in enumerate(figures, 1):
        assert squeezed(f"Figure {number} {figure.title} {figure.subtitle}") in on_paper
        assert squeezed(figure.caption) in on_paper
        assert figure.title in told
        assert figure.alt in told
        labels = labels_of(to_paper(figure.wide).svg)
        assert labels
        assert {label for label in labels if squeezed(label) not in on_paper} == set()
        assert set(labels) <= on_page


def test_nothing_is_printed_in_the_margins(specimen: bytes, studied: bytes) -> None:
    pages = pixels_of(specimen) + pixels_of(studied)
    assert len(pages) >= 4
    for page in pages:
        assert ink_outside(page) == 0
        assert (page.min(axis=2) < 128).mean() > 0.0003


def test_it_is_accessible_and_ours_alone(specimen: bytes) -> None:
    reader = PdfReader(io.BytesIO(specimen))
    assert is_accessible(specimen)
    assert reader.root_object["/Lang"] == "en"
    assert alternatives_of(specimen) == ["xfs 18.4 MB/s, ext4 14.1 MB/s."]
    assert {
        "/Title",
        "/H1",
        "/H2",
        "/Table",
        "/TH",
        "/TD",
        "/Caption",
        "/Figure",
        "/LI",
    } <= tags_of(specimen) | {"/Title"}
    assert fonts_of(specimen) == {
        "TiltyardSans-Regular",
        "TiltyardSans-SemiBold",
        "DejaVuSansMono",
    }


def test_same_document_same_bytes_and_no_date(specimen: bytes, findings: Findings) -> None:
    assert made(everything(), findings) == specimen
    assert PdfReader(io.BytesIO(specimen)).metadata == {
        "/Title": everything().title,
        "/Author": "Tiltyard",
        "/Creator": PdfReader(io.BytesIO(specimen)).metadata["/Creator"],
    }


@pytest.mark.parametrize(
    "text",
    [
        '#import "x": y',
        "$a^2$ *bold* _under_ `code` @ref <label> ~ \\ // /* */ [x] {y}",
        "-- --- ... 'single' \"double\" = h",
        "- item + item / term: x",
        r"\newcommand{\x}{y} % comment & more",
        "https://example.org/a_b#c",
        "привет ελληνικά — ≤ ≥ × − ± µ …",
    ],
)
def test_a_text_is_never_markup(text: str, findings: Findings) -> None:
    labelled = {**BARS, "data": {"values": [{"system": text, "value": 1.0}]}}
    labelled["config"] = {}
    entry = Table("t", text, (Column(text, text, figures=False),), ((Entry(text, beneath=text),),))
    document = Document(
        style="x",
        title=text,
        subtitle=text,
        front=(Paragraph(text), Figure("f", text, text, text, labelled), entry),
        sections=(Section("s", text, (Facts(((text, text),), text),)),),
    )
    made_of = made(document, findings)
    assert text_of(made_of).count(squeezed(text)) >= 13
    assert alternatives_of(made_of) == [text]


def test_a_word_that_fits_no_line_stays_on_the_page(findings: Findings) -> None:
    word = "x1" * 150
    table = Table("t", "T", (Column("a", figures=False), Column("b")), ((Entry(word), Entry("7")),))
    front = (Paragraph(word), table, Facts(((word, word),)))
    page = made(Document(style="x", title=word, front=front), findings)
    assert text_of(page).count(word) == 5


def test_characters_that_our_fonts_lack_are_still_read(findings: Findings) -> None:
    page = made(Document(style="x", title="漢字 and\x07 \udcff"), findings)
    text = text_of(page)
    # Which of them it is depends on the fonts of this host.
    assert "漢字and\ufffd\ufffd" in text or "[U+6F22][U+5B57]and\ufffd\ufffd" in text
    assert is_accessible(page)


UNASSIGNED = "\u0378"
"""A character that no font has."""
SPELLED = "[U+0378]"


def unassigned() -> Document:
    """One that has it wherever a text may be."""
    labelled = {**BARS, "data": {"values": [{"system": f"{UNASSIGNED}1", "value": 1.0}]}}
    return Document(
        style="x",
        title=f"{UNASSIGNED}2",
        front=(
            Figure("f", f"{UNASSIGNED}3", f"{UNASSIGNED}4", "", labelled),
            Table("t", "T", (Column(f"{UNASSIGNED}5"),), ((Entry(f"{UNASSIGNED}6"),),)),
        ),
        signs={f"{UNASSIGNED}7": ("●", "ink")},
    )


def test_a_character_that_no_font_has_is_spelled_everywhere(findings: Findings) -> None:
    page = made(unassigned(), findings)
    text = text_of(page)
    for number in range(1, 7):
        assert f"{SPELLED}{number}" in text
    assert is_accessible(page)


def test_it_is_spelled_also_where_a_font_promised_it(
    findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "_lacking", lambda _, ours_only: UNASSIGNED if ours_only else "")
    page = made(unassigned(), findings)
    assert f"{SPELLED}2" in text_of(page)
    assert is_accessible(page)


def test_our_fonts_have_every_sign(findings: Findings) -> None:
    every = "".join(MARKS.values()) + "".join(glyph for glyph, _ in signs(findings).values())
    page = made(Document(style="x", title=f"{every} ●■◆▲▼ … – − × ± µ ≤ ≥ →"), findings)
    assert is_accessible(page)


def test_a_document_of_nothing_is_a_page(findings: Findings) -> None:
    assert len(PdfReader(io.BytesIO(made(Document(style="x", title=""), findings))).pages) == 1
