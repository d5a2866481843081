"""Pages of the PDF, as pictures: nothing over the edge, tables that fit, and what it looks like."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader

from support.documents import everything
from support.papers import Pixels, ink_outside, pixels_of, text_of, texts_of, thumbnail_of
from tiltyard.analysis.model import Findings
from tiltyard.charts.theme import LIGHT
from tiltyard.report.document import Column, Document, Entry, Section, Sentences, Table
from tiltyard_press.formats import pdf
from tiltyard_press.formats.pdf import data

GOLDEN = Path(__file__).parent / "golden"
DOTS_PER_MM = 4


def made(document: Document, findings: Findings) -> bytes:
    return pdf.render(document, findings)["report.pdf"]


def of_tables(*tables: Table) -> Document:
    return Document(style="x", title="Tables", sections=(Section("s", "Tables", tables),))


def table(columns: int, rows: int, text: str = "1,234.5", closing: int = 0) -> Table:
    heads = (Column("name", figures=False), *(Column(f"c{n}", "MB/s") for n in range(1, columns)))
    body = tuple(
        (Entry(f"row-{row}"), *(Entry(text) for _ in range(1, columns))) for row in range(rows)
    )
    return Table("t", "A table", heads, body, closing=closing)


def holds(page: Pixels, colour: str) -> bool:
    """Whether a colour is on a page, as a surface and not only as an edge."""
    wanted = np.array([int(LIGHT[colour][place : place + 2], 16) for place in (1, 3, 5)])
    return int((np.abs(page.astype(int) - wanted).max(axis=2) <= 3).sum()) >= 8


def sizes(paper: bytes) -> list[bool]:
    """Which pages are wider than high."""
    pages = PdfReader(io.BytesIO(paper)).pages
    return [float(page.mediabox.width) > float(page.mediabox.height) for page in pages]


@pytest.fixture(scope="module")
def specimen(findings: Findings) -> list[Pixels]:
    return pixels_of(made(everything(), findings), DOTS_PER_MM)


def test_colours_of_the_house(specimen: list[Pixels]) -> None:
    first, second = specimen
    for colour in ("series-1", "series-2", "better-2", "better-4", "panel", "series-5"):
        assert holds(first, colour), colour
    assert holds(second, "faint")
    assert not holds(first, "worse-4")


@pytest.mark.parametrize("number", [1, 2])
def test_it_looks_as_it_did(specimen: list[Pixels], number: int) -> None:
    """To renew: look at the new page, then store ``thumbnail_of(page)`` in its place."""
    now = np.asarray(thumbnail_of(specimen[number - 1]), dtype=float)
    then = np.asarray(Image.open(GOLDEN / f"specimen-{number}.png"), dtype=float)
    assert now.shape == then.shape
    assert np.abs(now - then).mean() < 1.0
    assert (np.abs(now - then) > 60).mean() < 0.005


def test_a_long_table_breaks_and_repeats_its_head(findings: Findings) -> None:
    paper = made(of_tables(table(3, 120, closing=1)), findings)
    texts = texts_of(paper)
    assert len(texts) >= 2
    assert all(text.count("c1") == 1 for text in texts)
    assert [text.count("Table 1") for text in texts] == [1] + [0] * (len(texts) - 1)
    assert sum(text.count("row-") for text in texts) == 120


def test_a_short_table_stays_whole(findings: Findings) -> None:
    paper = made(of_tables(*[table(3, 14)] * 8), findings)
    assert all(text.count("row-") % 14 == 0 for text in texts_of(paper))


@pytest.mark.parametrize(
    ("columns", "turned", "heads"), [(6, False, 1), (9, False, 1), (14, True, 1), (60, False, 5)]
)
def test_a_wide_table_fits(findings: Findings, columns: int, turned: bool, heads: int) -> None:
    paper = made(of_tables(table(columns, 10, "12,345,678")), findings)
    text = text_of(paper)
    assert any(sizes(paper)) == turned
    assert text.count("12,345,678") == 10 * (columns - 1)
    assert text.count("row-0") >= heads
    assert all(f"c{n}" in text for n in range(1, columns))
    assert [ink_outside(page, DOTS_PER_MM) for page in pixels_of(paper, DOTS_PER_MM)] == [0] * len(
        sizes(paper)
    )


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few pages for all that is long: nothing else is different, and it is sooner made."""
    monkeypatch.setattr(data, "LETTERS", 40_000)


@pytest.mark.usefixtures("little_room")
def test_of_a_very_long_table_the_beginning_and_the_sums(findings: Findings) -> None:
    rows = 4_000
    paper = made(of_tables(table(3, rows, closing=2)), findings)
    text = text_of(paper)
    shown = text.count("row-")
    assert 100 < shown < 400
    assert f"row-{shown - 3}" in text
    assert f"row-{shown - 2}" not in text
    assert f"row-{rows - 2}" in text
    assert f"row-{rows - 1}" in text
    told = f"{shown}of4,000rows;allofthem:tiltyardreportSTUDY--formatcsv"
    assert told in text
    assert len(sizes(paper)) < 8


@pytest.mark.usefixtures("little_room")
def test_many_long_tables_and_lists_share_the_paper(findings: Findings) -> None:
    many = Sentences(tuple(f"Pair {number} stays undecided." for number in range(2_000)))
    few = Sentences(("Only one is equivalent.",))
    tables = [replace(table(9, 400), id=f"t{number}") for number in range(6)]
    blocks = (*tables, many, table(3, 30), few)
    paper = made(Document("x", "Long", sections=(Section("s", "Long", blocks),)), findings)
    text = text_of(paper)
    shown = text.count("staysundecided")
    assert len(sizes(paper)) < 12
    assert text.count("of400rows;allofthem") == 6
    assert f"{shown}of2,000areshown;findings.jsonhasallofthem." in text
    assert "Onlyoneisequivalent." in text
    assert text.count("allofthem") == 7, "what is short is whole"


def test_contents_only_where_they_are_needed(findings: Findings) -> None:
    short = text_of(made(of_tables(table(3, 10)), findings))
    long = text_of(made(of_tables(*[table(3, 60)] * 8), findings))
    assert "Contents" not in short
    assert "Contents" in long
