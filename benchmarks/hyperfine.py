"""Commands beside hyperfine: the same estimates, what we add, and how often a difference is false.

python -m benchmarks.hyperfine [--seconds 20] [--pairs 100] [NAME …]

First, real programs: hyperfine and the engine measure the same command in turn, round after round,
ten executions each. Figures are the mean time of an execution, hyperfine's over ours: 1 is equal.
Then A/A pairs, the same command under two names: hyperfine with what it measures by default, and
`tiltyard compare`, one after the other in random order. hyperfine names no winner by a test; its
reader takes bars that do not overlap for a difference, or the ± of its summary.
"""

import contextlib
import io
import json
import math
import os
import random
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tiltyard.cli.commands import Commands
from tiltyard.cli.compare import compare

from .harness import Pair, Times
from .storage.sides import Trial
from .table import asking, say, tabulate, wanted

EXECUTIONS: Final = 10
LINES: Final = 50_000
FILES: Final = 500
ENVIRONMENT: Final = {
    "PATH": os.environ["PATH"],
    "HOME": str(Path.home()),
    "USER": "root",
    "LANG": "C.UTF-8",
}
"""Of hyperfine's commands, as the engine gives it to its own."""
PAIRS: Final[dict[str, tuple[str, str]]] = {
    "grep, sed": ("grep -c 999 {}/numbers", "sed -n /999/p {}/numbers"),
    "gzip, zstd": ("gzip -1 -c {}/numbers", "zstd -1 -q -c {}/numbers"),
    "sort by bytes, by locale": (
        "env LC_ALL=C sort {}/numbers",
        "env LC_ALL=C.UTF-8 sort {}/numbers",
    ),
    "find, ls": ("find {}/tree", "ls -R {}/tree"),
    "mawk, grep": ("mawk /999/ {}/numbers", "grep 999 {}/numbers"),
    "python3, python3 -S": ("python3 -c pass", "python3 -S -c pass"),
    "true": ("true", "true"),
}
"""Six pairs of real programs, and a process that does nothing."""
SAME: Final = "grep -c 999 {}/numbers"


def prepare(data: Path) -> None:
    """What the programs read."""
    numbers = random.Random(48).choices(range(10**6), k=LINES)
    (data / "numbers").write_text("".join(f"{number}\n" for number in numbers))
    for number in range(FILES):
        folder = data / "tree" / str(number % 20)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).touch()


def hyperfine(directory: Path, commands: Sequence[str], *options: str) -> list[dict[str, float]]:
    """What hyperfine says of commands that it executes without a shell."""
    export = directory / "h.json"
    quiet = ("--style", "none", "--output", "pipe", "--export-json", str(export))
    argv = ["hyperfine", "-N", *quiet, *options, *commands]
    subprocess.run(argv, env=ENVIRONMENT, check=True, capture_output=True)
    results: list[dict[str, float]] = json.loads(export.read_text())["results"]
    return results


def of_command(line: str) -> Pair:
    """One command, by the engine and by hyperfine."""

    def ours(directory: Path) -> Times:
        parameters = {"command": line.split(), "executions": EXECUTIONS, "keep": "4k"}
        return {"time": Trial(directory, "program", parameters).operation_s("time")}

    def theirs(directory: Path) -> Times:
        (found,) = hyperfine(directory, [line], "--runs", str(EXECUTIONS))
        return {"time": found["mean"]}

    words = [word for word in line.split() if not word.startswith(("env", "LC_"))]
    name = " ".join(Path(word).name if "/" in word else word for word in words[:3])
    return Pair(f"{name} {'locale' if 'UTF' in line else ''}".strip(), "hyperfine", ours, theirs,
                needs=("hyperfine", words[0]))  # fmt: skip


def aa_pair(line: str, rng: random.Random) -> dict[str, bool]:
    """The same command twice, by each: whose reader is told of a difference."""
    with tempfile.TemporaryDirectory() as name:
        found: dict[str, bool] = {}
        for side in rng.sample((_of_hyperfine, _ours), k=2):
            found |= side(Path(name), line)
    return found


def _of_hyperfine(directory: Path, line: str) -> dict[str, bool]:
    slow, fast = sorted(hyperfine(directory, [line, line]), key=lambda own: -own["mean"])
    ratio = slow["mean"] / fast["mean"]
    spread = ratio * math.hypot(slow["stddev"] / slow["mean"], fast["stddev"] / fast["mean"])
    return {
        "hyperfine, ± that do not overlap": slow["mean"] - slow["stddev"]
        > fast["mean"] + fast["stddev"],
        "hyperfine, ratio beyond its ±": ratio - spread > 1,
        "hyperfine, means that differ by 3 %": ratio > 1.03,
    }


def _ours(directory: Path, line: str) -> dict[str, bool]:
    folder = directory / "study"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        compare(commands=Commands(command=(f"a={line}", f"b={line}")), folder=folder)
    (workload,) = json.loads((folder / "findings.json").read_text())["workloads"]
    (comparison,) = workload["index"]["comparisons"]
    verdict = comparison["verdict"]
    return {
        "tiltyard, faster or slower": verdict in ("faster", "slower"),
        "tiltyard, equivalent": verdict == "equivalent",
    }


def main() -> None:
    """Print both tables."""
    parser = asking(__doc__, seconds=20)
    parser.add_argument("--pairs", type=int, default=100, help="A/A pairs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        prepare(data)
        lines = dict.fromkeys(line.format(data) for pair in PAIRS.values() for line in pair)
        every = [of_command(line) for line in lines]
        tabulate(wanted(options, every), options.seconds, lambda _: data)
        rng = random.Random(20261123)
        pairs = [aa_pair(SAME.format(data), rng) for _ in range(options.pairs)]
    for claim in pairs[0] if pairs else ():
        claimed = sum(pair[claim] for pair in pairs)
        say(f"{claim:<40}  {claimed:>4} of {len(pairs)} A/A pairs")


if __name__ == "__main__":
    main()
