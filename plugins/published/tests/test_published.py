"""The printed studies made again: their tables, digit by digit, each in its own style."""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pypdf import PdfReader

from support.publications import PUBLISHED
from tiltyard.analysis.collected import analyse_collection
from tiltyard.app.report import concluded, findings_of, formats_of, write_report
from tiltyard.report.document import Document, Table
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style
from tiltyard_published.read import read_publication

OWN_STYLE = {
    "iozone-rhel6": "whitepaper",
    "netperf-rhel6": "whitepaper",
    "iozone-magazine": "article",
    "postmark-systems": "article",
    "linux-3.13": "results",
}
FIGURES = {
    "figure-2": "tcp-stream-curve-1-tcp-streaming-throughput",
    "figure-4": "udp-stream-curve-1-udp-streaming-throughput",
    "figure-9": "tcp-rr-curve-1-tcp-round-trip-latency",
    "figure-10": "udp-rr-curve-1-udp-round-trip-latency",
}


@cache
def document(name: str) -> Document:
    """A printed study in its own style."""
    style = next(style for style in STYLES if style.name == OWN_STYLE[name])
    return style.compose(analyse_collection(read_publication(PUBLISHED / name).collection))


def table(name: str, id: str) -> Table:
    return next(table for table in document(name).tables() if table.id == id)


def printed(name: str, file: str) -> Iterator[list[str]]:
    """The rows of a printed table, without its head."""
    lines = (PUBLISHED / name / f"{file}.csv").read_text().splitlines()
    rows = csv.reader(line for line in lines if not line.startswith("#"))
    next(rows)
    return rows


def plain(text: str) -> str:
    """A number without the signs that the page adds."""
    return text.replace(",", "").removeprefix("+").replace("−", "-")


@pytest.mark.parametrize("file", FIGURES)
def test_throughput_and_latency_with_their_advantages(file: str) -> None:
    """Every digit of both protocols, the average among them."""
    found = table("netperf-rhel6", FIGURES[file])
    rows = list(printed("netperf-rhel6", file))
    assert len(rows) in (len(found.rows), len(found.rows) - 1)
    for row, own in zip(rows, found.rows, strict=False):
        windows, linux, tuned_windows, tuned_linux, *advantages = (plain(e.text) for e in own[1:])
        wanted = [plain(text) for text in row[1:]]
        assert [linux, windows, tuned_linux, tuned_windows, *advantages] == wanted, row[0]


@pytest.mark.parametrize(("file", "kind", "number"), [
    (f"table-{2 * number + place}", kind, number)
    for number in range(1, 5) for place, kind in enumerate(("write", "read"))
])  # fmt: skip
def test_means_with_their_deviation_beneath(file: str, kind: str, number: int) -> None:
    """A table for each of four record sizes, writing apart from reading."""
    record = {1: "1-mib", 2: "4-mib", 3: "8-mib", 4: "16-mib"}[number]
    tables = [
        own for own in document("iozone-magazine").tables()
        if own.id.startswith(f"{kind}-throughput-{number}-{record}-record")
    ]  # fmt: skip
    assert len(tables) == 1
    found = {row[0].text: row[1:] for row in tables[0].rows}
    for system, statistic, *values in printed("iozone-magazine", file):
        entries = found[system]
        texts = [entry.text if statistic == "mean" else entry.beneath for entry in entries]
        assert [plain(text) for text in texts] == [plain(value) for value in values]


def test_run_times_with_their_deviation() -> None:
    found = {row[0].text: row[1] for row in table("iozone-magazine", "run-time-means").rows}
    told = {name: (plain(entry.text), plain(entry.beneath)) for name, entry in found.items()}
    assert told == {
        "Reiser4": ("9628.00", "5.27"),
        "ext3": ("12784.90", "91.14"),
        "ext4": ("9826.30", "36.57"),
    }


@pytest.mark.parametrize("file", ["figure-23", "figure-24", "figure-25", "figure-26"])
def test_every_grid_of_the_white_paper(file: str) -> None:
    """Sixteen grids of 96 cells, each a table: file sizes down, record sizes across."""
    shown = {
        plain(entry.text)
        for own in document("iozone-rhel6").tables()
        if "-throughput-" in own.id
        for row in own.rows
        for entry in row[1:]
    }
    numbers = [plain(text) for row in printed("iozone-rhel6", file) for text in row[2:]]
    assert len(numbers) == 384
    assert set(numbers) <= shown


def test_out_of_cache_has_its_cells() -> None:
    shown = {
        plain(entry.text) for row in table("iozone-rhel6", "all-results").rows for entry in row
    }
    for file in ("figure-27", "figure-28"):
        assert {plain(text) for row in printed("iozone-rhel6", file) for text in row[2:]} <= shown


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ("compilebench", "Compile Bench"),
        ("tiobench", "Threaded I/O Tester"),
        ("fs-mark", "FS-Mark"),
        ("iozone", "IOzone"),
        ("postmark", "PostMark"),
        ("aio-stress", "AIO-Stress"),
    ],
)
def test_every_test_of_the_result_page_with_error_and_count(file: str, title: str) -> None:
    """Means, standard errors and N, six systems each."""
    found = [
        tuple(plain(row[place].text) for row in own.rows)
        for own in document("linux-3.13").tables()
        if own.title.partition(",")[0] == title
        for place in (1, 2, 3)
    ]
    wanted = [tuple(plain(text) for text in row[-6:]) for row in printed("linux-3.13", file)]
    assert sorted(found) == sorted(wanted)


def test_the_result_page_has_all_results() -> None:
    rows = table("linux-3.13", "all-results").rows
    assert len(rows) == 13
    assert all(len(row) == 8 and all(entry.beneath for entry in row[2:]) for row in rows)


@pytest.mark.parametrize("name", ["netperf-rhel6", "iozone-magazine", "postmark-systems"])
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_no_table_and_no_column_is_empty(style: Style, name: str) -> None:
    """What a source does not tell has no place kept for it."""
    for own in style.compose(findings_of(PUBLISHED / name)).tables():
        assert own.rows, own.id
        for place, column in enumerate(own.columns):
            assert {row[place].text for row in own.rows} - {"", "–"}, (own.id, column.head)


def test_a_study_without_numbers_is_told_without_tables_of_them() -> None:
    ids = {own.id for own in document("postmark-systems").tables()}
    assert not ids & {"summary", "all-results", "overall", "cells-first"}
    assert "commands" in {section.id for section in document("postmark-systems").sections}


def test_the_first_white_paper_fits_a_page_and_twenty_five_sheets_with_an_appendix(
    tmp_path: Path,
) -> None:
    """With everything: summary, 24 grids as surfaces and as tables, claims, configuration."""
    found = concluded(PUBLISHED / "iozone-rhel6", None, tmp_path)
    assert found.style.name == "whitepaper"
    html, pdf = write_report(found, formats_of(["pdf"]))
    assert html.stat().st_size < 2_000_000
    assert 5 < len(PdfReader(pdf).pages) <= 25
    assert 10 < len(PdfReader(pdf.with_name("report-appendix.pdf")).pages) < 40
