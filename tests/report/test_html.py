"""The report as a file: whole, self-contained, safe, and true to the findings."""

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape

import pytest

from support.pages import page_of
from support.reading import Reading
from support.specimen import findings as specimen
from tiltyard.analysis.decision import all_comparisons
from tiltyard.analysis.line import interval_text, ratio_text
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.statements.warnings import warnings
from tiltyard.report.document import Column, Document, Entry, Section, Table
from tiltyard.report.formats import html
from tiltyard.report.formats.format import Budget
from tiltyard.report.formats.html import prose
from tiltyard.run.differences import Difference
from tiltyard.units import format_value

HOSTILE = '<script>alert("1")</script>'
SCRIPT_LIMIT_BYTES = 48_000


def spaced(text: str) -> str:
    return " ".join(text.split())


def test_tags_are_balanced_and_ids_unique(page: str) -> None:
    ids = [attrs["id"] for _, attrs in Reading(page).tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {"order", "systems", "method", "limits", "trials"} <= set(ids)


def test_no_line_ends_between_a_number_and_its_unit(page: str) -> None:
    prose = re.sub(r"<(script|style|svg|pre)\b.*?</\1>|<[^>]+>", "", page, flags=re.DOTALL)
    assert len(re.findall(r"\d\u00a0(?:%|KiB|MiB|GB/s)", prose)) > 20
    assert re.findall(r"\d (?:%|KiB|MiB|GB/s)", prose) == []


def test_links_lead_to_parts_of_the_page(page: str) -> None:
    tags = Reading(page).tags
    ids = {attrs["id"] for _, attrs in tags if "id" in attrs}
    links = [attrs["href"] for tag, attrs in tags if tag == "a"]
    assert links
    assert {str(link).removeprefix("#") for link in links} <= ids


def test_nothing_is_fetched_and_only_our_script_runs(page: str) -> None:
    tags = Reading(page).tags
    assert not {tag for tag, _ in tags} & {"link", "img", "iframe", "object", "use"}
    assert not [name for _, attrs in tags for name in attrs if name == "src" or name[:2] == "on"]
    styles = "".join(re.findall(r"<style>(.*?)</style>", page, re.DOTALL))
    assert not re.findall(r"url\((?!data:)|@import|https?:", styles)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    named = b64encode(sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{named}';" in page
    assert len(script) < SCRIPT_LIMIT_BYTES
    namespaces = {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r'https?://[^\s"<)]*', page)) <= namespaces


def test_the_demonstration_stays_small(page: str) -> None:
    assert len(page.encode()) < 2_000_000


def test_question_and_answer_come_first(findings: Findings, page: str) -> None:
    text = Reading(page).text
    before, answer, _ = text.partition(spaced(findings.answer))
    told = [spaced(one.text) for one in warnings(findings)]
    assert before.split() == f"{findings.question} Warnings {' '.join(told)}".split()
    assert answer


def test_every_sentence_of_the_analysis_is_there(findings: Findings, page: str) -> None:
    text = Reading(page).text
    sentences = [
        *(comparison.sentence for comparison in all_comparisons(findings)),
        *(workload.answer for workload in findings.workloads),
        *(drift.sentence for drift in findings.drifts),
        *(notice.text for notice in findings.notices),
        findings.design_sentence,
        findings.conditions_sentence,
    ]
    assert [sentence for sentence in sentences if spaced(sentence) not in text] == []


def test_ranked_tables_show_the_figures_of_the_findings(findings: Findings, page: str) -> None:
    rows = [spaced(row) for row in map(_text_of, re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL))]
    for workload in findings.workloads:
        for standing in workload.index.standings:
            value = format_value(standing.value, workload.index.unit).split()[0]
            judged = _judgement(standing.comparison)
            assert any(
                standing.system in row and f" {value} " in row and judged in row for row in rows
            ), (standing.system, value, judged)


def test_every_trial_has_its_line(findings: Findings, page: str) -> None:
    trials = page[page.index('id="all-trials"') :]
    assert trials.count("<tr>") == 1 + len(findings.trials)
    assert all(trial.started in trials for trial in findings.trials)


def test_raw_data_can_be_found(findings: Findings, page: str) -> None:
    text = Reading(page).text
    for word in (findings.plan_hash, str(findings.seed), "findings.json", "plan.json", "trials/"):
        assert word in text


def test_commands_are_printed_exactly(findings: Findings, page: str) -> None:
    blocks = [_text_of(block) for block in re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)]
    for system in findings.systems:
        assert any(block.splitlines() == list(system.commands) for block in blocks)


def test_a_hostile_name_stays_text() -> None:
    hostile = specimen(systems=("ext4", HOSTILE), blocks=7, tests=("write",)).model_copy(
        update={"question": HOSTILE, "answer": HOSTILE, "host": {HOSTILE: HOSTILE}}
    )
    page = page_of(hostile)
    # Ours, and the values for it, which are data.
    assert page.lower().count("<script") == 2
    assert HOSTILE in Reading(page).text


def _judgement(comparison: Comparison | None) -> str:
    if comparison is None:
        return "baseline"
    return f"{ratio_text(comparison)} {interval_text(comparison)}"


def _text_of(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", markup))


def test_the_system_record_is_an_appendix_where_there_is_one(findings: Findings) -> None:
    record = {"kernel": {"release": "6.1 <b>"}, "clock": {"source": "not available"}}
    page = page_of(findings.model_copy(update={"record": record}))
    assert '<section id="record">' in page
    assert "6.1 &lt;b&gt;" in page
    assert '<td class="words quiet">not available</td>' in page
    assert 'id="record"' not in page_of(findings.model_copy(update={"record": {}}))


def test_what_nobody_asked_for_stands_before_what_follows(findings: Findings) -> None:
    values = {system.name: system.name for system in findings.systems}
    given = (
        Difference(fact="block size", values=values, why="the same record is other blocks"),
        Difference(fact="mkfs", values=values, follows_from=("filesystem",)),
    )
    page = page_of(findings.model_copy(update={"differences": given}))
    assert page.index("the same record is other blocks") < page.index("Caused by the factors")
    assert page.index("Caused by the factors (1)") < page.index(">mkfs")


def test_an_option_is_never_broken_and_a_name_is_no_option() -> None:
    option = '<span class="option">--disturbed</span>'
    assert prose("run with --disturbed: a--b & c") == f"run with {option}: a--b &amp; c"


def test_a_shortened_table_says_so_above_it_with_the_way_to_all() -> None:
    rows = tuple((Entry(f"row {number}"),) for number in range(400))
    table = Table("t", "All trials", (Column("trial", figures=False),), rows)
    room = Budget(most=2_000.0)
    told = room.left_out(table)
    shown = len(room.rows(table))
    assert told == f"{shown} of 400 rows; all of them: tiltyard report STUDY --format csv"
    assert not Budget(most=1e9).left_out(table)
    made = Document(style="x", title="x", sections=(Section("s", "s", (table,)),))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(html, "LIMIT_BYTES", 0)
        page = Reading(html.render_page(made)).text
    assert page.index("of 400 rows; all of them") < page.index("row 0")
