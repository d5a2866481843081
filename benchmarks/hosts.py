"""A study on many hosts: the time it takes beside one host, and what hundreds cost the controller.

python -m benchmarks.hosts [--rounds 5] [--hosts 10] [--runners 200]

All hosts are this one, each reached by a command in the place of ssh: as many servers of ssh would
share our CPUs, which those of real hosts do not. The workload sleeps, for the same reason.

First the same 20 blocks on one host and on so many take turns; the blocks of each host are to take
as long as so many of the single one. Then so many runners carry out a
study at once. What is told of it is the CPU time and the memory of the lab's processes, and of
those alone: memory is the sum of their proportional set sizes (PSS), so that what they share counts
once.
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
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from .harness import median_interval, told
from .table import machine, say

BLOCKS = 20
SLEEP_S = 5.0
LONG_S = 40.0
"""A trial of the many: short beside most that measure something; the first ones last until the
last ones have begun."""
BLOCKS_OF_MANY = 2
SYSTEMS = 2
STUDY = """\
question = "How long does it take?"
[factors]
build = {{ old = {{ s = "{s}" }}, new = {{ s = "{s}" }} }}
[[workload]]
use = "program"
command = ["sleep", "{{s}}"]
executions = 1
[precision]
blocks = {blocks}
[noise]
disturbed = "keep"
reference_run = "0%"
"""
HERE = """\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
shift
cd {home} && exec sh -c "$*"
"""
"""In the place of ssh: its options and the host are left out."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(place: Path, text: str, hosts: int) -> Iterator["subprocess.Popen[bytes]"]:
    """A study that is carried out in a folder of its own, by so many hosts or by this one."""
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder, home, ssh = (Path(name) / part for part in ("study", "home", "ssh"))
        for path in (folder, home):
            path.mkdir()
        ssh.write_text(HERE.format(home=home))
        ssh.chmod(0o755)
        if hosts > 1:
            text += f"[placement]\nhosts = {json.dumps([f'n{n}' for n in range(hosts)])}\n"
        (folder / "study.toml").write_text(text)
        environment = {**os.environ, "TILTYARD_STATE": f"{name}/state"}
        environment["PATH"] = f"{name}:{environment['PATH']}"
        argv = [sys.executable, "-m", "tiltyard", "run", str(folder), "--trust", "--quiet"]
        with (Path(name) / "said").open("wb") as said:
            process = subprocess.Popen(argv, env=environment, stdout=said, stderr=said)
            yield process
            if process.wait():
                raise RuntimeError((Path(name) / "said").read_text())


def took_s(place: Path, hosts: int) -> tuple[float, float]:
    """Seconds from the command to its end, and from the first trial to the last."""
    began = time.monotonic()
    with running(place, STUDY.format(s=SLEEP_S, blocks=BLOCKS // hosts), hosts) as process:
        process.wait()
        took = time.monotonic() - began
        at = [
            datetime.fromisoformat(line["at"])
            for journal in place.rglob("journal.jsonl")
            for line in map(json.loads, journal.read_text().splitlines())
            if line["event"]["type"].startswith("trial_")
        ]
    return took, (max(at) - min(at)).total_seconds()


def beside_one(place: Path, hosts: int, rounds: int) -> Iterator[str]:
    """The same blocks on one host and on many, in turn."""
    rng = random.Random(20261123)
    found = {count: list[tuple[float, float]]() for count in (1, hosts)}
    for _ in range(rounds):
        for count in rng.sample([*found], k=len(found)):
            found[count].append(took_s(place, count))
    for count, both in found.items():
        asleep = BLOCKS // count * SYSTEMS * SLEEP_S
        times, trials = ([each[part] for each in both] for part in (0, 1))
        yield (
            f"{BLOCKS} blocks, {count} hosts: {statistics.median(times):.1f} s "
            f"({min(times):.1f} … {max(times):.1f}); from the first trial to the last "
            f"{statistics.median(trials):.1f} s ({min(trials):.1f} … {max(trials):.1f}), of which "
            f"{asleep:g} s asleep"
        )
    for part, what in ((0, "time"), (1, "time from the first trial to the last")):
        ratios = [one[part] / many[part] for one, many in zip(*found.values(), strict=True)]
        middle = statistics.median(ratios)
        yield f"{what}, one host by {hosts}: {middle:.2f} ({told(median_interval(ratios), 2)})"


def of_many(place: Path, runners: int) -> str:
    """What the lab spends while so many runners carry out trials."""
    text = STUDY.format(s=LONG_S, blocks=BLOCKS_OF_MANY)
    began, cpu_s, most_kib, at_once = time.monotonic(), dict[int, float](), 0, 0
    with running(place, text, runners) as process:
        while process.poll() is None:
            parents = dict(_tree(process.pid))
            words = {pid: _words(pid) for pid in parents}
            lab = [pid for pid in parents if b"tiltyard" in words[pid]]
            cpu_s |= {pid: _cpu_s(pid) or cpu_s.get(pid, 0.0) for pid in lab}
            most_kib = max(most_kib, sum(map(pss_kib, lab)))
            # A trial is a fork of its runner.
            engines = {pid for pid in parents if words[pid][1:2] == [b"runner"]}
            at_once = max(at_once, sum(parents[pid] not in engines for pid in engines))
            time.sleep(1)
    elapsed_s = time.monotonic() - began
    trials = runners * BLOCKS_OF_MANY * SYSTEMS
    used_s = sum(cpu_s.values())
    return (
        f"{at_once} runners at once, {trials} trials of {LONG_S:g} s in {elapsed_s:.0f} s: the lab "
        f"took {used_s:.0f} s of CPU time ({used_s / elapsed_s:.2f} CPUs, "
        f"{1e3 * used_s / trials:.0f} ms a trial) and {most_kib / 1024:.0f} MiB at most"
    )


def _tree(pid: int, parent: int = 0) -> Iterator[tuple[int, int]]:
    """A process and all below it, each with the one that made it."""
    yield pid, parent
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child), pid)
    except OSError:
        return


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return _TICK_S * (int(fields[11]) + int(fields[12]))


def pss_kib(pid: int) -> int:
    """Proportional set size of a process; 0 if it is not there."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=10, help="as many divide 20; 0: left out")
    parser.add_argument("--runners", type=int, default=200, help="0: left out")
    given = parser.parse_args()
    say(machine())
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if given.hosts:
            for line in beside_one(place, given.hosts, given.rounds):
                say(line)
        if given.runners:
            say(of_many(place, given.runners))


if __name__ == "__main__":
    main()
