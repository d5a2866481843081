"""What the engine costs before it works, beside the work, and in memory."""

import subprocess
import time
from pathlib import Path
from subprocess import PIPE

from tiltyard.executors.engine import Job

from ..harness import Comparison, Limit
from .sides import ENGINE, Trial

MIB = 1 << 20
RECORD = 16 * MIB
BUFFERS = 2


def comparisons() -> list[Comparison]:
    """Start, memory and size."""
    return [
        Limit("iozone", "exec to first pass", "ms", _start_ms, 1),
        Limit("iozone, 16 MiB records", "beside buffers", "MiB of memory", _memory_mib, 4),
        Limit("engine", "its binary", "MB", lambda _: ENGINE.stat().st_size / 1e6, 8),
    ]


def _start_ms(directory: Path) -> float:
    """From before the process is made to the message that announces the first timed region."""
    parameters = {"file": MIB, "record": 4_096, "tests": ["write"]}
    job = Job(workload="iozone", parameters=parameters, target=directory).message()
    seen_s = None
    begin = time.perf_counter()
    with subprocess.Popen([ENGINE, "run"], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(job)
        process.stdin.close()
        for line in process.stdout:
            if seen_s is None and b'"progress"' in line:
                seen_s = time.perf_counter() - begin
    if seen_s is None:
        raise RuntimeError("the engine announced no pass")
    return seen_s * 1e3


def _memory_mib(directory: Path) -> float:
    """Peak memory less what is written from and read into."""
    parameters = {"file": 4 * RECORD, "record": RECORD, "tests": ["write", "read"]}
    trial = Trial(directory, "iozone", parameters)
    return (trial.peak_memory_bytes - BUFFERS * RECORD) / MIB
