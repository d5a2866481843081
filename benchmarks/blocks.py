"""What is around the programs of a block, and how much of a study is measurement.

python -m benchmarks.blocks [--rounds 5] [--before CHECKOUT] [--engine FILE] [--directory DIR]

`tiltyard compare` measures two commands of some milliseconds: the time from one block to the next,
less that of all executions in it, and the CPU time of one more block, less theirs. Then two
directories are compared by trials of 1 s and of 5 s: the share of the whole command that lies
inside their timed regions. With `--before`, another checkout with an engine in its `.venv` does the
same, in turn. Of the agent that executes trials: the time from its start to the first line of its
first trial, from a job to the first line of a later one, and its resident memory while it waits.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from .harness import CPU, median_interval
from .processes import spending
from .table import machine, say

BLOCKS = 20
LINES = 40_000
"""gzip -1 takes some 5 ms for so many."""
TRIALS = 10
"""Of an agent that is watched."""
LONG_BLOCKS = 7
SECONDS = (1, 5)
STUDY = """\
question = "How much of a study is measurement?"
[factors]
directory = {{ a = "{0}/a", b = "{0}/b" }}
[[workload]]
use = "random"
file = "16M"
runtime_s = {1}
[precision]
blocks = {2}
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

    def run(self, *words: str | Path, cwd: Path) -> float:
        """Seconds that the command takes."""
        own = {"PYTHONPATH": str(self.root / "lab/src")}
        own["TILTYARD_ENGINE"] = str(self.engine)
        argv = [sys.executable, "-m", "tiltyard", *map(str, words)]
        timed = f"import time, subprocess, sys; b = time.monotonic(); {_CALL}"
        environment = {**os.environ, **own, "TILTYARD_STATE": str(cwd / "state")}
        done = subprocess.run(
            [sys.executable, "-c", timed, *argv],
            cwd=cwd, env=environment, check=False, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stderr}")
        return float(done.stdout.splitlines()[-1])


_CALL = (
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
    "print(time.monotonic() - b); sys.exit(done.returncode)"
)


def entries(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal."""
    for line in (folder / "journal.jsonl").read_text().splitlines():
        yield json.loads(line)


def executed_s(folder: Path, file: str) -> float:
    """Time of all executions of a trial."""
    events = map(json.loads, (folder / file).read_text().splitlines())
    return sum(one["data"]["elapsed_s"] for one in events if one["type"] == "execution")


def around_ms(folder: Path) -> list[float]:
    """Of each block but the first, which has nothing before it: what is around its programs."""
    ends: dict[int, float] = {}
    inside: dict[int, float] = {}
    for entry in entries(folder):
        event = entry["event"]
        if event["type"] == "trial_finished":
            block = event["key"]["block"]
            inside[block] = inside.get(block, 0.0) + executed_s(folder, event["file"])
            ends[block] = entry["t_s"]
    return [1e3 * (ends[now] - ends[last] - inside[now]) for last, now in pairwise(sorted(ends))]


def short(version: Version, place: Path) -> dict[str, float]:
    """Of one comparison, in ms: the median over its blocks, and the CPU time of one more block."""
    commands = [f"-c{name}=gzip -{name} -c {place}/words" for name in "16"]
    cpu_s = []
    for blocks in (BLOCKS // 2, BLOCKS):
        folder = place / f"{blocks}"
        with spending() as spent:
            version.run(
                "compare", "--blocks", str(blocks), "--folder", folder, *commands, cwd=place
            )
        cpu_s.append(spent[CPU] - used_s(folder))
    return {
        "around the programs of a block, ms": statistics.median(around_ms(folder)),
        "the same, CPU time, ms": 1e3 * (cpu_s[1] - cpu_s[0]) / (BLOCKS - BLOCKS // 2),
    }


def used_s(folder: Path) -> float:
    """CPU time of all executions of a comparison."""
    files = (folder / "trials").iterdir()
    events = (json.loads(line) for file in files for line in file.read_text().splitlines())
    used = (one["data"] for one in events if one["type"] == "execution")
    return sum(one["user_s"] + one["system_s"] for one in used)


def measured_share(version: Version, place: Path, seconds: float) -> float:
    """Share of the whole command that is in timed regions."""
    for name in "ab":
        (place / name).mkdir()
    study = place / "study"
    study.mkdir()
    (study / "study.toml").write_text(STUDY.format(place, seconds, LONG_BLOCKS))
    took_s = version.run("run", study, cwd=place)
    measured = [
        event["data"]["elapsed_s"]
        for file in (study / "trials").iterdir()
        for event in map(json.loads, file.read_text().splitlines())
        if event["type"] == "sample" and event["data"]["metric"] == "random_read"
    ]
    return sum(measured) / took_s


def agent(version: Version, place: Path) -> dict[str, float]:
    """An agent of its own, with trials of a program that does nothing."""
    job = {
        "protocol": 1,
        "workload": "program",
        "parameters": {"command": ["true"], "executions": 1},
        "target": {"directory": str(place)},
    }
    request = json.dumps({"run": {"job": json.dumps(job)}}).encode() + b"\n"
    pipe = subprocess.PIPE
    began = time.monotonic()
    waits_ms = []
    with subprocess.Popen([version.engine, "agent"], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(TRIALS):
            process.stdin.write(request)
            process.stdin.flush()
            while not process.stdout.readline().startswith(b'{"type":"hello"'):
                pass
            waits_ms.append(1e3 * (time.monotonic() - began))
            while b'"ended"' not in process.stdout.readline():
                pass
            began = time.monotonic()
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.stdin.close()
    (resident,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return {
        "agent: start to first line, ms": waits_ms[0],
        "agent: job to first line, ms": statistics.median(waits_ms[1:]),
        "agent: resident memory, MiB": int(resident.split()[1]) / 1024,
    }


def rows(versions: list[Version], rounds: int, directory: Path) -> Iterator[str]:
    """A line a figure and version; versions take turns in random order."""
    rng = random.Random(20261123)
    figures: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds):
        for version in rng.sample(versions, k=len(versions)):
            with tempfile.TemporaryDirectory(dir=directory) as name:
                place = Path(name)
                words = (f"{value:06}" for value in rng.choices(range(10**6), k=LINES))
                (place / "words").write_text("\n".join(words))
                own = agent(version, place) if "agent" in version.verbs else {}
                for key, value in {**short(version, place), **own}.items():
                    figures.setdefault((key, version.name), []).append(value)
            for seconds in SECONDS if number == 0 else ():
                with tempfile.TemporaryDirectory(dir=directory) as name:
                    share = measured_share(version, Path(name), seconds)
                    key = f"measurement, trials of {seconds} s, %"
                    figures.setdefault((key, version.name), []).append(100 * share)
    for (what, name), values in figures.items():
        low, high = median_interval(values)
        median = statistics.median(values)
        yield f"{what:<40}{name:<8}{median:8.1f} ({low:.1f} … {high:.1f})  {len(values)} rounds"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="comparisons of each version")
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
    for row in rows(versions, options.rounds, directory):
        say(row)
    say(machine())


if __name__ == "__main__":
    main()
