"""A network study on paper and in the terminal: every figure is one of the findings."""

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from support.network_studies import MESSAGES, network_study
from support.pages import page_of, part_of, rows_of
from support.reading import Reading
from support.synthetic import synthetic_study
from tiltyard.analysis.decision import all_comparisons
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.line import interval_text, line_of, ratio_text
from tiltyard.analysis.model import Comparison, Findings, WorkloadFindings
from tiltyard.analysis.pairs import between
from tiltyard.report.sections.axis_table import (
    by_factor,
    details_along,
    details_apart,
    judged_tables,
)
from tiltyard.report.terminal import verdicts
from tiltyard.units import format_number

FACTORS = {"kernel": ("linux-6.1", "linux-6.18"), "tuning": ("out-of-box", "optimized")}
FOUR = [f"{kernel} {tuning}" for kernel in FACTORS["kernel"] for tuning in FACTORS["tuning"]]


@pytest.fixture(scope="module")
def findings() -> Findings:
    """Streams that lose nothing and something, and request/response; two systems."""
    return analyse(*network_study(blocks=10, effects={"optimized": 1.2}))


@pytest.fixture(scope="module")
def page(findings: Findings) -> str:
    return page_of(findings)


@pytest.fixture(scope="module")
def four() -> Findings:
    """Two factors of two levels."""
    effects = {FOUR[1]: 1.1, FOUR[2]: 3.2, FOUR[3]: 3.5}
    plan, run = network_study(FOUR, ("tcp_stream",), 7, effects, FACTORS)
    return analyse(plan.model_copy(update={"asks": "kernel"}), run)


def text_of(pair: Comparison) -> str:
    line = line_of(pair, "higher")
    assert line is not None
    return line.text


def workload_of(findings: Findings, name: str) -> WorkloadFindings:
    return next(workload for workload in findings.workloads if workload.name == name)


def rows_in(page: str, section: int) -> list[str]:
    """The rows of the tables on a workload; 0 is the verdict on all of them."""
    return rows_of(part_of(page, f"workload-{section}" if section else "verdict"))


def test_each_message_has_its_values_in_megabits_and_its_advantage(
    findings: Findings, page: str
) -> None:
    rows = rows_in(page, 1)
    (table,) = judged_tables(workload_of(findings, "tcp_stream"))
    assert (table.unit, table.factor) == ("Mbit/s", 1e6 / 8)
    assert [row.level for row in table.rows] == [f"{size:,}" for size in MESSAGES]
    for row in table.rows:
        pair = between(row.cell.comparisons, "optimized", "out-of-box")
        assert pair is not None
        values = " ".join(format_number(s.value / 125_000, 4) for s in row.cell.summaries)
        advantage = text_of(pair)
        judged = f"{advantage} {ratio_text(pair)} ({interval_text(pair)})"
        assert f"{row.level} {values} ▲ {judged}" in rows


def test_the_mean_over_messages_is_that_of_the_index(findings: Findings, page: str) -> None:
    index = workload_of(findings, "tcp_stream").index
    (comparison,) = index.comparisons
    (row,) = (row for row in rows_in(page, 1) if row.startswith("geometric mean"))
    assert text_of(comparison) in row
    assert f"({interval_text(comparison)})" in row


def test_latency_is_in_microseconds_with_both_means(findings: Findings, page: str) -> None:
    workload = workload_of(findings, "tcp_rr")
    transactions, latency = judged_tables(workload)
    assert (transactions.unit, latency.unit) == ("/s", "µs")
    assert workload.latencies is not None
    rows = rows_in(page, 3)
    means = " ".join(format_number(1e6 * a.value, 4) for a in workload.latencies.averages)
    assert any(row.startswith(f"arithmetic mean {means} +16.") for row in rows)
    assert sum(row.startswith("geometric mean") for row in rows) == 2


def test_percentiles_of_single_operations_are_listed(findings: Findings, page: str) -> None:
    workload = workload_of(findings, "tcp_rr")
    assert workload.latencies is not None
    rows = rows_in(page, 3)
    summaries = workload.latencies.cells[0].summaries
    told = " ".join(
        " ".join(
            (format_number(1e6 * seconds), " … ".join(format_number(1e6 * end) for end in ends))
        )
        for s in summaries
        for seconds, ends in (
            (s.median, (s.median_low, s.median_high)),
            *((s.percentiles[name], s.percentile_intervals[name]) for name in s.percentiles),
        )
    )
    assert f"1 {told}" in rows


