"""Analyse studies of growing size: time, peak of memory, and whether both grow in proportion.

python -m benchmarks.analysis [--values 10000 100000 1000000] [--directory DIR]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.table import say
from tiltyard.folder import StudyFolder

from .sizes import asked
from .study import write_study

SIZES = (10_000, 100_000, 1_000_000)
LIMIT_S = 3.0
LIMIT_MIB = 1024.0
"""Of the largest of the usual sizes: CPU time of the analysis, and peak of the whole process."""
LINEAR = 1.5
"""Time for a value of the largest study over that of the one before it."""


def main() -> None:
    """Print one line a size, and what was wanted of the largest."""
    sizes, directory = asked(__doc__, "--values", SIZES, "trial values")
    say("                             CPU of                                  elapsed")
    say("   values  comparisons  reading  analysis  a value  findings.json   analysis    memory")
    costs: dict[int, dict[str, float]] = {}
    for size in sizes:
        values, cost = _cost(size, directory)
        costs[values] = cost
        say(
            f"{values:9,}  {cost['comparisons']:11,.0f}  {cost['read_cpu_s']:5.2f} s  "
            f"{cost['cpu_s']:6.2f} s  {1e6 * cost['cpu_s'] / values:4.1f} µs  "
            f"{cost['write_cpu_s']:11.2f} s  {cost['elapsed_s']:7.2f} s  {_mib(cost):4.0f} MiB"
        )
    _verdict(costs)


def _verdict(costs: dict[int, dict[str, float]]) -> None:
    """What was wanted, and whether it was reached."""
    *_, largest = costs
    if largest >= 0.99 * SIZES[-1]:
        cost = costs[largest]
        _judge(f"CPU time of {largest:,} values < {LIMIT_S:g} s", cost["cpu_s"] < LIMIT_S)
        _judge(f"peak memory < {LIMIT_MIB:g} MiB", _mib(cost) < LIMIT_MIB)
    if len(costs) > 1:
        before, last = [costs[values]["cpu_s"] / values for values in list(costs)[-2:]]
        text = f"time for a value {last / before:.2f} times that of the size before ≤ {LINEAR:g}"
        _judge(text, last / before <= LINEAR)


def _judge(wanted: str, reached: bool) -> None:
    say(f"{wanted}: {'reached' if reached else 'NOT REACHED'}")


def _mib(cost: dict[str, float]) -> float:
    return cost["peak_memory_bytes"] / 2**20


def _cost(values: int, directory: Path | None) -> tuple[int, dict[str, float]]:
    """Write a study and analyse it in a process of its own."""
    with tempfile.TemporaryDirectory(dir=directory) as place:
        made = write_study(StudyFolder(Path(place) / "study"), values)
        command = [sys.executable, "-m", "benchmarks.analysis.once", f"{place}/study"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    cost: dict[str, float] = json.loads(done.stdout)
    return made, cost


if __name__ == "__main__":
    main()
