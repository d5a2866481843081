"""Programs that are run to their end: what they spend, and what they print."""

import os
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .harness import CPU, WHOLE

LIMIT_S = 300

Words = Sequence[str | os.PathLike[str]]
"""A command line."""


@contextmanager
def spending() -> Iterator[dict[str, float]]:
    """What a process spends that is started and waited for inside.

    All its time, and how long it kept a CPU busy.
    """
    spent: dict[str, float] = {}
    busy_s, begin = _busy_s(), time.perf_counter()
    yield spent
    spent[WHOLE] = time.perf_counter() - begin
    spent[CPU] = _busy_s() - busy_s


def _busy_s() -> float:
    """CPU time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(argv: Words, directory: Path, given: bytes = b"") -> tuple[dict[str, float], bytes]:
    """What a whole process spent, and what it printed."""
    with spending() as spent:
        done = subprocess.run(
            argv, cwd=directory, input=given, capture_output=True, check=False, timeout=LIMIT_S
        )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"{argv[0]}: exit status {done.returncode}: {said}")
    return spent, done.stdout
