"""LKP: whose values a matrix holds, and what of them is compared."""

import json
from typing import Any

import pytest

from support.imported import data_of
from tiltyard.analysis.collected import analyse_collection
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.assemble import ImportOptions, ReadFile, assemble
from tiltyard.importers.importer import Imported
from tiltyard.importers.sniff import importer_of, read_with

PATH = "/result/hackbench/800%-pipe/box/debian/kconfig/gcc-12/{commit}/{run}/stats.json"


def matrix(commit: str, throughput: list[float], **stats: Any) -> dict[str, Any]:
    runs = range(len(throughput))
    return {
        "hackbench.throughput": [*throughput],
        "hackbench.throughput_best": throughput,
        "perf-stat.i.cycles": throughput,
        **{f"hackbench.{name}": values for name, values in stats.items()},
        "stats_source": [PATH.format(commit=commit, run=run) for run in runs],
    }


def read(content: dict[str, Any], name: str = "x") -> Imported:
    data = (json.dumps(content, indent=2) + "\n").encode()
    assert importer_of(data, name, IMPORTERS).name == "lkp"
    return read_with(IMPORTERS.named("lkp"), data, name)


def test_each_run_counts_by_itself_and_a_commit_is_a_system() -> None:
    old, new = (
        read(matrix(commit, [by * one for one in (100.0, 101.0, 99.0, 100.5, 99.5)]), commit)
        for commit, by in (("a" * 40, 1.0), ("b" * 40, 1.2))
    )
    files = [ReadFile(str(n), bytes([n]), None, "lkp", one) for n, one in enumerate((old, new))]
    found = analyse_collection(assemble(files, ImportOptions()))
    assert [system.name for system in found.systems] == ["a" * 12, "b" * 12]
    (workload,) = found.workloads
    assert [cell.metric for cell in workload.cells if cell.comparisons] == ["throughput"]
    (comparison,) = workload.cells[0].comparisons
    assert (comparison.verdict, comparison.blocks) == ("faster", 5)


def test_commits_of_one_matrix_are_kept_apart() -> None:
    content = matrix("a" * 40, [100.0, 101.0, 99.0])
    content["stats_source"][2] = PATH.format(commit="b" * 40, run=0)
    found = {one.system: one.values for one in read(content).workloads[0].measured}
    assert found == {"a" * 12: (100.0, 101.0), "b" * 12: (99.0,)}


def test_what_did_not_end_or_has_no_value_is_left_out() -> None:
    content = matrix("a" * 40, [100.0, 0, 99.0, 7.0])
    content["last_state.is_incomplete_run"] = [0, 0, 0, 1]
    found = read(content)
    assert [one.values for one in found.workloads[0].measured] == [(100.0, 99.0)]
    assert found.limits == (
        "x: 1 of 4 runs left out, as incomplete.",
        "x: left out, as nothing says what of them is better: throughput_best.",
    )
    content["hackbench.throughput"][0] = float("nan")
    found = read(content)
    assert [one.values for one in found.workloads[0].measured] == [(99.0,)]
    assert "x: a value of throughput left out: that is not a finite number." in found.limits


@pytest.mark.parametrize(
    ("stat", "unit", "direction"),
    [
        ("per_thread_ops", "count", "higher"),
        ("Throughput_Mbps", "count", "higher"),
        ("files_per_sec", "count", "higher"),
        ("jobs-per-min", "count", "higher"),
        ("read_iops", "count", "higher"),
        ("throughput-MB/sec", "count", "higher"),
        ("wakeup_cost_us", "s", "lower"),
        ("startup_time_ms", "s", "lower"),
    ],
)
def test_the_name_says_what_is_better(stat: str, unit: str, direction: str) -> None:
    content = matrix("a" * 40, [5.0, 6.0], **{stat: [1.0, 2.0]})
    metrics = {one.name: one for one in read(content).workloads[0].metrics}
    assert (metrics[stat].unit, metrics[stat].direction) == (unit, direction)
    assert metrics[stat].headline == (unit == "count")
    del content["hackbench.throughput"]
    (alone,) = read(content).workloads[0].metrics
    assert alone.headline


def test_the_sources_may_stand_behind_thousands_of_stats() -> None:
    content = json.loads(data_of("lkp/matrix.json"))
    many = {f"perf-profile.children.function_{n}": [0.1, 0.2, 0.1, 0.3] for n in range(3000)}
    plain = read(json.loads(data_of("lkp/matrix.json")))
    assert read({**many, **content}).workloads == plain.workloads


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"stats_source": None}, "samples within one run"),
        ({"stats_source": ["stats.json"]}, "should be the path of a stats.json below result/"),
        ({"hackbench.throughput": [1.0] * 3}, "3 values of 2 runs"),
    ],
)
def test_another_matrix_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read({**matrix("a" * 40, [1.0, 2.0]), **change})
