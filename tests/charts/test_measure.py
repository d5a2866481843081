"""In which unit values are printed, and what is said about it."""

import pytest

from support.in_print import printed_grids, printed_messages
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.charts.figures import Measure, head_of, measure_of


def test_what_was_measured_here_has_three_digits(findings: Findings) -> None:
    index = findings.workloads[0].index
    measure = measure_of([index])
    assert (measure.unit, measure.factor, measure.decimals) == ("GB/s", 1e9, None)
    assert measure.text(1.2345e9) == "1.23 GB/s"


def test_what_was_printed_is_printed_so_again() -> None:
    (workload,) = analyse_collection(printed_grids()).workloads
    measure = measure_of(workload.cells)
    assert measure.text(2_619_762 * 1024.0) == "2,619,762 KB/s"
    assert measure.short(2_619_762 * 1024.0) == "2,620,000"
    assert head_of("throughput", measure, workload.cells[0]) == "throughput, KB/s (1 KB = 1,024 B)"
    assert head_of("throughput", measure, workload.cells[0], noted=False) == "throughput, KB/s"


def test_times_say_that_less_is_better() -> None:
    latencies = analyse_collection(printed_messages()).workloads[1]
    measure = measure_of(latencies.cells)
    assert head_of("latency", measure, latencies.cells[0]) == "latency, µs (less is better)"


@pytest.mark.parametrize(
    ("unit", "factor", "note"),
    [
        ("KB/s", 1024, "1 KB = 1,024 B"),
        ("kB/s", 1024, "1 kB = 1,024 B"),
        ("MB/s", 2**20, "1 MB = 1,048,576 B"),
        ("MB/s", 1e6, ""),
        ("KB/s", 1000, ""),
        ("MiB/s", 2**20, ""),
        ("Mbit/s", 1e6 / 8, ""),
        ("s", 1, ""),
        ("", 1, ""),
    ],
)
def test_a_unit_is_explained_where_it_could_be_misread(unit: str, factor: float, note: str) -> None:
    assert Measure(unit, factor, 0).note == note


def test_what_is_missing_stays_missing() -> None:
    assert Measure("s", 1, 1).scaled(None) is None
