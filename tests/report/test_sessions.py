"""Sessions in every style and every form: one ratio, one interval, one verdict."""

import io
import json
import re
import zipfile
from dataclasses import replace

import pytest

from support.pages import page_of
from support.papers import squeezed, text_of
from support.sessions import synthetic_sessions
from tiltyard.analysis.line import interval_text
from tiltyard.analysis.model import Findings
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.report.formats import FORMATS
from tiltyard.report.redaction import redacted
from tiltyard.report.styles import STYLES
from tiltyard.report.terminal import verdicts

HEADING = "Ratio in each session, and over sessions"


@pytest.fixture(scope="module")
def found() -> Findings:
    return analyse_sessions(synthetic_sessions((0.10, 0.11, 0.09, 0.12, 0.08, 0.10, 0.11, 0.09), 8))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_every_style_tells_of_them(found, style):
    tables = {table.title: table for table in style.compose(found).tables()}
    [row] = tables[HEADING].rows
    over = found.sessions.comparisons[0]
    assert row[-1].verdict == found.workloads[0].index.comparisons[0].verdict == over.verdict
    assert interval_text(found.workloads[0].index.comparisons[0]) in [one.text for one in row]
    assert [one.value for one in row[1:9]] == [value.ratio for value in over.values]


# Slides have the findings alone.
WITH_TABLES = [form for form in FORMATS if form.name != "pptx"]


@pytest.mark.parametrize("form", WITH_TABLES, ids=lambda form: form.name)
def test_every_form_prints_them(found, form):
    document = STYLES[0].compose(found)
    files = form.render(document, found)
    text = "".join(_text(name, data) for name, data in files.items())
    wanted = "sd_between" if form.name == "json" else HEADING
    assert squeezed(wanted) in squeezed(text)


def _text(name: str, data: bytes) -> str:
    if name.endswith(".xlsx"):
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            return "".join(book.read(part).decode("utf-8", "replace") for part in book.namelist())
    if name.endswith(".pdf"):
        return text_of(data)
    return data.decode("utf-8", "replace")


def test_a_page_links_to_the_trials_of_every_session(found):
    folders = [one.file.rpartition("/")[0] for one in found.trials]
    assert {*folders} == {"trials", *(f"sessions/{n}/trials" for n in range(2, 9))}
    page = page_of(found)
    data = json.loads(re.search(r'id="view-data"[^>]*>(.*?)</script>', page)[1])
    assert data["files"] == [one.file for one in found.trials]
    assert {one.file for one in redacted(found).findings.trials} == {None}


def test_the_terminal_tells_of_them(found):
    from rich.console import Console

    console = Console(width=80, record=True, file=io.StringIO())
    console.print(verdicts(found))
    told = re.sub(r"\s+", " ", console.export_text())
    assert "8 of 8 sessions are done" in told
    assert "Over sessions: xfs is " in told


def test_odd_hosts_are_told_on_the_page_and_in_the_terminal():
    from rich.console import Console

    found = analyse_sessions(
        synthetic_sessions((0.1, 0.1, -0.1, 0.1), 4, hosts=(0.0, -0.3, 0.0, 0.0))
    )
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(verdicts(found))
    page = page_of(found)
    for text in (console.export_text(), re.sub(r"<[^>]*>", "", page)):
        told = re.sub(r"\s+", " ", text)
        assert re.search(r"n2 is 2\d\.\d % slower than the others over all systems", told)
        assert re.search(r"n3 disagrees: −\S+ % there, \+\S+ % on the others, the other way", told)
    assert all(re.search(rf"<th[^>]*>[^/]*{node}", page) for node in ("n1", "n2", "n3", "n4"))


def test_names_of_hosts_are_taken_out():
    groups = synthetic_sessions((0.1, 0.1, -0.1), 3, hosts=(0.0,) * 3)
    named = [
        replace(one, run=one.run.model_copy(update={"node": f"rack7-{one.number}"}))
        for one in groups
    ]
    found = analyse_sessions(named)
    assert "rack7-3 disagrees" in found.sessions.comparisons[0].sentence
    assert "rack7" not in redacted(found).findings.model_dump_json()


def test_nothing_is_said_of_a_study_of_one_session():
    alone = analyse_sessions(synthetic_sessions((0.1,), 1))
    for style in STYLES:
        assert HEADING not in {table.title for table in style.compose(alone).tables()}
