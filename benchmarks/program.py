"""What it costs to start a program and to see its end: the engine, hyperfine, a bare loop.

python -m benchmarks.program [--seconds 8] [--directory DIR] [NAME …]

All execute /bin/true, which takes about a millisecond, so that the cost is most of what they see.
Each side gives the median of many executions, and the CPU time that one more takes; sides take
turns in random order.
"""

import functools
import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tiltyard.executors.engine import Job

from .engine import engine
from .harness import CPU, Comparison, Group, Limit, Peer, Times
from .processes import timed
from .table import asking, tabulate, wanted

PROGRAM = "/bin/true"
EXECUTIONS = 150
SEEN = "time that is seen"
SOURCE = Path(__file__).with_name("spawn.c")

Measured = tuple[Times, float]
"""What a process has spent, and the median execution by its own figure, in seconds."""


def comparisons() -> list[Comparison]:
    """What each side sees of an execution, and what the engine adds to one."""
    ours, bare, theirs = (functools.partial(_times, side) for side in (_ours, _bare, _hyperfine))
    peers = (Peer("posix_spawn", bare), Peer("hyperfine -N", theirs))

    def above_bare_ms(directory: Path) -> float:
        """Milliseconds of an execution above one of the bare loop, right after the other."""
        return 1e3 * (ours(directory)[SEEN] - bare(directory)[SEEN])

    return [
        Group("execution of true", ours, peers, needs=("cc", "hyperfine")),
        Limit("execution of true", "seen above bare", "ms", above_bare_ms, 0.3, needs=("cc",)),
    ]


def _times(side: Callable[[Path, int], Measured], directory: Path) -> Times:
    """What is seen, and the CPU time of one more execution, the program's own included."""
    few, _ = side(directory, 2)
    many, seen_s = side(directory, EXECUTIONS + 2)
    return {SEEN: seen_s, CPU: (many[CPU] - few[CPU]) / EXECUTIONS}


def _ours(directory: Path, executions: int) -> Measured:
    """One trial of the engine."""
    parameters = {"command": [PROGRAM], "executions": executions}
    job = Job(workload="program", parameters=parameters, target=directory).message()
    spent, printed = timed([engine(), "run"], directory, job)
    events = [json.loads(line) for line in printed.splitlines()]
    times_s = [one["data"]["elapsed_s"] for one in events if one["type"] == "execution"]
    return spent, statistics.median(times_s)


def _hyperfine(directory: Path, executions: int) -> Measured:
    """Hyperfine without a shell."""
    found = directory / "found.json"
    runs = ["--runs", str(executions), "--export-json", str(found), "--style", "none"]
    spent, _ = timed(["hyperfine", "-N", *runs, PROGRAM], directory)
    return spent, float(json.loads(found.read_text())["results"][0]["median"])


def _bare(directory: Path, executions: int) -> Measured:
    """posix_spawn and waitpid, and nothing else."""
    bare = Path(_compiled().name) / "spawn"
    spent, printed = timed([bare, str(executions), PROGRAM], directory)
    return spent, float(printed)


@functools.cache
def _compiled() -> "tempfile.TemporaryDirectory[str]":
    """A folder with the bare loop, which is gone when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="tiltyard-spawn-")
    compiled = ["cc", "-O2", "-Wall", "-o", f"{folder.name}/spawn", str(SOURCE)]
    subprocess.run(compiled, check=True)
    return folder


def main() -> None:
    """Print the table, and how many figures fell short of their targets."""
    parser = asking(__doc__, seconds=8)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    tabulate(wanted(options, comparisons()), options.seconds, lambda _: options.directory)


if __name__ == "__main__":
    main()
