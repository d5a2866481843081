"""sysbench: it is not installed where these tests were written, so the files were made from the
format strings in the sources of sysbench 1.0.20 and 1.1, line by line; 0.4.12 from a public report.
"""

import pytest

from support.imported import REFUSED, data_of, imported, measured, values
from tiltyard.errors import UsageError

MIB = 2**20
FILEIO = {
    ("read",): 38.49 * MIB,
    ("write",): 25.66 * MIB,
    ("reads",): 2463.11,
    ("writes",): 1642.07,
    ("fsyncs",): 5259.94,
    ("latency",): 0.42e-3,
}


def test_fileio() -> None:
    found = imported("sysbench/fileio-rndrw.txt")
    (workload,) = found.workloads
    assert (workload.name, workload.use) == ("sysbench fileio, random r/w", "sysbench fileio")
    assert workload.lineage == "sysbench 1.0.20"
    assert workload.parameters == {
        "threads": "4",
        "flags": "(none)",
        "files": "128 files, 16MiB each",
        "total size": "2GiB",
        "block size": "16KiB",
        "periodic fsync": "each 100 requests",
        "final fsync": "at the end of test",
        "I/O mode": "synchronous",
    }
    assert values(found) == pytest.approx(FILEIO | {("total_time",): 10.0421})
    assert measured(found)["latency",].percentiles == {"p95": pytest.approx(1.34e-3)}


def test_fileio_of_version_1_1_is_the_same() -> None:
    assert values(imported("sysbench/fileio-1.1.txt")) == pytest.approx(FILEIO)


def test_what_was_not_done_is_missing() -> None:
    found = imported("sysbench/fileio-seqwr.txt")
    assert found.workloads[0].name == "sysbench fileio, sequential write (creation)"
    assert values(found) == pytest.approx(
        {
            ("write",): 65.8 * MIB,
            ("writes",): 4211.5,
            ("fsyncs",): 5393.68,
            ("latency",): 0.1e-3,
            ("total_time",): 10.0012,
        }
    )
    assert measured(found)["latency",].percentiles == {"p99": pytest.approx(0.36e-3)}


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("cpu", "sysbench cpu", {"events": 1183.64, "total_time": 10.0006, "latency": 0.84e-3}),
        (
            "memory",
            "sysbench memory",
            {
                "transferred": 10890.87 * MIB,
                "operations": 10890.87,
                "total_time": 0.9381,
                "latency": 0.34e-3,
            },
        ),
        (
            "threads",
            "sysbench",
            {"events": 21455 / 10.0024, "total_time": 10.0024, "latency": 1.86e-3},
        ),
        (
            "oltp",
            "sysbench database",
            {
                "transactions": 417.70,
                "queries": 8353.96,
                "total_time": 60.0140,
                "latency": 19.15e-3,
            },
        ),
    ],
)
def test_other_tests(file: str, name: str, expected: dict[str, float]) -> None:
    found = imported(f"sysbench/{file}.txt")
    assert found.workloads[0].name == name
    assert {metric: value for (metric,), value in values(found).items()} == pytest.approx(expected)


def test_version_0_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^0.4.12.txt: of sysbench 0; the reports of sysbench 1"):
        imported("0.4.12.txt", (REFUSED / "sysbench-0.4.12.txt").read_bytes())


def test_a_report_that_is_cut_off_is_refused() -> None:
    text = data_of("sysbench/cpu.txt").partition(b"Latency")[0]
    with pytest.raises(UsageError, match=r"^x.txt: without its latencies"):
        imported("sysbench/x.txt", text)


def test_two_reports_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^x.txt:\d+: a second report"):
        imported("sysbench/x.txt", data_of("sysbench/cpu.txt") * 2)
