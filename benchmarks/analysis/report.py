"""Report one large study in every format, each in a process of its own: time, memory, size.

python -m benchmarks.analysis.report [--values 100000] [--rounds 5] [--formats html pdf]
                                     [--directory DIR] [--study FOLDER]

Each format is made with its charts drawn anew, and with those that an earlier report has drawn.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness import CPU, WHOLE
from benchmarks.processes import timed
from benchmarks.table import machine, say
from tiltyard.folder import StudyFolder
from tiltyard.report.formats import FORMATS
from tiltyard.report.formats.html import LIMIT_BYTES

from .one_report import ALL
from .study import write_study

VALUES = 100_000
ROUNDS = 5
LIMIT_S = 10.0
"""CPU time of the whole process: start, reading, analysis, composition, one form, writing."""
REPORTING = "reporting_s"
"""CPU time of what comes after the analysis: composition, form, writing."""

Cost = dict[str, float]


def main() -> None:
    """Print a line a format, and whether the limits of time and size were kept."""
    names = [*(form.name for form in FORMATS), ALL]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=VALUES, help="trial values")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="each makes every format once")
    parser.add_argument("--formats", nargs="+", choices=names, default=names[:-1])
    parser.add_argument("--study", type=Path, help="report that one; it is copied")
    parser.add_argument("--directory", type=Path, help="to write the study in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        if options.study:
            shutil.copytree(options.study, Path(place) / "study")
            what = options.study.name
        else:
            what = f"{write_study(StudyFolder(Path(place) / 'study'), options.values):,} values"
        say(f"{what}, {options.rounds} rounds; medians, and from least to most")
        say(machine())
        costs = _costs(Path(place), options.formats, options.rounds)
    say(
        "format          CPU time, whole process   of that the report      elapsed"
        "      memory      size"
    )
    for name, own in costs.items():
        say(f"{name:15} {'   '.join(_figures(own))}")
    say(machine())
    for name, own in costs.items():
        _judge(f"{name}: CPU time < {LIMIT_S:g} s", _median(own, CPU) < LIMIT_S)
    for cost in costs.get("html", [])[:1]:
        size_bytes = cost["size_bytes"]
        _judge(f"page {size_bytes:,} B < {LIMIT_BYTES:,} B", size_bytes < LIMIT_BYTES)


def _costs(place: Path, names: Sequence[str], rounds: int) -> dict[str, list[Cost]]:
    """Every format once a round, in random order: what else the machine does meets all alike."""
    rng = random.Random(20261121)
    # With all charts drawn anew, and with charts that were drawn before.
    made = [(name, kept) for name in names for kept in (False, True)]
    costs: dict[str, list[Cost]] = {_row(*one): [] for one in made}
    for number in range(-1, rounds):
        for name, kept in rng.sample(made, k=len(made)):
            cache = "drawn" if kept else f"anew-{name}-{number}"
            os.environ["XDG_CACHE_HOME"] = str(place / cache)
            module = "benchmarks.analysis.one_report"
            command = (sys.executable, "-m", module, place / "study", name)
            spent, printed = timed(command, Path())
            # The first round is there to draw.
            if number >= 0:
                costs[_row(name, kept)].append({**spent, **json.loads(printed)})
    return costs


def _row(name: str, kept: bool) -> str:
    return f"{name}, drawn" if kept else name


def _figures(costs: Sequence[Cost]) -> Iterator[str]:
    for what, width in ((CPU, 22), (REPORTING, 20), (WHOLE, 20)):
        values = [cost[what] for cost in costs]
        spread = f"{statistics.median(values):.1f} ({min(values):.1f} … {max(values):.1f}) s"
        yield f"{spread:>{width}}"
    yield f"{_median(costs, 'peak_memory_bytes') / 2**20:4.0f} MiB"
    yield f"{_median(costs, 'size_bytes') / 1e6:5.2f} MB"


def _median(costs: Sequence[Cost], what: str) -> float:
    return statistics.median(cost[what] for cost in costs)


def _judge(wanted: str, reached: bool) -> None:
    say(f"{wanted}: {'reached' if reached else 'NOT REACHED'}")


if __name__ == "__main__":
    main()
