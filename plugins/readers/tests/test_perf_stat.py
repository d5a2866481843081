"""perf stat: numbers of any locale, and sequences that are whole."""

import pytest

from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.importer import Imported, Measured
from tiltyard.importers.sniff import importer_of, read_with

TEXT = " Performance counter stats for 'cmd' (4 runs):\n\n{}\n\n   {} seconds time elapsed{}\n"


def read(text: str) -> Imported:
    data = text.encode()
    assert importer_of(data, "x", IMPORTERS).name == "perf-stat"
    return read_with(IMPORTERS.named("perf-stat"), data, "x")


def measured(text: str) -> dict[tuple[str, str], Measured]:
    (workload,) = read(text).workloads
    return {(one.metric, str(one.at.get("event", ""))): one for one in workload.measured}


@pytest.mark.parametrize(
    ("row", "metric", "event", "value"),
    [
        ("1,708.76 msec task-clock:u  #  1.0 CPUs utilized", "cpu_time", "", 1.70876),
        ("1.708,76 msec task-clock  #  1,0 CPUs utilized", "cpu_time", "", 1.70876),
        ("1708.761321 task-clock  # 11.0 CPUs utilized", "cpu_time", "", 1.708761321),
        ("2.123683      task-clock:u (msec)       #    0.831 CPUs", "cpu_time", "", 0.002123683),
        ("12 922 766 863 LLC-loads  # 1240,850 M/sec", "events", "LLC-loads", 12922766863),
        ("12\u202f922 L1-dcache-loads", "events", "L1-dcache-loads", 12922),
        ("4.521 page-faults", "events", "page-faults", 4521),
        ("4,521 page-faults", "events", "page-faults", 4521),
        ("12’345 page-faults", "events", "page-faults", 12345),
        ("7 raw_syscalls:sys_enter", "events", "raw_syscalls:sys_enter", 7),
        ("1,810,466,010 ns   user_time", "user", "", 1.81046601),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("elapsed", "elapsed_s"), [("1.234", 1.234), ("1,234 +- 0,001", 1.234)])
def test_a_number_of_any_locale(
    row: str, metric: str, event: str, value: float, elapsed: str, elapsed_s: float
) -> None:
    found = measured(TEXT.format(row, elapsed, "  ( +-  0.50% )"))
    assert found[metric, event].values == (pytest.approx(value, rel=1e-12),)
    assert found["time", ""].values == (elapsed_s,)


CSV = (
    "{0}100.00,msec,task-clock,1.00%,100,100.00,0.9,CPUs utilized\n"
    "{1}200,,cycles,2.00%,100,50.00,,\n"
)


def test_csv_is_compared_by_what_it_has() -> None:
    text = CSV.format("", "") + "<not counted>,,branches,0.00%,0,0.00,,\n"
    found = measured(text)
    assert found["cpu_time", ""].values == (0.1,)
    assert found["events", "cycles"].values == (200,)
    (workload,) = read(text).workloads
    assert [one.name for one in workload.metrics if one.headline] == ["cpu_time"]
    events = (
        "1,,cpu/event=0x3c,umask=0x1/u,10,100.00,,\n2,,cpu/event=0x3c,umask=0x2/u,10,100.00,,\n"
    )
    assert {event for _, event in measured(events)} == {
        "cpu/event=0x3c,umask=0x1/u",
        "cpu/event=0x3c,umask=0x2/u",
    }
    assert [one.name for one in read(events).workloads[0].metrics if one.headline] == ["events"]
    errors, *limits = read(text).limits
    assert errors.endswith("they do not say how another sequence would differ, and are not used.")
    assert limits == [
        "x: counted for a part of the time only, and scaled up by perf: cycles.",
        "x: left out, as perf has <not counted> for it: branches.",
    ]


@pytest.mark.parametrize("first", ["CPU0,", "S0,8,", "    1.000123,", "worker-101,"])
def test_a_part_of_a_run_is_refused(first: str) -> None:
    text = "5,,faults,10,100.00,,\n" + CSV.format(first, first)
    with pytest.raises(UsageError, match=r"^x:2: counts of a processor, thread or interval"):
        read(text)


def test_a_second_sequence_in_csv_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^x:3: task-clock a second time"):
        read(CSV.format("", "") * 2)


def test_commands_of_one_file_are_workloads_and_of_two_files_are_not() -> None:
    one, other = (TEXT.format("", time, "") for time in ("1.5", "2.5"))
    assert {workload.apart for workload in read(one + other).workloads} == {()}
    found = read(one + other.replace("cmd", "cmd 2"))
    assert [workload.apart for workload in found.workloads] == [("cmd",), ("cmd 2",)]
    assert {workload.apart for workload in read(other.replace("cmd", "cmd 2")).workloads} == {()}
