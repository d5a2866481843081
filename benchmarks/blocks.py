"""What is around the programs of a block, and how much of a study is measurement.

python -m benchmarks.blocks [--rounds 5] [--shares 1] [--equal 0] [--before CHECKOUT] …

`tiltyard compare` measures two commands of some milliseconds: the time from one block to the next,
less that of all executions in it, what of that engines spend between their first line and their
last, and the CPU time of one more block, less theirs. Then two
directories, and as root ext4 and XFS on an image, are compared by trials of 1 s and of 5 s: the
share of the whole command that lies inside their timed regions, and that of the blocks after the
first. With `--equal`, so many studies compare an ext4 with itself: how many name a winner?
With `--before`, another checkout with an engine in its `.venv` does the same, in turn. Of the
runner that executes trials of `gzip -1`: what each further execution adds, and the trial beside
them; the time from its start to the first line of its first trial, from a job to the first line of
a later one, and its resident memory while it waits.
"""

import argparse
import fcntl
import itertools
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from .harness import CPU, median_interval, told
from .processes import spending
from .table import machine, say

BLOCKS = 20
LINES = 40_000
"""gzip -1 takes some 5 ms for so many."""
TRIALS = 20
"""Of a runner that is watched, of one execution and of more."""
FURTHER = 10
"""Executions that the others have more."""
PIPE_BYTES = 1 << 20
LONG_BLOCKS = 7
SECONDS = (1, 5)
DIRECTORIES = 'directory = { a = "a", b = "b" }'
IMAGES = 'filesystem = ["ext4", "xfs"]'
STUDY = """\
question = "How much of a study is measurement?"
[factors]
{}
[[workload]]
use = "random"
file = "16M"
runtime_s = {}
[precision]
blocks = {}
[noise]
disturbed = "keep"
"""


