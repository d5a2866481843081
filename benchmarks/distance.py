"""What the distance to another host costs: turns there on a long link, beside a short one.

python -m benchmarks.distance [--rounds 3] [--delay-ms 100] [--trials 10]

Needs root. The other host is this one, reached by a command in the place of ssh that passes each
byte on, in both directions, after half of the delay. On it a file system of 64 MiB is made for each
turn, so many trials are executed in it, and it is taken down. The same study is run on both links
in turn. What the distance costs is told in seconds a turn and in exchanges, each of which takes one
delay. The memory of ours there is read all the time: the sum of proportional set sizes (PSS) of the
agent, the runner and the trial, which has the buffers of its workload.
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
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from .harness import median_interval, told
from .hosts import pss_kib
from .table import machine, say

BLOCKS = 6
STUDY = """\
question = "How far is it?"
[systems]
kind = "loop-image"
host = "far"
backing = {{ image = "64M" }}
[factors]
filesystem = ["ext4", "ext2"]
{workloads}
[precision]
blocks = {blocks}
[noise]
disturbed = "keep"
reference_run = "0%"
"""
WORKLOAD = """\
[[workload]]
name = "w{number}"
use = "random"
file = "4M"
operations = 2000
"""
SSH = """\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
shift
cd {home} && exec {python} {link} {delay_s} "$*"
"""
"""In the place of ssh: its options and the host are left out."""


class Found(NamedTuple):
    """Of one run."""

    first_s: float
    """From the command to the first trial."""
    turn_s: float
    """From the first trial of a turn to that of the next one; the median."""
    pss_kib: float
    """The median."""
    most_kib: int


def run(delay_s: float, trials: int) -> Found:
    """A study on a host that is so far away."""
    with tempfile.TemporaryDirectory() as name:
        study, home, ssh = (Path(name) / part for part in ("study", "home", "ssh"))
        for path in (study, home):
            path.mkdir()
        known = {
            "home": home,
            "python": sys.executable,
            "link": Path(__file__).with_name("link.py").resolve(),
        }
        ssh.write_text(SSH.format(**known, delay_s=delay_s / 2))
        ssh.chmod(0o755)
        workloads = "".join(WORKLOAD.format(number=number) for number in range(trials))
        (study / "study.toml").write_text(STUDY.format(workloads=workloads, blocks=BLOCKS))
        environment = {**os.environ, "PATH": f"{name}:{os.environ['PATH']}"}
        argv = [sys.executable, "-m", "tiltyard", "run", str(study), "--trust", "--quiet"]
        began = time.time()
        with (Path(name) / "said").open("wb") as said:
            process = subprocess.Popen(argv, env=environment, stdout=said, stderr=said)
            there_kib = []
            while process.poll() is None:
                there_kib.append(_ours_kib(home))
                time.sleep(0.05)
        if process.returncode:
            raise RuntimeError((Path(name) / "said").read_text())
        (journal,) = study.rglob("journal.jsonl")
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
    begun = [line for line in lines if line["event"]["type"] == "trial_started"]
    at = [datetime.fromisoformat(line["at"]).timestamp() for line in begun]
    turns = [last - first for first, last in pairwise(at[::trials])]
    there_kib = [one for one in there_kib if one]
    memory = statistics.median(there_kib), max(there_kib)
    return Found(at[0] - began, statistics.median(turns), *memory)


def _ours_kib(home: Path) -> int:
    """Of the processes that were started below a directory."""
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                is_ours = str(home) in str((entry / "exe").readlink())
            except OSError:
                continue
            total += pss_kib(int(entry.name)) if is_ours and words[0] else 0
    return total


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distance", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delay-ms", type=float, default=100)
    parser.add_argument("--trials", type=int, default=10, help="of a turn")
    given = parser.parse_args()
    say(machine())
    rng, delay_s = random.Random(20261130), given.delay_ms / 1e3
    found = {each: list[Found]() for each in (0.0, delay_s)}
    for _ in range(given.rounds):
        for each in rng.sample([*found], k=2):
            found[each].append(run(each, given.trials))
    for each, runs in found.items():
        first, turn = ([one[part] for one in runs] for part in (0, 1))
        say(
            f"{1e3 * each:.0f} ms: {statistics.median(first):.2f} s to the first trial "
            f"({told(median_interval(first), 2)}), {statistics.median(turn):.2f} s a turn of "
            f"{given.trials} trials ({told(median_interval(turn), 2)}); ours there "
            f"{statistics.median(one.pss_kib for one in runs) / 1024:.1f} MiB, "
            f"{max(one.most_kib for one in runs) / 1024:.1f} at most"
        )
    for part, what in ((1, "a turn"), (0, "up to the first trial")):
        near, far = found.values()
        lost = [one[part] - other[part] for one, other in zip(far, near, strict=True)]
        middle = statistics.median(lost)
        say(
            f"lost to the distance, {what}: {middle:.2f} s ({min(lost):.2f} … {max(lost):.2f}), "
            f"{middle / delay_s:.1f} exchanges"
        )


if __name__ == "__main__":
    main()
