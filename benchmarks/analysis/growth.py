"""How the cost of a report grows with each thing that a study may have many of.

python -m benchmarks.analysis.growth [--only workloads ...] [--directory DIR]
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.table import machine, say
from tiltyard.folder import StudyFolder

from .study import Shape, write_shape

EXPONENT_MAX: Final = 1.1
"""Of CPU time, between the last two sizes, without that of the smallest study."""
_SMALLEST: Final = Shape(systems=2, blocks=6)


def _pairs(shape: Shape) -> int:
    return shape.systems * (shape.systems - 1) // 2


GROWN: Final[dict[str, tuple[Sequence[Shape], Callable[[Shape], int]]]] = {
    "workloads": (
        [Shape(systems=3, blocks=8, workloads=n) for n in (5, 50, 500)],
        lambda shape: shape.workloads,
    ),
    "pairs": ([Shape(systems=n) for n in (20, 60, 200)], _pairs),
    "points": (
        [Shape(systems=3, points=n) for n in (100, 1_000, 5_000)],
        lambda shape: shape.points,
    ),
    "trials": (
        [Shape(systems=2, workloads=50, blocks=n) for n in (10, 100, 1_000)],
        lambda shape: shape.trials,
    ),
}
"""What is grown → the studies, and how much of it each has."""


def main() -> None:
    """Print a line a size, and the exponent of the last two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=GROWN, default=list(GROWN), help="what grows")
    parser.add_argument("--directory", type=Path, help="to write the studies in")
    options = parser.parse_args()
    say(machine())
    start_s, start_mib = _cost(_SMALLEST, options.directory)
    say(f"smallest study: {start_s:.1f} s of CPU, {start_mib:.0f} MiB")
    for name in options.only:
        shapes, amount = GROWN[name]
        costs = {}
        for shape in shapes:
            costs[amount(shape)], mib = _cost(shape, options.directory)
            say(f"{amount(shape):9,} {name:10} {costs[amount(shape)]:7.1f} s of CPU {mib:6.0f} MiB")
        (few, before_s), (many, last_s) = [*costs.items()][-2:]
        # Below a tenth of a second it is noise that grows.
        grown = max(last_s - start_s, 0.1) / max(before_s - start_s, 0.1)
        exponent = math.log(grown) / math.log(many / few)
        reached = "reached" if exponent <= EXPONENT_MAX else "NOT REACHED"
        say(f"{name}: exponent {exponent:.2f} ≤ {EXPONENT_MAX:g}: {reached}")
    say(machine())


def _cost(shape: Shape, directory: Path | None) -> tuple[float, float]:
    """Of a report with all its pictures drawn anew: CPU time in s, peak of memory in MiB."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        write_shape(StudyFolder(Path(place) / "study"), shape)
        process = subprocess.Popen(
            [sys.executable, "-m", "tiltyard", "report", f"{place}/study"],
            env={**os.environ, "XDG_CACHE_HOME": f"{place}/cache"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"tiltyard report: exit status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
