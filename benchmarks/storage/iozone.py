"""Cached sequential re-reads: beside IOzone, a bare C loop that compares as much, and fio."""

from pathlib import Path

from ..harness import Comparison, Pair, Side, Times
from ..processes import timed
from . import loop
from .sides import Trial, fio

INNER = "per operation"
FILE_BYTES = 64 << 20
READER = {"file": FILE_BYTES, "tests": ["write", "read"]}


def comparisons() -> list[Comparison]:
    """At two record sizes; the bare loop also against a clock that is read at every record."""
    return [*_at(4_096), *_at(65_536)]


def _at(record: int) -> list[Comparison]:
    name = f"re-read, {record >> 10} KiB"

    def ours(**more: str | bool) -> Side:
        def side(directory: Path) -> Times:
            trial = Trial(directory, "iozone", {**READER, "record": record, **more})
            return {INNER: trial.operation_s("reread")}

        return side

    def iozone(directory: Path) -> Times:
        argv = [
            "iozone",
            "-i",
            "0",
            "-i",
            "1",
            "-s",
            f"{FILE_BYTES >> 10}",
            "-r",
            f"{record >> 10}",
        ]
        _, printed = timed([*argv, "-f", "peer.tmp"], directory)
        return {INNER: record / 1024 / _reread_kib_s(printed.decode(), record >> 10)}

    def bare(directory: Path) -> Times:
        return {INNER: loop.operation_s(directory, FILE_BYTES, record, 1, "sequential", "compare")}

    def psync(directory: Path) -> Times:
        return fio(directory, "--rw=read", f"--bs={record}", "--gtod_reduce=1")

    def clocks(directory: Path) -> Times:
        return fio(directory, "--rw=read", f"--bs={record}")

    plain, unverified = ours(), ours(verify=False)
    each = ours(timing="operation")
    return [
        Pair(name, "iozone", plain, iozone, ("iozone",), {INNER: 1.0}),
        Pair(name, "bare loop", plain, bare, ("cc",), {INNER: 1.0}),
        Pair(f"{name}, each timed", "bare loop", each, bare, ("cc",), {INNER: 0.95}),
        Pair(name, "fio psync", unverified, psync, ("fio",)),
        Pair(f"{name}, each timed", "fio psync, clocks on", each, clocks, ("fio",)),
    ]


def _reread_kib_s(table: str, record_kib: int) -> float:
    """The fourth column of speeds, for which the file and record sizes in front are looked for."""
    (row,) = [
        cells
        for cells in map(str.split, table.splitlines())
        if cells[:2] == [str(FILE_BYTES >> 10), str(record_kib)]
    ]
    return float(row[5])
