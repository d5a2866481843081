"""What stands on either side of a pair: the engine, and other people's programs."""

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiltyard.executors.engine import ConditionsWanted, Engine, Job
from tiltyard.wire import EndEvent, SampleEvent, read_events

from .harness import WHOLE

ENGINE = Engine.find().path
LIMIT_S = 300


class Trial:
    """One job, executed by the engine without pinning, as its peers are."""

    def __init__(self, directory: Path, workload: str, parameters: dict[str, Any]) -> None:
        """Run it to its end."""
        unpinned = ConditionsWanted(unpinned=True)
        job = Job(
            workload=workload, parameters=parameters, directory=directory, conditions=unpinned
        )
        self.whole_s, answer = timed([ENGINE, "run"], directory, job.message())
        self.events = list(read_events(answer.splitlines()))

    def operation_s(self, metric: str) -> float:
        """Time per operation of the one sample of a metric."""
        (sample,) = [
            event.data
            for event in self.events
            if isinstance(event, SampleEvent) and event.data.metric == metric
        ]
        return sample.elapsed_s / sample.operations

    def times(self, what: str, metric: str) -> dict[str, float]:
        """The whole process, and what the engine itself has measured."""
        return {WHOLE: self.whole_s, what: self.operation_s(metric)}

    @property
    def peak_memory_bytes(self) -> int:
        """Peak resident memory of the engine."""
        (end,) = [event.data for event in self.events if isinstance(event, EndEvent)]
        return end.usage.peak_memory_bytes


def timed(argv: Sequence[str | Path], directory: Path, given: bytes = b"") -> tuple[float, bytes]:
    """Wall time of a whole process, in seconds, and what it printed."""
    begin = time.perf_counter()
    done = subprocess.run(
        argv, cwd=directory, input=given, capture_output=True, check=False, timeout=LIMIT_S
    )
    elapsed_s = time.perf_counter() - begin
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"{argv[0]}: exit status {done.returncode}: {said}")
    return elapsed_s, done.stdout


def fio(directory: Path, *options: str) -> dict[str, float]:
    """Cached reads by fio's plain system calls, by fio's own figure.

    The file of 256 MiB is laid out by fio before and stays in the page cache.
    """
    argv = ["fio", "--name=peer", f"--directory={directory}", "--size=256m", "--invalidate=0"]
    engine = ["--ioengine=psync", "--loops=8", "--output-format=json"]
    _, answer = timed([*argv, *engine, *options], directory)
    read = json.loads(answer)["jobs"][0]["read"]
    return {"per operation": read["runtime"] / 1e3 / read["total_ios"]}
