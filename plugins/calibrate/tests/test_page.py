"""Page, document and summary: whole, and the same figures in all of them."""

import re
import socket
from io import StringIO

from plugins.calibrate.tests.conftest import Done
from rich.console import Console

from support.reading import Reading
from tiltyard_calibrate import words
from tiltyard_calibrate.page import render_document, render_page, sections
from tiltyard_calibrate.terminal import summary


def test_the_page_stands_alone(done: Done) -> None:
    page = render_page(done.found)
    tags = Reading(page).tags
    assert not {tag for tag, _ in tags} & {"script", "link", "img", "iframe"}
    assert not re.findall(r'https?://[^\s"<)]*', page)
    assert done.found.id in page
    for section in sections(done.found):
        assert f"<h2>{section.title}</h2>" in page


def test_the_document_tells_no_names_and_no_paths(done: Done) -> None:
    text = render_document(done.found)
    assert str(done.folder) not in text
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text)
    assert "/dev/" not in text
    assert done.found.id in text


def test_every_row_of_a_table_has_all_its_cells(done: Done) -> None:
    tables = [one.table for one in sections(done.found) if one.table]
    assert len(tables) >= 5
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.heads)}


def test_the_document_is_well_formed_markdown(done: Done) -> None:
    text = render_document(done.found)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)
    assert "\n\n\n" not in text


def test_the_summary_fits_eighty_columns_and_names_every_check(done: Done) -> None:
    out = StringIO()
    Console(width=80, file=out).print(summary(done.found, done.folder / "index.html"))
    text = out.getvalue()
    assert all(line.name in text for line in words.lines(done.found))
    marks = [line.split()[-1] for line in text.splitlines() if line.strip()]
    assert sum(marks.count(mark) for mark in ("passed", "FAILED", "open")) == len(
        done.found.examined
    )
    assert max(map(len, text.splitlines())) <= 80
    assert done.found.id in text
