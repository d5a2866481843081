"""Cached random reads of 4 KiB: beside a bare C loop of the same calls, and fio.

On a file system with a device under it, as files that are cached mostly have: a tmpfs is so quick
that reading the clock at all is six per cent of a read.
"""

import functools
from pathlib import Path

from ..harness import Comparison, Pair, Side, Times
from . import loop
from .sides import Trial, fio

INNER = "per operation"
BLOCK = 4_096
FILE_BYTES = 64 << 20
PASSES = 8
"""Over the file, on every side."""


def comparisons() -> list[Comparison]:
    """With a clock around all reads, and with one read of it at each."""

    def ours(timing: str) -> Side:
        operations = PASSES * FILE_BYTES // BLOCK
        order = {"offsets": "permutation", "operations": operations}
        parameters = {"file": FILE_BYTES, "block": BLOCK, **order, "timing": timing}

        def side(directory: Path) -> Times:
            trial = Trial(directory, "random", parameters)
            return {INNER: trial.operation_s("random_read")}

        return side

    def bare(directory: Path) -> Times:
        return {INNER: loop.operation_s(directory, FILE_BYTES, BLOCK, PASSES, "random", "trust")}

    def psync(directory: Path) -> Times:
        return fio(directory, "--rw=randread", f"--bs={BLOCK}", "--gtod_reduce=1")

    def clocks(directory: Path) -> Times:
        return fio(directory, "--rw=randread", f"--bs={BLOCK}")

    pair = functools.partial(Pair, on_device=True)
    name, each = "random read, 4 KiB", "random read, 4 KiB, each timed"
    by_pass, by_operation = ours("pass"), ours("operation")
    return [
        pair(name, "bare loop", by_pass, bare, ("cc",), {INNER: 0.98}),
        pair(each, "bare loop", by_operation, bare, ("cc",), {INNER: 0.95}),
        pair(name, "fio psync", by_pass, psync, ("fio",), {INNER: 1.15}),
        pair(each, "fio psync, clocks on", by_operation, clocks, ("fio",), {INNER: 1.2}),
    ]
