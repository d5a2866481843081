"""The verdict table: 80 columns, no colour needed, no figure of its own."""

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from support.cpu_times import timed
from support.judged import judged as told
from support.screens import LONG
from support.specimen import findings as specimen
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.line import interval_text, ratio_text
from tiltyard.analysis.model import Findings, Notice
from tiltyard.app.report import findings_of
from tiltyard.report.sections.ranking_table import ranking
from tiltyard.report.terminal import verdicts

PUBLISHED = Path(__file__).resolve().parents[2] / "published"
PAGE = Path("spool/report/index.html")


def printed(findings: Findings, width: int = 80, page: Path = PAGE) -> str:
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(verdicts(findings, page), crop=False)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_fits_eighty_columns_without_escape_codes(findings: Findings) -> None:
    text = printed(findings)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


def test_each_system_has_a_line_with_its_figures(findings: Findings) -> None:
    lines = printed(findings).splitlines()
    for workload in findings.workloads:
        for standing in workload.index.standings:
            comparison = standing.comparison
            words = (
                (standing.system,)
                if comparison is None
                else (ratio_text(comparison), interval_text(comparison), comparison.verdict)
            )
            assert any(
                line.startswith(f"  {standing.system} ") and all(word in line for word in words)
                for line in lines
            ), words


def test_a_value_is_the_one_of_the_page_in_the_unit_of_its_source() -> None:
    findings = findings_of(PUBLISHED / "iozone-rhel6")
    text = printed(findings, width=160)
    for workload in findings.workloads:
        table = ranking(findings, workload.index, "", "")
        for row in table.rows:
            system, value = row[-6].text, row[-4].text
            assert re.search(rf"{re.escape(system)} .* {re.escape(value)} ", text), (system, value)


def test_each_test_of_a_suite_has_a_line(findings: Findings) -> None:
    lines = printed(findings).splitlines()
    for index in findings.workloads[0].by_metric:
        line = next(line for line in lines if line.startswith(f"  {index.label} "))
        for standing in index.standings:
            if standing.comparison is not None:
                assert ratio_text(standing.comparison) in line


def test_many_systems_with_long_names_still_fit() -> None:
    names = ["ext4", *(f"btrfs compress=zstd:{level}" for level in range(1, 6))]
    findings = specimen(systems=names, blocks=7, tests=("write", "read"))
    text = printed(findings)
    assert max(map(len, text.splitlines())) <= 80
    for index in findings.workloads[0].by_metric:
        for standing in index.standings:
            if standing.comparison is not None:
                assert f"{ratio_text(standing.comparison)} " in text


def test_ends_with_answer_and_report(findings: Findings) -> None:
    text = printed(findings)
    told = " ".join(text[text.index("Answer") :].split())
    assert told.startswith(f"Answer {' '.join(findings.answer.split())}")
    assert told.endswith("Report spool/report/index.html")
    assert "10 blocks, 60 trials, all kept." in text


def test_a_path_is_printed_in_one_piece(findings: Findings) -> None:
    page = Path("so-that-no-line-has-a-place-for-it/" * 4, "index.html")
    assert printed(findings, page=page).endswith(f" {page}\n")


def test_judgement_is_told_shortly() -> None:
    findings = told(specimen(workloads=("postmark",)))
    text = " ".join(printed(findings).split())
    (workload,) = findings.workloads
    shown = [effect.sentence for effect in workload.effects if effect.kind == "interaction"]
    shown += [observation.sentence for observation in workload.observations]
    assert [sentence for sentence in shown if sentence not in text] == []
    assert "Disturbed 2 of 10 blocks (20 %) were disturbed and replaced." in text
    assert "Host finds differences of about 5.8 % in 80 % of comparisons" in text
    assert "(calibration c7f3a91e, 2026-11-20)" in text
    assert "simultaneous 95 % confidence intervals" in text
    assert "95 % CI" not in text.split("Answer")[0]
    assert max(map(len, printed(findings).splitlines())) <= 80


