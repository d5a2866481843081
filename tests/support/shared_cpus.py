"""The processes that share the tests share the CPUs as well.

A study that says nothing of isolation keeps others off the CPU that measures, for as long as it
runs: meanwhile all other tests would have the other CPUs, and two such runs with ledgers of their
own would not know of each other. It does not where a task of somebody else is bound to that very
CPU (:func:`tiltyard.host.isolation.isolate_if_harmless`): here is one. Tests of isolation leave
it out of account, or ask for what they want.
"""

import os
import subprocess
from typing import Final

import pytest

_HOLDS: Final = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Bind a task that sleeps until this process lets go of a pipe, and is nobody's child."""
    cpus = sorted(os.sched_getaffinity(0))
    if hasattr(config, "workerinput") or len(cpus) < 2:
        return
    reads, config.stash[_HOLDS] = os.pipe()
    line = f"setsid taskset -c {cpus[-1]} cat <&{reads} >/dev/null 2>&1 &"
    subprocess.run(("sh", "-c", line), pass_fds=[reads], check=True)
    os.close(reads)


def pytest_unconfigure(config: pytest.Config) -> None:
    """It ends with its input."""
    if (holds := config.stash.get(_HOLDS, None)) is not None:
        os.close(holds)
