"""What must stand beside a number or a verdict in every form, and what is said once."""

import csv
import re
from io import StringIO
from pathlib import Path

import pytest

from support.printed_verdicts import terminal
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.app.report import findings_of, formats_of
from tiltyard.charts.theme import text_px
from tiltyard.report.document import Paragraph
from tiltyard.report.sections.verdict import ranking
from tiltyard.report.styles import STYLES
from tiltyard.run.record import Amendment

TWO_LINES_PX = 2 * 808
"""Of the column of text at 1,280 px."""
LEAD_PX, BOLD = 17, 1.06


PUBLISHED = Path(__file__).resolve().parents[2] / "published"


def study(noise: float = 0.03, effect: float = 1.2) -> Findings:
    return analyse(*synthetic_study(effects={"xfs": effect}, noise=noise))


def test_a_verdict_stands_beside_each_delta_in_files() -> None:
    findings = study()
    paper = next(style for style in STYLES if style.name == "whitepaper")
    document = paper.compose(findings)
    csv_format, latex = formats_of(["csv", "latex"])[1:]
    files = csv_format.render(document, findings)
    rows = [*csv.DictReader(StringIO(files["tables/summary.csv"].decode()))]
    verdicts = [value for row in rows for head, value in row.items() if head.endswith("(verdict)")]
    assert "faster" in verdicts
    tex = b" ".join(latex.render(document, findings).values()).decode()
    assert re.search(r"\+\d+(\.\d+)? \(faster\)", tex)


def test_the_mark_of_load_stands_in_tables() -> None:
    findings = study().model_copy(update={"under_load": "2 of the 10 blocks were disturbed"})
    for style in STYLES[:1]:
        found = {
            entry.text
            for table in style.compose(findings).tables()
            for row in table.rows
            for entry in row
            if entry.kind == "verdict" and entry.verdict == "faster"
        }
        assert "faster, under load" in found


def test_what_is_not_decided_is_said_once_in_a_terminal() -> None:
    findings = study(effect=1.0, noise=0.1)
    text = " ".join(terminal(findings).split())
    assert text.count(" ".join(findings.answer.split())) == 1


def test_another_budget_is_told() -> None:
    plan, run = synthetic_study()
    own = run.model_copy(update={"amended": Amendment(budget_s=600.0)})
    told = [notice.text for notice in analyse(plan, own).notices]
    assert any("10:00 of wall time for all blocks" in text for text in told)
    assert not any("budget" in notice.text for notice in analyse(plan, run).notices)


def test_intervals_of_whole_workloads_are_called_simultaneous_where_the_source_is_print() -> None:
    """They were called selection-adjusted beneath each ranking, and judged by Holm."""
    findings = findings_of(PUBLISHED / "linux-3.13")
    for workload in findings.workloads:
        notes = [one.text for one in ranking(findings, workload) if isinstance(one, Paragraph)]
        assert any("Simultaneous 95 % confidence intervals. The level" in text for text in notes)
        assert not any("false coverage rate" in text for text in notes)


@pytest.mark.parametrize("name", ["linux-3.13", "iozone-magazine"])
def test_a_headline_over_many_tests_fits_two_lines(name: str) -> None:
    """In the size of long headlines."""
    answer = findings_of(PUBLISHED / name).answer
    assert BOLD * text_px(answer, LEAD_PX) < TWO_LINES_PX, answer
    split = r"faster in \d+, slower in \d+ of \d+ tests\.$"
    assert re.search(rf"\. \d+ (tests|comparisons): |{split}", answer)
    assert " CI" in answer
