"""Tables on paper: no number and no word is torn, texts share the room, headings stay with them."""

import re

import pytest

from support.papers import texts_of
from tiltyard.analysis.model import Findings
from tiltyard.report.document import (
    Block,
    Column,
    Document,
    Entry,
    Facts,
    Section,
    Sentences,
    Table,
)
from tiltyard_press.formats import pdf

LONG = "performance dramatically improved, and repeatability of a representative configuration too"
HASH = "eb3196a3c2726920968ea45e5bc1d879532d61c5b6a3318961686b9615494517"


def lines(findings: Findings, *blocks: Block, title: str = "Specimen") -> list[list[str]]:
    """Every line of every page."""
    document = Document(style="study", title=title, sections=(Section("all", "Results", blocks),))
    printed = pdf.render(document, findings)["report.pdf"]
    return [page.splitlines() for page in texts_of(printed)]


def table(*columns: Column, rows: list[list[str]]) -> Table:
    return Table(
        id="specimen",
        title="Under the heading",
        columns=columns,
        rows=tuple(tuple(Entry(text, strong=True) for text in row) for row in rows),
    )


def test_a_long_number_stays_in_one_line(findings: Findings) -> None:
    heads = [Column(head, "KB/s") for head in ("typical", "low", "high", "mean")]
    numbers = ["3,258,345.00", "2,715,427.60", "12,715,427.11", "3,711,385.40"]
    own = table(Column("at", figures=False), *heads, rows=[["1 MiB record", *numbers]])
    printed = "\n".join(line for page in lines(findings, own) for line in page)
    assert [number for number in numbers if number not in printed] == []


def test_no_word_is_torn_where_texts_share_a_page(findings: Findings) -> None:
    heads = [Column(head, figures=False) for head in ("Where", "Claim", "stated", "found", "How")]
    row = ["Observations", LONG, "insensitive, taken as 10 %", "5.3 % at the most", LONG]
    words = {word for page in lines(findings, table(*heads, rows=[row])) for word in page}
    printed = set(" ".join(words).split())
    assert {word for text in row for word in text.split()} - printed == set()


def test_a_word_without_end_is_broken_and_none_of_it_lost(findings: Findings) -> None:
    heads = [Column(head, figures=False) for head in "ABCDEF"]
    own = table(*heads, rows=[[HASH, LONG, LONG, LONG, LONG, HASH]])
    (page,) = lines(findings, own)
    assert not any(HASH in line for line in page)
    assert "".join(page).count(HASH) == 2


def test_a_rate_stays_in_one_line_and_is_found_as_it_was(findings: Findings) -> None:
    sentence = Sentences(tuple(f"{'m' * length} KB/s and more" for length in range(60, 100)))
    printed = [line for page in lines(findings, sentence) for line in page]
    assert not [line for line in printed if line.startswith("s ")]
    assert sum("KB/s" in line for line in printed) == 40


def test_a_percentage_stays_in_one_line(findings: Findings) -> None:
    sentence = Sentences(tuple(f"{'m' * length} 24.5 % more" for length in range(60, 100)))
    printed = [line for page in lines(findings, sentence) for line in page]
    assert not [line for line in printed if line.startswith("%")]
    assert sum("24.5 % " in line.replace("\u00a0", " ") + " " for line in printed) == 40


@pytest.mark.parametrize("columns", [3, 30])
def test_a_heading_stands_on_the_page_of_its_table(findings: Findings, columns: int) -> None:
    own = table(
        *(Column(f"system {number}", "MB/s") for number in range(columns)),
        rows=[[f"{number:,}.25" for number in range(10_000, 10_000 + columns)]] * 3,
    )
    (page,) = [page for page in lines(findings, own) if any("Under the" in line for line in page)]
    assert any(re.fullmatch(r"1\s+Results", line) for line in page)


def test_the_head_of_a_page_is_one_line(findings: Findings) -> None:
    title = "Which of the many file systems is faster " + "and on which of all those hosts " * 4
    many = table(Column("number"), rows=[[str(number)] for number in range(80)])
    second = lines(findings, many, title=title)[1]
    assert second[0].startswith("Which of the many file systems")
    assert second[0].endswith("… Results")


def test_facts_of_a_system_are_kept_together(findings: Findings) -> None:
    rows = tuple((f"fact {number}", "so it is") for number in range(14))
    systems = [Facts(rows, f"system {number}") for number in range(9)]
    for page in lines(findings, *systems):
        heads = [line for line in page if re.fullmatch(r"system \d", line)]
        told = [line for line in page if line.startswith("fact")]
        assert len(told) == 14 * len(heads)
