"""What the engine costs before it works, beside the work, and in memory."""

import os
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile

from tiltyard.executors.engine import Job
from tiltyard.executors.runner import Runners
from tiltyard.executors.runner import Trial as Executed

from ..engine import engine
from ..harness import Comparison, Limit
from .sides import Trial

MIB = 1 << 20
RECORD = 16 * MIB
BUFFERS = 2


def comparisons() -> list[Comparison]:
    """Start, memory and size."""
    return [
        Limit("iozone", "exec to first pass", "ms", _start_ms, 1),
        Limit("iozone, by a runner", "job to first pass", "ms", _by_a_runner_ms, 1),
        Limit("iozone, 16 MiB records", "beside buffers", "MiB of memory", _memory_mib, 4),
        Limit("engine", "its binary", "MB", lambda _: engine().stat().st_size / 1e6, 8),
    ]


def _job(directory: Path) -> bytes:
    parameters = {"file": MIB, "record": 4_096, "tests": ["write"]}
    return Job(workload="iozone", parameters=parameters, target=directory).message()


def _start_ms(directory: Path) -> float:
    """From before the process is made to the message that announces the first timed region.

    By posix_spawn: what Python's own ways to start a process take is as long as what is measured.
    """
    (jobs, job_to), (lines_from, lines) = os.pipe(), os.pipe()
    os.write(job_to, _job(directory))
    os.close(job_to)
    ends = [(os.POSIX_SPAWN_DUP2, jobs, 0), (os.POSIX_SPAWN_DUP2, lines, 1)]
    begin_s = time.perf_counter()
    pid = os.posix_spawn(engine(), [str(engine()), "run"], os.environ, file_actions=ends)
    os.close(jobs)
    os.close(lines)
    with os.fdopen(lines_from, "rb") as output:
        seen_ms = _first_pass_ms(begin_s, output)
    os.waitpid(pid, 0)
    return seen_ms


def _by_a_runner_ms(directory: Path) -> float:
    """The same from before a job is handed to a runner that has executed one before."""
    with closing(Runners()) as runners, TemporaryFile() as keep:
        runner = runners.of((str(engine()),))
        for _ in Executed(runner, _job(directory), keep).lines():
            pass
        begin_s = time.perf_counter()
        return _first_pass_ms(begin_s, Executed(runner, _job(directory), keep).lines())


def _first_pass_ms(begin_s: float, lines: Iterable[bytes]) -> float:
    """When it was announced; the rest is read, too."""
    seen_s = None
    for line in lines:
        if seen_s is None and b'"progress"' in line:
            seen_s = time.perf_counter() - begin_s
    if seen_s is None:
        raise RuntimeError("the engine announced no pass")
    return seen_s * 1e3


def _memory_mib(directory: Path) -> float:
    """Peak memory less what is written from and read into."""
    parameters = {"file": 4 * RECORD, "record": RECORD, "tests": ["write", "read"]}
    trial = Trial(directory, "iozone", parameters)
    return (trial.peak_memory_bytes - BUFFERS * RECORD) / MIB
