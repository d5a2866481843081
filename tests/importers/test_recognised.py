"""Which reader takes a file: by its beginning, by more of it, or by what its tool tells people."""

import pytest

from support.imported import REFUSED, data_of, imported
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS, sniff
from tiltyard.importers.sniff import (
    HEAD_BYTES,
    importer_of,
    is_output_of,
    read_with,
)

FOR_PEOPLE = {
    "fio": [(REFUSED / "fio-normal.txt").read_text(), "3;fio-3.33;job;0;0;1024\n"],
    "iperf3": [
        "[ ID] Interval           Transfer\n[  5]   0.00-1.00   sec  2.27 GBytes\n",
        "[ ID][Role] Interval\n[SUM][TX-C]   0.00-10.00  sec  22.7 GBytes  19.5 Gbits/sec\n",
    ],
    "hyperfine": [
        "Benchmark 1: true\n  Time (mean ± σ):       0.5 ms ±   0.1 ms    [User: 0.3 ms]\n",
        "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|---:|---:|---:|---:|\n",
    ],
    "google-benchmark": [
        "-----\nBenchmark              Time       CPU   Iterations\n-----\nA  1 ns  1 ns  9\n",
        "Benchmark          Time(ns)    CPU(ns) Iterations\nA  1  1  9\n",
    ],
    "jmh": [
        "Benchmark  Mode  Cnt  Score   Error  Units\nA.b        avgt    5  2.068 ± 0.041  ns/op\n",
        "Benchmark      (n)  Mode  Samples  Score  Score error  Units\nA.b  1  avgt  5  2  1  s\n",
    ],
    "pytest-benchmark": [
        "Name (time in us)       Min      Max     Mean  StdDev\ntest_a  1  2  1.5  1\n"
    ],
    "pyperf": ["sorting: Mean +- std dev: 145 ns +- 4 ns\n"],
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in sorted(FOR_PEOPLE.items()) for text in texts]
)
def test_output_for_people_is_refused_with_the_option_that_is_read(kind: str, text: str) -> None:
    importer = IMPORTERS.named(kind)
    assert importer.for_people is not None
    assert is_output_of(importer, text)
    assert not importer.recognises(text)
    for before in ("", "a line of its program\n"):
        with pytest.raises(UsageError) as caught:
            imported("x", f"{before}{text}".encode())
        assert str(caught.value) == (
            f"x: {kind}'s output for people, whose figures are rounded; "
            f"{importer.for_people.instead}"
        )


def test_output_of_iperf_2_is_not_taken_for_that_of_iperf3() -> None:
    for row in ("[  3]  0.0-10.0 sec  1.10 GBytes", "[  1] 0.0000-10.0123 sec  436 MBytes"):
        with pytest.raises(UsageError, match=r"^x: not recognised"):
            imported("x", f"[ ID] Interval           Transfer     Bandwidth\n{row}\n".encode())


def test_every_output_for_people_is_tried() -> None:
    assert {one.name for one in IMPORTERS if one.for_people} == {*FOR_PEOPLE}


@pytest.mark.parametrize("path", ["fio/two-jobs.json", "hyperfine/two-commands.json"])
def test_what_people_are_told_beside_the_result_refuses_nothing(path: str) -> None:
    beside = FOR_PEOPLE[path.partition("/")[0]][0].encode()
    assert imported(path, beside + data_of(path)) == imported(path)


@pytest.mark.parametrize("times", [1, 3], ids=["in the first part", "in the last part"])
def test_a_report_behind_a_log_is_found(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sniff, "SEARCHED_BYTES", 2 * HEAD_BYTES)
    report = data_of("pgbench/two-scripts.txt")
    line = b"DEBUG: a statement\n"
    log = line * (times * 3 * HEAD_BYTES // 2 // len(line))
    assert importer_of(log + report, "a.txt", IMPORTERS).name == "pgbench"
    found = read_with(IMPORTERS.named("pgbench"), log + report, "a.txt")
    assert found.workloads[0].measured == imported("pgbench/two-scripts.txt").workloads[0].measured


def test_what_is_not_recognised_says_how_much_was_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sniff, "SEARCHED_BYTES", 2**20)
    line = b"Dear diary,\n"
    with pytest.raises(UsageError, match=r"^a\.txt: not recognised\. Name"):
        importer_of(line, "a.txt", IMPORTERS)
    with pytest.raises(UsageError, match=r"not recognised by its first and last 1 MiB\. Name"):
        importer_of(line * (2**22 // len(line)), "a.txt", IMPORTERS)
