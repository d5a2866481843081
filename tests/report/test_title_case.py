"""Titles of reports begin with a capital, but for names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.told_findings import STUDIES, findings_of
from tiltyard.analysis.collected import analyse_collection
from tiltyard.report.document import Document, Section
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style
from tiltyard.report.title_case import with_capitals
from tiltyard_published.read import read_publication

PUBLISHED = sorted((Path(__file__).resolve().parents[2] / "published").iterdir())
NAMES = (
    "btrfs", "ext3", "ext4", "xfs", "iozone", "postmark", "tcp_rr", "tcp_stream", "udp_stream",
    "fread", "freread", "fwrite", "frewrite",
    "filesystem", "filesystems", "mount", "configuration", "optimized", "out-of-box",
)  # fmt: skip
"""Programs, systems, factors and levels of these studies that are written so."""


def titles(document: Document) -> Iterator[str]:
    def under(section: Section) -> Iterator[str]:
        yield section.title
        for part in section.sections:
            yield from under(part)

    yield document.title
    for section in document.sections:
        yield from under(section)
    for block in document.blocks():
        yield getattr(block, "title", "") or getattr(block, "summary", "")


def begins_low(title: str) -> bool:
    return title[:1].islower() and not title.startswith(NAMES)


def begins_with_another_name(title: str) -> bool:
    """Whether a level has a capital that its owner does not write: ``Xfs faster than ext4``."""
    return title.startswith(("Xfs ", "Btrfs ", "Ext4 ", "Optimized ", "Out-of-box "))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
@pytest.mark.parametrize("name", STUDIES)
def test_titles_begin_with_a_capital_or_a_name(name: str, style: Style) -> None:
    findings = findings_of(name, 1)
    document = with_capitals(style.compose(findings), findings)
    assert [one for one in titles(document) if begins_low(one)] == []
    assert [one for one in titles(document) if begins_with_another_name(one)] == []


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_titles_of_published_studies_do(folder: Path) -> None:
    findings = analyse_collection(read_publication(folder).collection)
    for style in STYLES:
        document = with_capitals(style.compose(findings), findings)
        assert [one for one in titles(document) if begins_low(one)] == [], style.name


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("no difference to ext4 shown", "No difference to ext4 shown"),
        ("read throughput: ranking", "Read throughput: ranking"),
        ("xfs does 15 % more transactions", "xfs does 15 % more transactions"),
        ("xfstests on two disks", "Xfstests on two disks"),
        ("postmark transactions", "postmark transactions"),
        ("io_uring against sync", "io_uring against sync"),
        ("mail.fio, random read", "mail.fio, random read"),
        ("Ärger", "Ärger"),
        ("", ""),
    ],
)
def test_names_keep_their_letters(title: str, told: str) -> None:
    findings = findings_of("three file systems", 1)
    section = Section(id="one", title=title, sections=(Section(id="two", title=title),))
    document = Document(style="study", title=title, sections=(section,))
    assert [*titles(with_capitals(document, findings))] == [told] * 3


def test_a_program_of_no_name_is_no_name() -> None:
    findings = findings_of("three file systems", 1)
    own = tuple(one.model_copy(update={"use": "program"}) for one in findings.workloads)
    of_programs = findings.model_copy(update={"workloads": own})
    document = Document(style="study", title="program time: ranking")
    assert with_capitals(document, of_programs).title == "Program time: ranking"