def test_times_of_calls_are_in_microseconds_whatever_the_metric_is_in(page: str) -> None:
    assert "throughput sent, time of one operation, percentiles" in Reading(page).text
    assert "message, bytes out-of-box, µs optimized, µs" in rows_in(page, 1)
    times = "2.85 2.81 … 2.90 3.30 3.25 … 3.35 4.80 4.73 … 4.88 18.0 17.7 … 18.3"
    assert f"32 {' '.join([times] * 2)}" in rows_in(page, 1)


def test_what_was_lost_and_what_it_cost_stand_beside_it(findings: Findings, page: str) -> None:
    workload = workload_of(findings, "udp_stream")
    beside = details_along(workload)
    assert beside is not None
    heads = {table.label: table.unit for table in beside.tables}
    assert heads == {
        "throughput sent": "Mbit/s",
        "loss": "%",
        "connect": "µs",
        "CPU use, client": "%",
        "CPU use, server": "%",
        "service demand, client": "µs/KB",
        "service demand, server": "µs/KB",
    }
    assert details_apart(workload) == []
    lossless = next(row for row in rows_in(page, 2) if row.startswith("32 out-of-box"))
    assert " 0 " in lossless


def test_the_ends_are_shown(findings: Findings, page: str) -> None:
    rows = rows_in(page, 2)
    assert "client out-of-box optimized" in rows
    assert "server out-of-box optimized" in rows
    assert "UdpRcvbufErrors 107,320 107,320" in rows
    for facts in workload_of(findings, "udp_stream").ends.values():
        for fact, values in facts.items():
            assert " ".join((fact, *values.values())) in rows


def test_a_lossy_stream_is_warned_of(page: str) -> None:
    assert "udp_stream lost data: out-of-box up to" in Reading(page).text


def test_two_factors_have_a_table_each(four: Findings) -> None:
    assert [own[0].factor for own in by_factor(four)] == ["kernel", "tuning"]
    page = page_of(four)
    rows = rows_in(page, 1)
    first, second, *_ = (at for at, row in enumerate(rows) if row.startswith("message, bytes"))
    assert rows[first] == "message, bytes Mbit/s linux-6.18 over linux-6.1, %"
    assert rows[first + 1] == f"{' '.join(FOUR)} out-of-box optimized"
    assert rows[second] == "message, bytes optimized over out-of-box, %"
    assert "throughput received: advantage of tuning" in Reading(page).text


def test_latency_is_shown_where_there_is_one_size() -> None:
    findings = analyse(*network_study(workloads=("one_exchange",), effects={"optimized": 1.2}))
    page = page_of(findings)
    found = workload_of(findings, "one_exchange").latencies
    assert found is not None
    (cell,) = found.cells
    assert cell.at_label == "64 B request and response, burst 1, 1 flow"
    assert cell.comparisons[0].sentence in Reading(page).text
    assert any(row.startswith(f"{cell.at_label} 50.") for row in rows_in(page, 1))
    assert not [row for row in rows_in(page, 1) if " mean " in row[:16]]


def test_every_sentence_on_what_was_compared_is_there(findings: Findings, page: str) -> None:
    text = Reading(page).text
    sentences = [comparison.sentence for comparison in all_comparisons(findings)]
    assert [sentence for sentence in sentences if sentence not in text] == []


def test_a_map_has_no_course() -> None:
    findings = analyse(*synthetic_study(workloads=("iozone",), blocks=3))
    (workload,) = findings.workloads
    assert judged_tables(workload) == []
    assert details_along(workload) is None


def test_before_the_first_look_there_are_values_and_dashes() -> None:
    findings = analyse(*network_study(workloads=("tcp_rr",), blocks=2))
    rows = rows_in(page_of(findings), 1)
    assert any(re.fullmatch(r"1 [\d,]+ [\d,]+ –", row) for row in rows)


def test_throughput_stands_beside_si_in_the_ranked_table(findings: Findings, page: str) -> None:
    best = workload_of(findings, "tcp_stream").index.standings[0]
    told = f"{format_number(8 * best.value / 1e9)} {format_number(best.value / 1e6)} MB/s"
    assert any(told in row for row in rows_in(page, 0))


def test_in_the_terminal_each_size_has_a_line() -> None:
    study = network_study(workloads=("tcp_rr",), blocks=7, effects={"optimized": 1.2})
    findings = analyse(*study)
    console = Console(file=StringIO(), width=80, color_system=None)
    console.print(verdicts(findings, Path("report/index.html")))
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    sizes = ("1 B", "4 B", "16 B", "64 B", "256 B", "1 KiB")
    cells = workload_of(findings, "tcp_rr").cells
    for size, cell in zip(sizes, cells, strict=True):
        (comparison,) = cell.comparisons
        line = next(line for line in lines if line.startswith(f"  {size} "))
        assert line.endswith(f"{ratio_text(comparison)} ▲")
