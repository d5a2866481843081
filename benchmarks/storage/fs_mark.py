"""fs_mark beside the original, by the rate that both compute."""

from pathlib import Path

from ..harness import WHOLE, Comparison, Pair, Times
from ..processes import timed
from .sides import Trial

INNER = "per file"


def comparisons() -> list[Comparison]:
    """Without syncs, where the instrument shows, and with one per file."""
    return [
        _pair("fs_mark, 5,000 × 10 KiB, no sync", 5_000, ("none", 0), {WHOLE: 1.0, INNER: 1.0}),
        _pair("fs_mark, 200 × 10 KiB, fsync", 200, ("inband", 1), {}),
    ]


def _pair(name: str, files: int, sync: tuple[str, int], targets: dict[str, float]) -> Pair:
    """A pair whose syncs are left to the device has no target: they are the device's time."""
    method, number = sync

    def ours(directory: Path) -> Times:
        parameters = {"files": files, "size": 10_240, "sync": method, "keep": "for-good"}
        return Trial(directory, "fs_mark", parameters).times(INNER, "files")

    def theirs(directory: Path) -> Times:
        argv = ["fs_mark", "-d", ".", "-n", str(files), "-s", "10240", "-S", str(number), "-k"]
        spent, printed = timed(argv, directory)
        rate = float(printed.decode().splitlines()[-1].split()[3])
        return {**spent, INNER: 1 / rate}

    return Pair(name, "fs_mark", ours, theirs, ("fs_mark",), targets)
