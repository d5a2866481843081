"""hackbench: what the banner and a command say of an execution, and what is left unsaid."""

import pytest

from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.importer import Imported
from tiltyard.importers.names import told_apart
from tiltyard.importers.sniff import importer_of, read_with

BANNER = (
    "Running in {mode} mode with {groups} groups using {descriptors} file descriptors each "
    "(== 160 tasks)\nEach sender will pass {messages} messages of 100 bytes\nTime: {time}\n"
)
USUAL = {"mode": "process", "groups": 4, "descriptors": 40, "messages": 100, "time": "0.123"}


def execution(**other: object) -> str:
    return BANNER.format(**{**USUAL, **other})


def read(text: str) -> Imported:
    data = text.encode()
    assert importer_of(data, "x", IMPORTERS).name == "hackbench"
    (found,) = told_apart([read_with(IMPORTERS.named("hackbench"), data, "x")])
    return found


def names(text: str) -> list[str]:
    return [workload.name for workload in read(text).workloads]


def test_the_same_again_is_a_repetition_and_groups_are_the_grid() -> None:
    text = execution() + execution(time="0.125") + execution(groups=8, time="0.250")
    (workload,) = read(text).workloads
    found = [(one.at["groups"], one.values) for one in workload.measured]
    assert found == [(4, (0.123,)), (4, (0.125,)), (8, (0.25,))]
    assert workload.parameters == {
        "mode": "process",
        "file descriptors of a group": "40",
        "of each sender": "100 messages of 100 B",
    }


@pytest.mark.parametrize(
    ("other", "apart"),
    [
        ({"mode": "threaded"}, ["process mode", "threaded mode"]),
        ({"descriptors": 20}, ["40 file descriptors", "20 file descriptors"]),
        ({"messages": 500}, ["100 messages of 100 B", "500 messages of 100 B"]),
    ],
)
def test_what_is_not_the_same_is_told_apart(other: dict[str, object], apart: list[str]) -> None:
    found = names(execution() + execution(**other))
    assert found == [f"hackbench ({told})" for told in apart]


@pytest.mark.parametrize(
    "command",
    ["+ hackbench -pTg 4", "$ ./hackbench -g 4 --pipe", "root@h:~# /usr/bin/hackbench -T -p -l 100",
     "hackbench --groups=4 -f 20 -s 100 --process --pipe", "hackbench 4 pipe process 100"],
)  # fmt: skip
def test_pipes_are_known_by_the_command(command: str) -> None:
    (workload,) = read(f"{command}\n{execution()}").workloads
    assert workload.parameters["options"] == "-p"
    plain = "+ hackbench -g 4 -f 20 --threads -s 100 -l 100\n"
    found = names(f"{plain}{execution()}{command}\n{execution()}")
    assert found == ["hackbench", "hackbench (-p)"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (execution() + "Time: 0.125\n", "x:4: a time without the line before it"),
        (
            execution() + "fork() (error: Resource temporarily unavailable)\n",
            r"x:4: hackbench says",
        ),
    ],
)
def test_what_does_not_count_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read(text)


BENCH = (
    "# Running 'sched/messaging' benchmark:\n# 20 sender and receiver {mode} per group\n"
    "# 4 groups == 160 {mode} run\n\n     Total time: 0.179 [sec]\n"
)


def test_perf_bench_is_a_workload_of_its_own_and_its_messages_are_those_of_the_command() -> None:
    command = "$ perf bench sched messaging -p -t -l 1000 -g 4\n"
    text = f"{command}{BENCH.format(mode='threads')}{execution()}"
    bench, own = read(text).workloads
    assert (bench.name, own.name) == ("perf bench sched messaging", "hackbench")
    assert [(one.at, one.values) for one in bench.measured] == [({"groups": 4}, (0.179,))]
    assert bench.parameters == {
        "mode": "threaded",
        "file descriptors of a group": "40",
        "of each sender": "1000 messages",
        "options": "-p",
    }
    alone = read(BENCH.format(mode="processes")).workloads[0].parameters
    assert alone == {"mode": "process", "file descriptors of a group": "40"}


def test_another_benchmark_of_perf_is_no_hackbench() -> None:
    other = "# Running 'sched/pipe' benchmark:\n\n     Total time: 2.772 [sec]\n"
    (workload,) = read(BENCH.format(mode="threads") + other).workloads
    assert [one.values for one in workload.measured] == [(0.179,)]
