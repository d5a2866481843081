"""What sysbench 1 prints: fileio, cpu, memory, threads, mutex, and its tests of databases.

Its ``MiB`` are 1024² bytes, as they say. Of sysbench 1.1, which prints the same rate in MiB/s and
MB/s, the first is read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import (
    MIB_S,
    MILLISECONDS,
    PER_S,
    SECONDS,
    Unit,
    metric,
    percentile_name,
)
from tiltyard.importers.reading import Line, lines_of


@dataclass(frozen=True)
class _Figure:
    """A figure, and the line that it stands in."""

    name: str
    unit: Unit
    pattern: re.Pattern[str]


def _figure(name: str, unit: Unit, pattern: str) -> _Figure:
    return _Figure(name, unit, re.compile(rf"\s*{pattern}\s*"))


_VALUE: Final = r"(\S+)"
_FIGURES: Final = (
    _figure("read", MIB_S, rf"read, MiB/s:\s+{_VALUE}"),
    _figure("write", MIB_S, rf"written, MiB/s:\s+{_VALUE}"),
    _figure("reads", PER_S, rf"reads/s:\s+{_VALUE}"),
    _figure("writes", PER_S, rf"writes/s:\s+{_VALUE}"),
    _figure("fsyncs", PER_S, rf"fsyncs/s:\s+{_VALUE}"),
    _figure("read", MIB_S, rf"read:\s+IOPS=\S+ {_VALUE} MiB/s .*"),
    _figure("reads", PER_S, rf"read:\s+IOPS={_VALUE} \S+ MiB/s .*"),
    _figure("write", MIB_S, rf"write:\s+IOPS=\S+ {_VALUE} MiB/s .*"),
    _figure("writes", PER_S, rf"write:\s+IOPS={_VALUE} \S+ MiB/s .*"),
    _figure("fsyncs", PER_S, rf"fsync:\s+IOPS={_VALUE}"),
    _figure("events", PER_S, rf"events per second:\s+{_VALUE}"),
    _figure("events", PER_S, rf"events/s \(eps\):\s+{_VALUE}"),
    _figure("operations", PER_S, rf"Total operations: \S+ \(\s*{_VALUE} per second\)"),
    _figure("transferred", MIB_S, rf"\S+ MiB transferred \({_VALUE} MiB/sec\)"),
    _figure("transactions", PER_S, rf"transactions:\s+\S+\s+\({_VALUE} per sec\.\)"),
    _figure("queries", PER_S, rf"queries:\s+\S+\s+\({_VALUE} per sec\.\)"),
    _figure("errors", PER_S, rf"ignored errors:\s+\S+\s+\({_VALUE} per sec\.\)"),
    _figure("total_time", SECONDS, r"(?:total time|time elapsed):\s+(\S+)s"),
    _figure("latency", MILLISECONDS, rf"avg:\s+{_VALUE}"),
)
METRICS: Final = (
    metric("read", MIB_S, 2),
    metric("write", MIB_S, 2),
    metric("events", PER_S, 2),
    metric("transferred", MIB_S, 2),
    metric("transactions", PER_S, 2),
    metric("reads", PER_S, 2, headline=False),
    metric("writes", PER_S, 2, headline=False),
    metric("fsyncs", PER_S, 2, headline=False),
    metric("operations", PER_S, 2, headline=False),
    metric("queries", PER_S, 2, headline=False),
    metric("errors", PER_S, 2, headline=False, label="ignored errors", direction="lower"),
    metric("latency", MILLISECONDS, 2, headline=False),
    metric("total_time", SECONDS, 4, headline=False),
)
_EVENTS: Final = re.compile(r"\s*total number of events:\s+(\S+)\s*")
_TIME: Final = re.compile(r"\s*total time:\s+(\S+)s\s*")
_PERCENTILE: Final = re.compile(r"\s*(\d+)th percentile:\s+(\S+)\s*")
_VERSION: Final = re.compile(r"sysbench (\d+)\.(\S+)")
_MODE: Final = re.compile(r"Doing (.+?) test\s*")
_SETTINGS: Final = (
    ("threads", re.compile(r"Number of threads: (\d+)")),
    ("files", re.compile(r"(\d+ files, \S+ each)")),
    ("block size", re.compile(r"\s*[Bb]lock size:? (\S+)")),
    ("total size", re.compile(r"(\S+) total file size|  total size: (\S+)")),
    ("periodic fsync", re.compile(r"Periodic FSYNC enabled, calling fsync\(\) (.+)\.")),
    ("final fsync", re.compile(r"Calling fsync\(\) (at the end of test), Enabled\.")),
    ("fsync", re.compile(r"Calling fsync\(\) (after each write operation)\.")),
    ("I/O mode", re.compile(r"Using (.+) I/O mode")),
    ("flags", re.compile(r"Extra file open flags: (.+)")),
    ("operation", re.compile(r"  operation: (.+)")),
    ("primes up to", re.compile(r"Prime numbers limit: (\d+)")),
)


_TESTS: Final = (
    ("fileio", " total file size"),
    ("cpu", "Prime numbers limit:"),
    ("memory", "Running memory speed test"),
    ("threads", "Doing thread subsystem performance test"),
    ("mutex", "Doing mutex performance test"),
    ("database", "SQL statistics:"),
)
"""By what each test is known; by default sysbench does not name threads, mutex and scripts."""


def read(data: bytes, name: str) -> Imported:
    """The output of one ``sysbench … run``."""
    lines = lines_of(data, name)
    version = next((match for one in lines if (match := _VERSION.match(one.text))), None)
    if version and version[1] == "0":
        raise UsageError(f"{name}: of sysbench 0; the reports of sysbench 1 are read")
    reports = [line for line in lines if line.text.strip() == "Latency (ms):"]
    if len(reports) > 1:
        raise reports[1].refused("a second report; give each report in its own file")
    measured = tuple(_measured(lines))
    if not any(one.metric == "latency" for one in measured):
        raise UsageError(f"{name}: without its latencies; give all that sysbench printed")
    tests = [test for test, mark in _TESTS if any(mark in line.text for line in lines)]
    modes = [match[1] for one in lines if (match := _MODE.fullmatch(one.text))]
    use = " ".join(("sysbench", *tests[:1]))
    return single(
        use=use,
        name=", ".join((use, *modes[:1])) if tests[:1] == ["fileio"] else use,
        lineage=version[0] if version else "",
        metrics=METRICS,
        measured=measured,
        parameters=_parameters(lines),
        limits=(
            "sysbench states one value of a run; its figures on fairness are those of threads "
            "within it, say nothing of how well a run repeats, and are not used.",
        ),
    )


def _measured(lines: Sequence[Line]) -> Iterator[Measured]:
    """All figures but zeros: of what was not done, sysbench prints 0.00."""
    found = dict(_figures(lines))
    headlines = {one.name for one in METRICS if one.headline}
    if not headlines & found.keys():
        found |= _events(lines)
    percentiles = {
        percentile_name(line.value(match[1])): MILLISECONDS.value(line.value(match[2]))
        for line in lines
        if (match := _PERCENTILE.fullmatch(line.text))
    }
    for name, value in found.items():
        known = percentiles if name == "latency" else {}
        yield Measured(name, values=(value,), percentiles=known)


def _figures(lines: Sequence[Line]) -> Iterator[tuple[str, float]]:
    for line in lines:
        for figure in _FIGURES:
            match = figure.pattern.fullmatch(line.text)
            if match and (value := figure.unit.value(line.value(match[1]))):
                yield figure.name, value


def _events(lines: Sequence[Line]) -> dict[str, float]:
    """Of tests that print no rate (threads, mutex) what later versions print: events per second."""
    counts = [line.count(match[1]) for line in lines if (match := _EVENTS.fullmatch(line.text))]
    times = [line.value(match[1]) for line in lines if (match := _TIME.fullmatch(line.text))]
    return {"events": float(counts[0] / times[0])} if counts and times and times[0] else {}


def _parameters(lines: Sequence[Line]) -> dict[str, str]:
    """What sysbench prints of how it was called."""
    found = {}
    for line in lines:
        for key, pattern in _SETTINGS:
            if match := pattern.fullmatch(line.text):
                found[key] = next(filter(None, match.groups()))
    return found


IMPORTER: Final = Importer(
    name="sysbench",
    about="what sysbench 1 run prints: fileio, cpu, memory, threads, mutex, databases",
    left_out="counts of events, shortest and longest latencies, fairness of threads",
    cut_off="refused without its latencies, which stand at the end",
    recognises=lambda head: (
        bool(re.search(r"^sysbench \d+\.\d", head, re.MULTILINE)) or "\nThreads fairness:" in head
    ),
    read=read,
    metrics=METRICS,
    timed=("latency",),
    # 1,024 bins from 1 µs to 100 s, equally wide on the log scale.
    bin_width=1 - 1e8 ** (-1 / 1023),
    last_bin_s=99.9,
)
