"""Run every benchmark: the engine and a peer in turn, paired ratios with their spread.

python benchmarks/run.py [--rounds 9] [--directory DIR]
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiltyard.executors.engine import Engine
from tiltyard.wire import PROTOCOL

ENGINE = Engine.find().path


@dataclass(frozen=True)
class Pair:
    """Our side and a peer's side of the same work; each returns seconds of wall time."""

    name: str
    peer: str
    """Program that must be on PATH."""
    ours: Callable[[Path], float]
    theirs: Callable[[Path], float]


def timed(argv: list[str], directory: Path, standard_input: str) -> float:
    """Wall time of a whole process."""
    begin = time.perf_counter()
    subprocess.run(
        argv, cwd=directory, input=standard_input, text=True, check=True, capture_output=True
    )
    return time.perf_counter() - begin


def postmark(buffering: bool) -> Pair:
    """20,000 transactions over 1,000 files, as PostMark's own script and as a job."""
    on = str(buffering).lower()
    script = f"set number 1000\nset transactions 20000\nset buffering {on}\nrun\nquit\n"
    parameters = {"files": 1000, "transactions": 20000, "buffering": buffering}

    def ours(directory: Path) -> float:
        job = {
            "protocol": PROTOCOL,
            "workload": "postmark",
            "parameters": parameters,
            "target": {"directory": str(directory)},
            "conditions": {"unpinned": True},
        }
        return timed([str(ENGINE), "run"], directory, json.dumps(job))

    def theirs(directory: Path) -> float:
        return timed(["postmark"], directory, script)

    return Pair(f"postmark, 20,000 transactions, buffering {on}", "postmark", ours, theirs)


def measure(pair: Pair, rounds: int, directory: Path, rng: random.Random) -> list[float]:
    """The peer's time over ours in each round: above 1 we are faster."""
    ratios = []
    for _ in range(rounds):
        seconds: dict[str, float] = {}
        sides = [("ours", pair.ours), ("theirs", pair.theirs)]
        rng.shuffle(sides)
        for side, work in sides:
            with tempfile.TemporaryDirectory(dir=directory) as place:
                seconds[side] = work(Path(place))
        ratios.append(seconds["theirs"] / seconds["ours"])
    return ratios


def main() -> None:
    """Print one line a pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    rng = random.Random(20261121)
    for pair in (postmark(True), postmark(False)):
        if shutil.which(pair.peer) is None:
            sys.stdout.write(f"{pair.name}: {pair.peer} is not installed, left out\n")
            continue
        ratios = measure(pair, options.rounds, options.directory, rng)
        sys.stdout.write(
            f"{pair.name}: {statistics.median(ratios):.2f} × {pair.peer}'s speed "
            f"({min(ratios):.2f} … {max(ratios):.2f}, {len(ratios)} rounds)\n"
        )


if __name__ == "__main__":
    main()
