"""Does the engine give the figures that the originals give, on the same work?

Each round executes both one right after the other; a figure agrees when the median of the ratios
is within five per cent of one. What of a ratio is the instrument and what the hour shows in its
spread. The defects of the originals are switched on.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tiltyard.wire import SampleEvent

from . import postmark
from .harness import Comparison, Pair, Row, Times
from .sides import Trial, timed

AGREES = (0.95, 1.05)
MIB = 1 << 20
COLUMNS = (
    "write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "backward_read",
    "record_rewrite",
    "stride_read",
    "fwrite",
    "frewrite",
    "fread",
    "freread",
)
STAGES = ("write", "read", "random_write", "random_read")


class Agreement(Pair):
    """A pair whose ratios are to be near one, whichever side is the faster."""

    def rows(self, seconds: float, place: Path, rng: random.Random) -> Iterator[Row]:
        """One row per figure that both print."""
        low, high = AGREES
        for row in super().rows(seconds, place, rng):
            yield replace(row, target=f"±{high - 1:.0%}", ok=low <= row.median <= high)


def comparisons() -> list[Comparison]:
    """One for each original; each skipped where it is not installed."""
    made_from_speed = [
        Agreement(f"agreement, {pair.name}", pair.peer, pair.ours, pair.theirs, pair.needs)
        for pair in postmark.comparisons()
        if isinstance(pair, Pair)
    ]
    return [
        _iozone("4k", "32M"),
        _iozone("64k", "64M"),
        _tiobench(),
        _aio_stress(),
        _fs_mark(),
        *made_from_speed,
    ]


def _seconds_per_byte(trial: Trial) -> Times:
    """Of every sample that is a rate of bytes, by its metric."""
    samples = [event.data for event in trial.events if isinstance(event, SampleEvent)]
    return {each.metric: 1 / each.value for each in samples if each.unit == "B/s"}


def _iozone(record: str, file: str) -> Agreement:
    """All thirteen columns, which the original repeats as one matrix each (-R)."""

    def ours(directory: Path) -> Times:
        parameters = {"file": file, "record": record, "classic": True}
        return _seconds_per_byte(Trial(directory, "iozone", parameters))

    def theirs(directory: Path) -> Times:
        tests = [word for index in range(8) for word in ("-i", f"{index}")]
        argv = ["iozone", *tests, "-R", "-s", file, "-r", record, "-f", "iozone.tmp"]
        _, printed = timed(argv, directory)
        rates = re.findall(r' report"\n[^\n]*\n"\d+"\s+(\d+)', printed.decode())
        return {metric: 1 / (int(rate) * 1024) for metric, rate in zip(COLUMNS, rates, strict=True)}

    return Agreement(f"agreement, iozone, {record}", "iozone", ours, theirs, ("iozone",))


def _tiobench() -> Agreement:
    """Two threads, whose phases the original prints in one line each (-T)."""
    phases = {"write": "write", "rwrite": "random_write", "read": "read", "rread": "random_read"}

    def ours(directory: Path) -> Times:
        parameters = {"file": "64M", "threads": 2, "random_operations": 16_000}
        times = _seconds_per_byte(Trial(directory, "tiobench", parameters))
        return {metric: times[metric] for metric in phases.values()}

    def theirs(directory: Path) -> Times:
        argv = ["tiotest", "-T", "-f", "64", "-t", "2", "-r", "16000", "-b", "4096", "-d", "."]
        _, printed = timed(argv, directory)
        times = {}
        for line in printed.decode().splitlines():
            name, _, rest = line.partition(":")
            if name in phases:
                mebibytes, seconds = (float(value) for value in rest.split(",")[:2])
                times[phases[name]] = seconds / (mebibytes * MIB)
        return times

    return Agreement("agreement, tiobench", "tiotest", ours, theirs, ("tiotest",))


def _aio_stress() -> Agreement:
    """Four stages, by the totals, which include the fsync; the original logs to stderr."""

    def ours(directory: Path) -> Times:
        times = _seconds_per_byte(Trial(directory, "aio_stress", {"file": "256M", "classic": True}))
        return {stage: times[stage] for stage in STAGES}

    def theirs(directory: Path) -> Times:
        argv = ["sh", "-c", "exec aio-stress -s 256m -r 64k one 2>&1"]
        _, printed = timed(argv, directory)
        rates = re.findall(r"thread 0 ([\w ]+) totals \(([\d.]+) MB/s\)", printed.decode())
        return {stage.replace(" ", "_"): 1 / (float(rate) * MIB) for stage, rate in rates}

    return Agreement("agreement, aio-stress", "aio-stress", ours, theirs, ("aio-stress",))


def _fs_mark() -> Agreement:
    """Files created, and not synced: with syncs it is the device that is compared to itself."""
    parameters = {"files": 5_000, "size": 16_384, "sync": "none", "classic": True}
    options = ["-d", ".", "-n", "5000", "-s", "16384", "-S", "0"]

    def ours(directory: Path) -> Times:
        return {"files": Trial(directory, "fs_mark", parameters).operation_s("files")}

    def theirs(directory: Path) -> Times:
        _, printed = timed(["fs_mark", *options], directory)
        return {"files": 1 / float(printed.decode().splitlines()[-1].split()[3])}

    return Agreement("agreement, fs_mark", "fs_mark", ours, theirs, ("fs_mark",))