def test_a_host_that_was_not_calibrated_says_so(findings: Findings) -> None:
    assert "Host not calibrated; tiltyard calibrate" in " ".join(printed(findings).split())


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("bench@srv1", "Host not calibrated; tiltyard calibrate --host bench@srv1 measures"),
        ("several hosts", "Host calibration is of one host, and not of several hosts"),
        ("this host and a@b", "Host calibration is of one host, and not of this host and a@b"),
    ],
)
def test_the_calibration_of_another_host_is_asked_for_where_it_is_one(
    findings: Findings, where: str, said: str
) -> None:
    far = printed(findings.model_copy(update={"where": where}))
    assert said in " ".join(far.split())


def test_before_the_first_look_it_says_so() -> None:
    text = printed(analyse(*synthetic_study(blocks=2)))
    assert "2 blocks, 6 trials, all kept. Too few for a verdict." in text
    assert "undecided" in text


def test_failed_trials_are_counted() -> None:
    findings = specimen(workloads=("postmark",), blocks=7).model_copy(update={"trials_failed": 2})
    assert "21 trials kept, 2 failed." in printed(findings)


def test_names_are_not_taken_for_markup() -> None:
    text = printed(specimen(systems=("[bold]a", "b[/]"), blocks=7, tests=("write", "read")))
    assert "[bold]a" in text
    assert "b[/]" in text


def test_in_no_width_a_line_ends_between_a_number_and_its_unit(findings: Findings) -> None:
    """What is read as sentences; below that, in tables, a unit stands in the head."""
    shown = told(findings)
    for width in range(40, 110):
        text = printed(shown, width)
        assert not re.search(r"\d *\n +(?:%|[KMG]iB|[KMGk]?B/s|ms|s)[ ,.;)\n]", text), width
    assert " %" in text
    assert "\ue000" not in text


def test_a_sentence_names_long_commands_by_the_letters_of_the_tables() -> None:
    plan, run = synthetic_study(LONG, ("postmark",), blocks=10)
    findings = analyse(plan, run)
    assert findings.answer.count(LONG[0]) > 1
    text = " ".join(printed(findings, 200).split())
    assert [text.count(name) for name in LONG] == [1, 1]
    assert "between B and A" in text or "between A and B" in text


def test_a_long_name_in_a_command_to_copy_stays() -> None:
    found = specimen(systems=LONG, workloads=("postmark",), blocks=7)
    notice = Notice(severity="warning", text="Noisy.", advice=f"tiltyard compare -c '{LONG[0]}'")
    found = found.model_copy(update={"notices": (notice,)})
    assert f"tiltyard compare -c '{LONG[0]}'" in printed(found, 200)


@pytest.mark.parametrize("width", [40, 80])
def test_cpu_time_is_one_line_with_its_verdict(width: int) -> None:
    findings, without = timed(1.0, 0.9), timed(1.0, None)
    text = printed(findings, width)
    assert max(map(len, text.splitlines())) <= width
    (workload,) = findings.workloads
    assert workload.cpu_time is not None
    (pair,) = workload.cpu_time.comparisons
    line = f"CPU time: a 10.0 ms, b 9.00 ms ({ratio_text(pair)}, {interval_text(pair)}, faster)"
    told = " ".join(text.split())
    assert re.sub(r"[\d.]+ ms", "", line) in re.sub(r"[\d.]+ ms", "", told)
    if width == 80:
        assert sum("CPU time: " in own for own in text.splitlines()) == 1
    assert "CPU time: " not in printed(without, width)


def test_cpu_time_of_three_systems_names_the_base_first() -> None:
    text = printed(timed(1.0, 0.9, systems=("a", "b", "c"), baseline="b"))
    (line,) = re.findall(r"CPU time: .*", text)
    assert line.startswith("CPU time: b "), line
    assert line.index(" b ") < line.index(" a ")
