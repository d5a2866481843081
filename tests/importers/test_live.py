"""Outputs read live: the readers of files, and numbers found by an expression."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from support.imports import GENUINE, Genuine, golden
from tiltyard.errors import UsageError
from tiltyard.importers.live import cards, readers, readings
from tiltyard.study.program import Metrics
from tiltyard.wire import Execution, MetricCard, Output, Sample, Unit

METRICS: TypeAdapter[Metrics] = TypeAdapter(Metrics)
OWN = [
    MetricCard(name=name, label=name, unit="s", direction="lower", role="headline", about="")
    for name in ("time", "user")
]
READ = [file for file in GENUINE if file.importer in readers()]


def metrics(**tables: Any) -> Metrics:
    """Metrics as a study has them; of tables those that only have an expression."""
    common = {"unit": "1/s", "better": "higher"}
    return METRICS.validate_python(
        {name: one if isinstance(one, str) else common | one for name, one in tables.items()}
    )


def executed(
    *stdout: str,
    read: str | None = None,
    files: dict[str, str] | None = None,
    truncated: bool = False,
    **tables: Any,
) -> list[Sample]:
    """The samples of executions that printed these texts."""
    outputs: dict[str, Output] = {}

    def kept(text: str) -> str:
        digest = hashlib.sha256(text.encode()).hexdigest()
        outputs[digest] = Output(sha256=digest, bytes=len(text), text=text, truncated=truncated)
        return digest

    executions = [
        Execution(
            step="measure",
            number=number,
            elapsed_s=0.5,
            user_s=0,
            system_s=0,
            peak_memory_bytes=1,
            minor_faults=0,
            major_faults=0,
            voluntary_switches=0,
            involuntary_switches=0,
            stdout=kept(text),
            stderr=kept("warned 7 times\n"),
            exit=3,
            files={name: kept(content) for name, content in (files or {}).items()},
        )
        for number, text in enumerate(stdout, 1)
    ]
    return readings(read, metrics(**tables), executions, outputs)


def values(samples: Sequence[Sample]) -> dict[str, float]:
    return {one.metric: one.value for one in samples}


TABLE = "starting\nname,rate\na,10\nb,30\nended\n"


@pytest.mark.parametrize(
    ("stdout", "table", "expected"),
    [
        ("tps = 12.5 (x)\n", {"regex": r"tps = ([0-9.]+)"}, 12.5),
        ("run 1: 5\nrun 2: 7\n", {"regex": r"^run \d: (\d+)"}, 7),
        ("run 1: 5\nrun 2: 7\n", {"regex": r"^run \d: (\d+)", "take": "first"}, 5),
        ("run 1: 5\nrun 2: 7\n", {"regex": r"^run \d: (\d+)", "take": "mean"}, 6),
        ("run 1: 5\nrun 2: 7\n", {"regex": r"^run \d: (\d+)", "take": "sum"}, 12),
        ("run 1: 5\nrun 2: 7\n", {"regex": r"^run \d: (\d+)", "take": "min"}, 5),
        ('{"a": [{"v": 4}, {"v": 6}]}', {"json": "$.a[*].v", "take": "max"}, 6),
        (
            'note\n{"v": "1,024"}\n{"v": 8}\nbye',
            {"json": "$.v", "take": "sum", "decimal": "."},
            1032,
        ),
        ("real\t0m1,021s\n", {"regex": "0m(.+)s", "decimal": ","}, 1.021),
        ("real\t1.000,5\n", {"key": "real", "decimal": ","}, 1000.5),
        ('{"a": [{"n": "x", "v": 1}, {"n": "y", "v": 2}]}', {"json": "$.a[?@.n=='x'].v"}, 1),
        (TABLE, {"csv": "rate"}, 30),
        (TABLE.replace(",", ";"), {"csv": "rate", "take": "sum"}, 40),
        ("Requests per second:    1,234.5 [#/sec]\n", {"key": "Requests per second"}, 1234.5),
        ("score=-3\n", {"key": "score"}, -3),
        ("working\n\n 42 \n\n", {"last": True}, 42),
        ("", {"exit": True, "unit": "count"}, 3),
        ("", {"key": "warned", "of": "stderr"}, 7),
        ("512\n", {"last": True, "unit": "MiB/s"}, 512 * 2**20),
        ("512\n", {"last": True, "unit": "MB/s"}, 512e6),
        ("8\n", {"last": True, "unit": "Mbit/s"}, 1e6),
        ("8\n", {"last": True, "unit": "us/op"}, 8e-6),
        ("8\n", {"last": True, "unit": "kops/s"}, 8000),
        ("8\n", {"last": True, "unit": "keys/s"}, 8),
    ],
)
def test_a_number_is_found(stdout: str, table: dict[str, Any], expected: float) -> None:
    (sample,) = executed(stdout, found=table)
    assert sample.value == pytest.approx(expected)
    assert (sample.operations, sample.elapsed_s) == (1, 0.5)


@pytest.mark.parametrize("kept", ['{"v": 1}\n{"v": [\n  {"v": 2},\n', '[info]\n{"v": 1}\n{"v"'])
def test_a_part_of_json_is_no_document(kept: str) -> None:
    assert values(executed(kept, found={"json": "$.v"})) == {"found": 1}


def test_of_output_that_was_not_kept_whole_only_the_first_number_counts() -> None:
    table = {"regex": r"(\d+)", "unit": "s"}
    first = executed("1\n2\n", truncated=True, found=table | {"take": "first"})
    assert values(first) == {"found": 1}
    with pytest.raises(UsageError, match=r'only its beginning was kept\. Fix: keep = "4M"'):
        executed("1\n2\n", truncated=True, found=table)
    fio = golden("fio/two-jobs.json").read_text()
    with pytest.raises(UsageError, match="only its beginning was kept"):
        executed(fio, truncated=True, read="fio")


def test_the_value_is_the_mean_over_executions() -> None:
    (sample,) = executed("1\n", "2\n", "6\n", found={"last": True, "unit": "ms"})
    assert (sample.value, sample.unit, sample.operations) == (pytest.approx(3e-3), "s", 3)


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (
            {"regex": "tps = (.*)"},
            r"^stdout of execution 1: metrics.found: regex 'tps = \(\.\*\)' is not there; its last "
            r"lines: a,10 \| b,30 \| ended$",
        ),
        ({"json": "$.v"}, "stdout of execution 1: there is no JSON; its last lines"),
        ({"csv": "speed"}, "the CSV column 'speed' is not there; its last lines"),
        ({"key": "speed"}, "a number after 'speed' is not there; its last lines"),
        ({"last": True}, 'the last line is "ended": that is not a finite number'),
        ({"last": True, "of": "out.txt"}, r'not captured. Fix: files = \["out.txt"\]'),
    ],
)
def test_what_is_not_there_is_an_error(table: dict[str, Any], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        executed(TABLE, found=table)


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({"regex": "("}, r"^metrics.found.regex: '\('"),
        ({"json": "$["}, r"^metrics.found.json: '\$\[': unexpected end of query$"),
        ({"last": True, "unit": "furlongs"}, '^metrics.found.unit: "furlongs" is not a known unit'),
    ],
)
def test_what_cannot_be_understood_is_refused_before_a_run(
    table: dict[str, Any], error: str
) -> None:
    with pytest.raises(UsageError, match=error):
        cards(None, metrics(found=table), OWN)


def test_the_engines_metrics_are_details_beside_those_that_are_named() -> None:
    found, grid = cards(None, metrics(wall="time", tps={"key": "tps"}), OWN)
    assert [(one.name, one.label, one.role) for one in found] == [
        ("tps", "tps", "headline"),
        ("time", "wall", "headline"),
        ("user", "user", "detail"),
    ]
    assert grid == ()
    assert cards(None, {}, OWN)[0] == tuple(OWN)


def test_a_study_chooses_among_what_a_reader_reads() -> None:
    chosen = metrics(p99="sync_latency_p99", wall="time")
    found, _ = cards("fio", chosen, OWN)
    assert [(one.name, one.label) for one in found if one.role == "headline"] == [
        ("sync_latency_p99", "p99"),
        ("time", "wall"),
    ]
    with pytest.raises(UsageError, match=r'^metrics\.a: .*"write_latancy".*"write_latency"'):
        cards("fio", metrics(a="write_latancy"), OWN)


def test_a_name_means_one_thing() -> None:
    with pytest.raises(UsageError, match=r"^metrics\.time: the engine has a metric of this name"):
        cards(None, metrics(time={"key": "time"}), OWN)
    with pytest.raises(UsageError, match=r"^metrics\.write: fio has a metric of this name"):
        cards("fio", metrics(write={"key": "x"}), OWN)
    with pytest.raises(UsageError, match=r'^metrics.b: "time" is named twice, also a'):
        cards(None, metrics(a="time", b="time"), OWN)


def test_a_reader_has_a_name_that_is_known() -> None:
    with pytest.raises(UsageError, match=r'"fioo" is no kind of result file.*Did you mean "fio"'):
        cards("fioo", {}, OWN)
    with pytest.raises(UsageError, match='read: "csv" reads files whose metrics are not known'):
        cards("csv", {}, OWN)


def test_a_word_that_is_too_long_for_a_path_is_no_job_file() -> None:
    assert cards("fio", {}, OWN, ["sh", "-c", "fio " * 100]) == cards("fio", {}, OWN)


@pytest.mark.parametrize("file", READ, ids=lambda file: file.name)
def test_an_output_has_the_numbers_of_its_file(file: Genuine) -> None:
    """Every genuine file, as if a program had printed it twice."""
    text = file.data.decode()
    reader = file.importer
    samples = executed(text, text, read=reader.name)
    known, grid = cards(reader.name, {}, OWN)
    by_name = {card.name: card for card in known}
    assert all(one.unit == by_name[one.metric].unit for one in samples)
    assert all(one.unit in get_args(Unit) and one.operations == 2 for one in samples)
    assert {name for one in samples for name in one.at} <= set(grid)
    imported = [
        value
        for workload in file.read().workloads
        for one in workload.measured
        for value in one.values or filter(None, [one.mean])
    ]
    plain = [one for one in samples if not re.search(r"_p\d+$", one.metric)]
    assert min(imported) <= min(one.value for one in plain) * (1 + 1e-12)
    assert max(imported) >= max(one.value for one in plain) * (1 - 1e-12)


def test_a_reader_takes_the_output_that_it_recognises() -> None:
    fio = golden("fio/two-jobs.json")
    from_stdout = executed(fio.read_text(), read="fio")
    from_file = executed("running\n", read="fio", files={"out.json": fio.read_text()})
    assert from_file == from_stdout
    assert any(one.metric.endswith("_completion_latency_p99") for one in from_stdout)
    assert {one.at["job"] for one in from_stdout} > {"mail"} or len(from_stdout) > 1


def test_several_files_are_read_together() -> None:
    text = golden("criterion/estimates.json").read_text()
    files = {f"target/criterion/{name}/new/estimates.json": text for name in ("sum 10", "a/64")}
    samples = executed("Finished\n", read="criterion", files=files)
    assert {one.at["benchmark"] for one in samples} == {"sum 10", "a/64"}


def test_what_stands_twice_fails_the_trial() -> None:
    """Its values would be missing, and nobody would be told."""
    found = json.loads(golden("pytest-benchmark/three-tests.json").read_text())
    found["benchmarks"].append(found["benchmarks"][0])
    with pytest.raises(UsageError, match=r"read: what stands there twice"):
        executed(json.dumps(found, indent=2), read="pytest-benchmark")


def test_an_output_of_another_program_is_an_error() -> None:
    with pytest.raises(
        UsageError,
        match=r"^stdout of execution 1: read: no output of fio \(.*\); its last lines: hello$",
    ):
        executed("hello\n", read="fio")


def test_each_execution_prints_the_same_metrics() -> None:
    with pytest.raises(UsageError, match=r"^execution 2 (has|lacks) "):
        executed(
            golden("sysbench/cpu.txt").read_text(),
            golden("sysbench/memory.txt").read_text(),
            read="sysbench",
        )
