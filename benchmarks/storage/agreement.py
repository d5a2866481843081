"""Does the engine give the figures that the originals give, on the same work?

Each round executes both one right after the other; a figure agrees when the median of the ratios
is within five per cent of one. What of a ratio is the instrument and what the hour shows in its
interval, and in the CPU time of both processes, which waiting for others does not change. The
defects of the originals are switched on. PostMark's agreement is that of `postmark.py`.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tiltyard.wire import SampleEvent

from ..harness import CPU, Comparison, Pair, Row, Times
from ..processes import timed
from .sides import Trial

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
            if row.what == CPU:
                yield row
            else:
                yield replace(row, target=f"±{high - 1:.0%}", least=low, below=high)


def comparisons() -> list[Comparison]:
    """One for each original; each skipped where it is not installed."""
    return [_iozone("4k", "32M"), _iozone("64k", "64M"), _tiobench(), _aio_stress(), _fs_mark()]


def _seconds_per_byte(trial: Trial) -> dict[str, float]:
    """Of every sample that is a rate of bytes, by its metric; and the CPU time."""
    samples = [event.data for event in trial.events if isinstance(event, SampleEvent)]
    times = {each.metric: 1 / each.value for each in samples if each.unit == "B/s"}
    return {**times, CPU: trial.spent[CPU]}


def _iozone(record: str, file: str) -> Agreement:
    """All thirteen columns, which the original repeats as one matrix each (-R)."""

    def ours(directory: Path) -> Times:
        parameters = {"file": file, "record": record, "classic": True}
        return _seconds_per_byte(Trial(directory, "iozone", parameters))

    def theirs(directory: Path) -> Times:
        tests = [word for index in range(8) for word in ("-i", f"{index}")]
        argv = ["iozone", *tests, "-R", "-s", file, "-r", record, "-f", "iozone.tmp"]
        spent, printed = timed(argv, directory)
        rates = re.findall(r' report"\n[^\n]*\n"\d+"\s+(\d+)', printed.decode())
        columns = zip(COLUMNS, rates, strict=True)
        return {CPU: spent[CPU]} | {metric: 1 / (int(rate) * 1024) for metric, rate in columns}

    return Agreement(f"agreement, iozone, {record}", "iozone", ours, theirs, ("iozone",))


def _tiobench() -> Agreement:
    """One thread, whose phases the original prints in a line each (-T).

    Two would wait for each other's CPU on a small machine that has other things to do. The
    original looks at the clock twice for each block, the engine once, which shows with small ones.
    """
    phases = {"write": "write", "rwrite": "random_write", "read": "read", "rread": "random_read"}

    def ours(directory: Path) -> Times:
        parameters = {"file": "128M", "block": "16k", "threads": 1, "random_operations": 8_000}
        times = _seconds_per_byte(Trial(directory, "tiobench", parameters))
        return {metric: times[metric] for metric in (CPU, *phases.values())}

    def theirs(directory: Path) -> Times:
        argv = ["tiotest", "-T", "-f", "128", "-t", "1", "-r", "8000", "-b", "16384", "-d", "."]
        spent, printed = timed(argv, directory)
        times = {CPU: spent[CPU]}
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
        return {what: times[what] for what in (CPU, *STAGES)}

    def theirs(directory: Path) -> Times:
        argv = ["sh", "-c", "exec aio-stress -s 256m -r 64k one 2>&1"]
        spent, printed = timed(argv, directory)
        rates = re.findall(r"thread 0 ([\w ]+) totals \(([\d.]+) MB/s\)", printed.decode())
        times = {stage.replace(" ", "_"): 1 / (float(rate) * MIB) for stage, rate in rates}
        return {CPU: spent[CPU], **times}

    return Agreement("agreement, aio-stress", "aio-stress", ours, theirs, ("aio-stress",))


def _fs_mark() -> Agreement:
    """Files created, and not synced: with syncs it is the device that is compared to itself.

    The time in system calls only: the original draws 85 random numbers for each name, and says
    itself what share of its time that is.
    """
    files = 5_000
    parameters = {"files": files, "size": 16_384, "sync": "none", "classic": True}
    options = ["-d", ".", "-n", f"{files}", "-s", "16384", "-S", "0"]

    def ours(directory: Path) -> Times:
        trial = Trial(directory, "fs_mark", parameters)
        calls_s = trial.sample("files").elapsed_s - trial.sample("overhead").value
        return {CPU: trial.spent[CPU], "calls": calls_s / files}

    def theirs(directory: Path) -> Times:
        spent, printed = timed(["fs_mark", *options], directory)
        rate, overhead_us = (float(cell) for cell in printed.decode().splitlines()[-1].split()[3:])
        return {CPU: spent[CPU], "calls": 1 / rate - overhead_us / 1e6 / files}

    return Agreement("agreement, fs_mark", "fs_mark", ours, theirs, ("fs_mark",))