@dataclass(frozen=True)
class Version:
    """A checkout that is measured."""

    name: str
    root: Path
    engine: Path

    @property
    def verbs(self) -> str:
        """Help of its engine."""
        help_ = subprocess.run([self.engine, "--help"], capture_output=True, text=True, check=True)
        return help_.stdout

    def execute(
        self, argv: Sequence[str | Path], cwd: Path, **own: str
    ) -> subprocess.CompletedProcess[str]:
        """Execute a command with its engine and a state directory in ``cwd``."""
        own = {"TILTYARD_ENGINE": str(self.engine), "TILTYARD_STATE": str(cwd / "state"), **own}
        environment = {**os.environ, **own}
        done = subprocess.run(
            argv, cwd=cwd, env=environment, check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{argv}: {done.stderr}")
        return done

    def run(self, *words: str | Path, cwd: Path) -> float:
        """Seconds that the command takes."""
        argv = [sys.executable, "-m", "tiltyard", *map(str, words)]
        timed = f"import time, subprocess, sys; b = time.monotonic(); {_CALL}"
        done = self.execute(
            [sys.executable, "-c", timed, *argv], cwd, PYTHONPATH=str(self.root / "lab/src")
        )
        return float(done.stdout.splitlines()[-1])


_CALL = (
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
    "print(time.monotonic() - b); sys.exit(done.returncode)"
)


def entries(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal."""
    for line in (folder / "journal.jsonl").read_text().splitlines():
        yield json.loads(line)


@dataclass
class Spent:
    """What the trials of a block have spent."""

    executions: int = 0
    executed_s: float = 0.0
    """In programs."""
    engine_s: float = 0.0
    """In the engine, from its first line to its last, less that."""
    ended_s: float = 0.0
    """When the last of them was written down."""


def blocks_of(folder: Path) -> list[Spent]:
    """What each block has spent, in order."""
    found: dict[int, Spent] = {}
    for entry in entries(folder):
        event = entry["event"]
        if event["type"] == "trial_finished":
            block = found.setdefault(event["key"]["block"], Spent())
            said = [*map(json.loads, (folder / event["file"]).read_text().splitlines())]
            times_s = [one["data"]["elapsed_s"] for one in said if one["type"] == "execution"]
            (end,) = (one["data"] for one in said if one["type"] == "end")
            block.executions += len(times_s)
            block.executed_s += sum(times_s)
            block.engine_s += end["elapsed_s"] - sum(times_s)
            block.ended_s = entry["t_s"]
    return [found[number] for number in sorted(found)]


def around_ms(folder: Path) -> dict[str, float]:
    """What is around the programs of a block, and its parts: medians.

    Of each block but the first, which has nothing before it.
    """
    blocks = blocks_of(folder)
    around_s = [now.ended_s - last.ended_s - now.executed_s for last, now in pairwise(blocks)]
    engine_s = [block.engine_s for block in blocks[1:]]
    rest_s = [around - engine for around, engine in zip(around_s, engine_s, strict=True)]
    return {
        "around the programs of a block, ms": 1e3 * statistics.median(around_s),
        "- in engines, first to last line, ms": 1e3 * statistics.median(engine_s),
        "- in the lab, starts and ends, ms": 1e3 * statistics.median(rest_s),
        "executions of a block": statistics.median(block.executions for block in blocks[1:]),
    }


def around(version: Version, place: Path) -> dict[str, float]:
    """Of one comparison, in ms: the median over its blocks, and the CPU time of one more block."""
    commands = [f"-c{name}={shlex.join(gzip(place, name))}" for name in "16"]
    cpu_s = []
    for blocks in (BLOCKS // 2, BLOCKS):
        folder = place / f"{blocks}"
        with spending() as spent:
            version.run(
                "compare", "--blocks", str(blocks), "--folder", folder, *commands, cwd=place
            )
        cpu_s.append(spent[CPU] - used_s(folder))
    return {
        **around_ms(folder),
        "the same, CPU time, ms": 1e3 * (cpu_s[1] - cpu_s[0]) / (BLOCKS - BLOCKS // 2),
        **(runner(version, place) if "runner" in version.verbs else {}),
    }


def gzip(place: Path, level: str) -> list[str]:
    """A command of some milliseconds; makes its input."""
    words = (f"{value:06}" for value in random.Random(20261123).choices(range(10**6), k=LINES))
    (place / "words").write_text("\n".join(words))
    return ["gzip", f"-{level}", "-c", f"{place}/words"]


def used_s(folder: Path) -> float:
    """CPU time of all executions of a comparison."""
    files = (folder / "trials").iterdir()
    events = (json.loads(line) for file in files for line in file.read_text().splitlines())
    used = (one["data"] for one in events if one["type"] == "execution")
    return math.fsum(one["user_s"] + one["system_s"] for one in used)


def study(version: Version, place: Path, factors: str, seconds: float) -> tuple[Path, float]:
    """Carry one out: its folder, and the seconds that it takes."""
    folder = place / "study"
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY.format(factors, seconds, LONG_BLOCKS))
    return folder, version.run("run", folder, cwd=place)


def shares(
    version: Version, place: Path, *, head: str, factors: str, seconds: float
) -> dict[str, float]:
    """Shares in % that are in timed regions: of the whole command, of all blocks but the first."""
    folder, took_s = study(version, place, factors, seconds)
    ends: list[tuple[int, float]] = []
    measured_s: list[float] = []
    for entry in entries(folder):
        if (event := entry["event"])["type"] == "trial_finished":
            ends.append((event["key"]["block"], entry["t_s"]))
            measured_s.append(sample_s(folder / event["file"]))
    first = max(number for number, (block, _) in enumerate(ends) if block == ends[0][0])
    return {
        f"{head}: share of the command, %": 100 * sum(measured_s) / took_s,
        f"{head}: share of later blocks, %": 100
        * sum(measured_s[first + 1 :])
        / (ends[-1][1] - ends[first][1]),
    }


def sample_s(file: Path) -> float:
    """Time of the timed regions of a trial."""
    events = map(json.loads, file.read_text().splitlines())
    samples = (one["data"] for one in events if one["type"] == "sample")
    return math.fsum(one["elapsed_s"] for one in samples if one["metric"] == "random_read")


def claims(version: Version, place: Path, *, seed: int = 0) -> dict[str, bool]:
    """Whether the study of equal systems of the conformance tests names a winner."""
    argv = (sys.executable, "-c", _EQUAL, place / "study", str(seed))
    paths = f"{version.root / 'lab/src'}:{version.root / 'tests'}"
    done = version.execute(argv, place, PYTHONPATH=paths)
    return {"equal systems: a difference is claimed": done.stdout.split()[-1] == "True"}


_EQUAL = """
import pathlib, sys
from conformance.test_equal_systems import names_a_winner
print(names_a_winner(pathlib.Path(sys.argv[1]), int(sys.argv[2])))
"""


def runner(version: Version, place: Path) -> dict[str, float]:
    """A runner of its own, with trials of one execution and of eleven, in turn."""
    pipe = subprocess.PIPE
    began = time.monotonic()
    first_line_s: list[float] = []
    around_s: dict[int, list[float]] = {1: [], FURTHER + 1: []}
    command = gzip(place, "1")
    with subprocess.Popen([version.engine, "runner"], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        for executions in (1, FURTHER + 1) * TRIALS:
            process.stdin.write(_request(command, executions, place))
            process.stdin.flush()
            _until(process.stdout, b'{"type":"hello"')
            first_line_s.append(time.monotonic() - began)
            said = _until(process.stdout, b'"ended"')
            took_s = time.monotonic() - began
            events = (json.loads(line) for line in said if line.startswith(b'{"type":"execution"'))
            around_s[executions].append(took_s - sum(one["data"]["elapsed_s"] for one in events))
            began = time.monotonic()
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.stdin.close()
    (resident,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    one_s, many_s = map(statistics.median, (around_s[1][1:], around_s[FURTHER + 1][1:]))
    further_ms = 1e3 * (many_s - one_s) / FURTHER
    return {
        "runner: around one more execution, ms": further_ms,
        "runner: around a trial beside them, ms": 1e3 * one_s - further_ms,
        "runner: start to first line, ms": 1e3 * first_line_s[0],
        "runner: job to first line, ms": 1e3 * statistics.median(first_line_s[1:]),
        "runner: resident memory, MiB": int(resident.split()[1]) / 1024,
    }


def _request(command: Sequence[str], executions: int, place: Path) -> bytes:
    """A line that asks a runner for a trial, as the lab does for brief ones."""
    job = {
        "protocol": 1,
        "workload": "program",
        "parameters": {"command": command, "executions": executions},
        "target": {"directory": str(place)},
        "conditions": {"watched": True},
    }
    return json.dumps({"run": {"job": json.dumps(job)}}).encode() + b"\n"


def _until(lines: Iterable[bytes], words: bytes) -> list[bytes]:
    """The lines up to one that has them."""
    said = []
    for line in lines:
        said.append(line)
        if words in line:
            return said
    raise RuntimeError(f"the runner has ended before it printed {words.decode()}")


Measure = Callable[[Version, Path], Mapping[str, float]]
"""Figures of a version, found in an empty directory; of type bool: a claim that is counted."""


def measures(options: argparse.Namespace) -> Iterator[tuple[int, Measure]]:
    """How often each is asked, and what it is."""
    yield options.rounds, around
    kinds = {"directories": DIRECTORIES} | ({"images": IMAGES} if os.geteuid() == 0 else {})
    for seconds, (kind, factors) in itertools.product(SECONDS, kinds.items()):
        yield options.shares, partial(shares, head=f"{kind}, {seconds} s", factors=factors,
                                      seconds=seconds)  # fmt: skip
    for seed in range(options.equal):
        yield 1, partial(claims, seed=seed)


def rows(versions: list[Version], options: argparse.Namespace, directory: Path) -> Iterator[str]:
    """A line a figure and version; versions take turns in random order."""
    rng = random.Random(20261123)
    figures: dict[tuple[str, str], list[float]] = {}
    asked = list(measures(options))
    for number in range(max(times for times, _ in asked)):
        for measure in (measure for times, measure in asked if number < times):
            for version in rng.sample(versions, k=len(versions)):
                with tempfile.TemporaryDirectory(dir=directory) as name:
                    for key, value in measure(version, Path(name)).items():
                        figures.setdefault((key, version.name), []).append(value)
    for (what, name), values in figures.items():
        if isinstance(values[0], bool):
            yield f"{what:<40}{name:<8}{sum(values):6} of {len(values)}"
            continue
        figure = f"{statistics.median(values):8.1f} ({told(median_interval(values), 1)})"
        yield f"{what:<40}{name:<8}{figure}  {len(values)} rounds"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="comparisons of each version")
    parser.add_argument("--shares", type=int, default=1, help="studies of each kind and length")
    parser.add_argument("--equal", type=int, default=0, help="studies of equal systems (root)")
    parser.add_argument("--before", type=Path, help="another checkout, with an engine")
    parser.add_argument("--engine", type=Path, help="of both; by default each has its own")
    parser.add_argument("--directory", type=Path, help="where the studies are")
    options = parser.parse_args()
    roots = {"now": Path(__file__).resolve().parents[1]}
    if options.before:
        roots["before"] = options.before.resolve()
    versions = [
        Version(name, root, options.engine or root / ".venv/bin/tiltyard-engine")
        for name, root in roots.items()
    ]
    directory = options.directory or Path(tempfile.gettempdir())
    say(machine())
    for row in rows(versions, options, directory):
        say(row)
    say(machine())


if __name__ == "__main__":
    main()
