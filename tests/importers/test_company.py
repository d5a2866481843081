"""What stands beside a result in its file: lines for people, the same again, other results."""

import json

import pytest

from support.imported import data_of, imported, values
from support.imports import GENUINE
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.json_file import json_of
from tiltyard.importers.sniff import importer_of, read_with

OBJECTS = ["fio/two-jobs.json", "iperf3/tcp.json", "hyperfine/two-commands.json"]


@pytest.mark.parametrize("path", OBJECTS)
@pytest.mark.parametrize("before", ["", "a warning\n", "[ 12.5] a line of the kernel\n"])
def test_lines_around_json_are_no_part_of_it(path: str, before: str) -> None:
    text = data_of(path).decode()
    found = imported(path, f"{before}{text}\nand a line after it\n".encode())
    assert found.workloads == imported(path).workloads


@pytest.mark.parametrize("path", OBJECTS)
def test_the_same_again_is_read_once_and_another_result_is_refused(path: str) -> None:
    text = data_of(path).decode().rstrip() + "\n"
    assert imported(path, (text * 2).encode()).workloads == imported(path).workloads
    other = json.dumps({**json_content(text), "other": 1})
    with pytest.raises(UsageError, match=rf":{text.count(chr(10)) + 1}: a second result begins"):
        imported(path, f"{text}{other}\n".encode())


def json_content(text: str) -> dict[str, object]:
    """What stands between the first brace and the last."""
    found: dict[str, object] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return found


@pytest.mark.parametrize(
    "text", ['{"a": 1}\n{"a": ', '{"a": \n{"a": 1}\n', "[1, 2\n", '{"a": 1} x\n', "x\n"]
)
def test_json_that_is_cut_off_is_no_note(text: str) -> None:
    with pytest.raises(UsageError, match="not JSON, or cut off"):
        json_of(text.encode(), "x")


def test_a_stream_of_iperf3_is_what_its_report_is() -> None:
    report = json_content(data_of("iperf3/tcp.json").decode())
    events = [
        {"event": "start", "data": report["start"]},
        {"event": "interval", "data": {}},
        {"event": "end", "data": report["end"]},
    ]
    stream = "".join(f"{json.dumps(event)}\n" for event in events)
    assert values(imported("x.json", stream.encode())) == values(imported("iperf3/tcp.json"))
    error = f'{stream}{{"event": "error", "data": "the server has terminated"}}\n'
    with pytest.raises(UsageError, match="iperf3 ended with: the server has terminated"):
        imported("x.json", error.encode())


def test_events_of_go_are_what_they_print() -> None:
    text = data_of("go-test/two-packages.txt").decode()
    events, package = "", ""
    for line in text.splitlines(keepends=True):
        package = line[5:].strip() if line.startswith("pkg: ") else package
        for piece in line.replace("\t", "\t\0", 1).split("\0"):
            event = {"Action": "output", "Package": package, "Output": piece}
            events += f"{json.dumps(event)}\n"
    found = imported("x.json", events.encode()).workloads[0]
    assert sorted(map(str, found.measured)) == sorted(
        map(str, imported("go-test/two-packages.txt").workloads[0].measured)
    )


def test_a_benchmark_of_go_without_figures_is_named() -> None:
    text = "BenchmarkA-8 \tlog\nBenchmarkB-8 \t 9\t 5 ns/op\nBenchmarkC-8 \tlog\n"
    limits = imported("x.txt", text.encode()).limits
    assert limits == tuple(
        f"x.txt: Benchmark{name}-8 left out: its figures are not there." for name in "AC"
    )


@pytest.mark.parametrize("kind", ["redis-benchmark", "dbench", "sysbench"])
def test_a_warning_before_the_output_hides_no_tool(kind: str) -> None:
    for file in GENUINE:
        if file.importer.name == kind:
            data = b"WARNING: something is deprecated\n" + file.data
            assert importer_of(data, file.name, IMPORTERS).name == kind


def test_a_score_that_is_none_leaves_out_its_benchmark() -> None:
    def entry(name: str, score: str) -> str:
        return (
            f'{{"jmhVersion": "1.37", "benchmark": "a.S.{name}", "mode": "avgt", "threads": 1, '
            f'"forks": 1, "primaryMetric": {{"score": {score}, "scoreUnit": "ns/op"}}}}'
        )

    text = f"[{entry('good', '5.0')}, {entry('bad', chr(34) + 'NaN' + chr(34))}]\n"
    found = imported("x.json", text.encode())
    assert {one.at["benchmark"] for one in found.workloads[0].measured} == {"S.good"}
    assert "S.bad left out: that is not a finite number." in found.limits


def test_cycles_of_criterion_are_left_out_by_name() -> None:
    text = "good    time:   [1.0 ns 2.0 ns 3.0 ns]\nbad    time:   [1 cycles 2 cycles 3 cycles]\n"
    found = read_with(IMPORTERS.named("criterion"), text.encode(), "x")
    assert {one.at["benchmark"] for one in found.workloads[0].measured} == {"good"}
    assert 'x: bad left out: "cycles" is no time.' in found.limits
