"""The page of any document: every kind of block, tables, boxes, appendices, and its limits."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from support.documents import everything
from support.pages import part_of, rows_of
from support.reading import Reading
from tiltyard.app.report import of_the_answer
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
from tiltyard.report.formats import html
from tiltyard.report.formats.format import Budget
from tiltyard.report.formats.html import Drawn, Pictures, render_page


@pytest.fixture(scope="module")
def specimen() -> str:
    return render_page(everything())


def test_every_text_of_every_block_is_there(specimen: str) -> None:
    text = Reading(specimen).text
    document = everything()
    told = [document.title, document.subtitle, document.byline]
    for block in document.blocks():
        if isinstance(block, Table):
            told += [block.title, block.caption, *(e.text for row in block.rows for e in row)]
            told += [entry.beneath for row in block.rows for entry in row]
        if isinstance(block, Sentences):
            told += block.items
        if isinstance(block, Facts):
            told += [part for row in block.rows for part in row]
        if isinstance(block, Paragraph):
            told.append(block.text)
    assert [one for one in told if " ".join(one.split()) not in text] == []


def test_common_heads_and_units_stand_once_over_their_columns(specimen: str) -> None:
    rows = rows_of(part_of(specimen, "throughput"))
    assert rows[0] == "System Out-of-box, MB/s verdict"
    assert rows[1] == "write read"
    assert '<th data-c="1" scope="col" data-u="MB/s">write</th>' in specimen
    assert '<th colspan="2" scope="colgroup" class="group">' in specimen


def test_entries_look_as_they_are(specimen: str) -> None:
    assert '<th scope="row" class="words s1">ext4</th>' in specimen
    assert '<td class="strong shade-better-2" data-v="18.42">18.4</td>' in specimen
    assert '<span class="chip faster"><i aria-hidden="true">▲</i> faster</span>' in specimen
    assert '14.1<small data-v="0.21">± 0.2</small>' in specimen
    assert '.s1::before { content: "●" / ""; color: var(--series-1)' in specimen


def test_rows_that_close_a_table_are_apart_from_those_that_sort(specimen: str) -> None:
    first, closing = re.findall(r"<tbody[^>]*>(.*?)</tbody>", specimen, re.DOTALL)[:2]
    assert "average" in closing
    assert "average" not in first


def test_appendices_have_letters_and_come_last() -> None:
    document = everything()
    turned = replace(document, sections=document.sections[::-1])
    page = render_page(turned)
    assert page.index('id="throughput"') < page.index('id="configuration"')
    assert "Appendix A Configuration" in Reading(part_of(page, "configuration")).text
    assert '<a href="#configuration">A Configuration</a>' in page


def test_an_address_can_be_followed_and_nothing_else() -> None:
    rows = (("address", "https://example.org/a?b=1&c=2"), ("title", "javascript:alert(1)"))
    page = render_page(Document("study", "?", front=(Facts(rows),)))
    assert re.findall(r'href="([^"]*)"', page) == ["https://example.org/a?b=1&amp;c=2"]


def long_table(rows: int) -> Table:
    lines = tuple((Entry(str(n), float(n)), Entry("a sentence " * 9)) for n in range(rows))
    columns = (Column("number"), Column("words", figures=False))
    return Table("long", "Long", columns, (*lines, lines[0]), closing=1)


def test_a_table_beyond_the_limit_says_where_the_rest_is() -> None:
    document = Document("study", "?", sections=(Section("a", "A", (long_table(40_000),)),))
    page = render_page(document)
    assert 1_500_000 < len(page.encode()) < 2_000_000
    shown = page.count("<tr>") - 2
    assert 5_000 < shown < 40_000
    assert f"{shown + 1:,} of 40,001 rows; all of them: " in page


def test_short_tables_are_whole_whatever_the_long_ones_are() -> None:
    long, short = long_table(1000), replace(long_table(10), id="short")
    sections = (Section("a", "A", (long, short)),)
    budget = Budget.of(Document("study", "?", sections=sections), 40_000)
    assert len(budget.rows(short)) == 10
    assert 100 < len(budget.rows(long)) < 400


def size_of(drawn: Mapping[str, Drawn]) -> int:
    return sum(len(one.wide) + len(one.narrow or "") for one in drawn.values())


def test_many_pictures_and_long_tables_are_a_page_of_two_megabytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    figure = next(everything().figures())
    figures = tuple(replace(figure, id=f"f{n}") for n in range(400))
    tables = Section("a", "A", (long_table(10_000), replace(long_table(10_000), id="other")))
    drawn = 0

    def counted(own: Figure) -> Drawn:
        nonlocal drawn
        drawn += 1
        return draw(own)

    draw = html._draw
    monkeypatch.setattr(html, "_draw", counted)
    page = render_page(Document("study", "?", front=figures, sections=(tables,)))
    assert len(page.encode()) < 2_000_000
    words = page.count("Too large for this page; --figures svg writes it")
    assert 10 < words < 400
    assert page.count("<figure ") == 400
    # What has no room is not drawn in vain.
    assert 400 - words <= drawn <= 401 - words
    assert page.count("<tr>") > 2_000


def test_pictures_beyond_the_limit_lose_titles_then_narrow_forms() -> None:
    figure = next(everything().figures())
    values = [{"system": f"system {n}", "value": n} for n in range(400)]
    large = replace(figure, id="large", wide={**figure.wide, "data": {"values": values}})
    document = Document("study", "?", front=(figure, replace(large, narrow=large.wide)))
    whole = Pictures.of(document).drawn
    untitled = Pictures.of(document, size_of(whole) - 1).drawn
    alone = Pictures.of(document, size_of(untitled) - 1).drawn
    assert whole["large"].wide.count("<title>") == 400
    assert "<title>" not in untitled["large"].wide
    assert untitled["large"].narrow is not None
    assert alone["large"].narrow is None
    assert alone["ranking"] == whole["ranking"]


def of_workloads(count: int) -> Document:
    lines = tuple(Sentences((f"finding {n} " * 30,)) for n in range(200))
    details = tuple(
        Section(f"w{n}", f"grid-{n}", (Fold("All of it", lines),), detail=True)
        for n in range(count)
    )
    answers = tuple(
        Section(f"v{n}", f"grid-{n}", (long_table(20),), detail=True) for n in range(count)
    )
    limits = Section("limits", "Limitations", (Paragraph("There are some."),))
    return Document("study", "?", sections=(Section("v", "Verdict", (), answers), *details, limits))


def test_a_report_of_many_workloads_is_several_pages_that_lead_to_each_other() -> None:
    files = html.render(of_workloads(100), None)
    assert len(files) > 2
    names = list(files)
    assert names[:2] == ["index.html", "index-2.html"]
    together = "".join(page.decode() for page in files.values())
    for n in range(100):
        assert together.count(f'<section id="w{n}">') == together.count(f'<section id="v{n}">') == 1
    assert '<section id="limits">' in files["index.html"].decode()
    for name, page in files.items():
        assert len(page) < 2_000_000
        assert set(re.findall(r'href="(index[^"]*)"', page.decode())) == {*names} - {name}
    assert "Page 2: " in Reading(files["index-2.html"].decode()).text


def test_a_report_of_few_workloads_is_one_page() -> None:
    (page,) = html.render(of_workloads(5), None).values()
    assert b"index-2" not in page
    assert b"The other pages" not in page


def test_a_gates_page_has_the_picture_of_the_answer_and_says_where_the_others_are() -> None:
    figure = next(everything().figures())
    other = replace(figure, id="other", title="How it went")
    section = Section("a", "A", (Fold("More", (other,)),))
    page = render_page(of_the_answer(Document("study", "?", front=(figure,), sections=(section,))))
    assert page.count("<figure ") == 1
    assert "How it went: drawn by tiltyard report STUDY." in page
