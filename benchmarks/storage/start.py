"""What the engine costs before it works, beside the work, and in memory."""

import os
import time
from pathlib import Path

from tiltyard.executors.engine import Job

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
        Limit("iozone, 16 MiB records", "beside buffers", "MiB of memory", _memory_mib, 4),
        Limit("engine", "its binary", "MB", lambda _: engine().stat().st_size / 1e6, 8),
    ]


def _start_ms(directory: Path) -> float:
    """From before the process is made to the message that announces the first timed region.

    By posix_spawn: what Python's own ways to start a process take is as long as what is measured.
    """
    parameters = {"file": MIB, "record": 4_096, "tests": ["write"]}
    job = Job(workload="iozone", parameters=parameters, target=directory).message()
    (jobs, job_to), (lines_from, lines) = os.pipe(), os.pipe()
    os.write(job_to, job)
    os.close(job_to)
    ends = [(os.POSIX_SPAWN_DUP2, jobs, 0), (os.POSIX_SPAWN_DUP2, lines, 1)]
    begin_s = time.perf_counter()
    engine_pid = os.posix_spawn(engine(), [str(engine()), "run"], os.environ, file_actions=ends)
    os.close(jobs)
    os.close(lines)
    said, seen_s = b"", None
    while chunk := os.read(lines_from, 1 << 16):
        said += chunk
        if seen_s is None and b'"progress"' in said:
            seen_s = time.perf_counter() - begin_s
    os.close(lines_from)
    os.waitpid(engine_pid, 0)
    if seen_s is None:
        raise RuntimeError("the engine announced no pass")
    return seen_s * 1e3


def _memory_mib(directory: Path) -> float:
    """Peak memory less what is written from and read into."""
    parameters = {"file": 4 * RECORD, "record": RECORD, "tests": ["write", "read"]}
    trial = Trial(directory, "iozone", parameters)
    return (trial.peak_memory_bytes - BUFFERS * RECORD) / MIB
