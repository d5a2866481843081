"""The original programs, and the engine beside them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from pydantic import JsonValue

from support.strace import Call, trace
from tiltyard.executors.engine import ConditionsWanted, Engine, Job

# Where a person gets each: the Debian package, or where the sources are kept.
_SOURCES = {
    "aio-stress": "its sources are part of autotest's client tests",
    "fs_mark": "apt-get install fsmark",
    "iozone": "apt-get install iozone3, from Debian's non-free section",
    "netperf": "apt-get install netperf, from Debian's non-free section",
    "netserver": "apt-get install netperf, from Debian's non-free section",
    "postmark": "apt-get install postmark",
    "strace": "apt-get install strace",
    "tiotest": "its sources are at https://github.com/mkuoppal/tiobench",
}


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip, and say how to get it, where a program is not on PATH; or strace may not trace."""
    lacking = [name for name in programs if shutil.which(name) is None]
    told = "; ".join(f"{name} is not on PATH ({_SOURCES[name]})" for name in lacking)
    if not lacking and "strace" in programs and not _may_trace():
        told = "strace may not trace here: ptrace(2) is forbidden, as in some containers"
    return pytest.mark.skipif(bool(told), reason=told or "all there")


@cache
def _may_trace() -> bool:
    return subprocess.run(["strace", "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory: what others ask of a disk meanwhile would void a trial in cache."""
    shared = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(prefix="tiltyard-oracle-", dir=shared) as directory:
        yield Path(directory)


def place(parent: Path, name: str) -> Path:
    """A new directory."""
    directory = parent / name
    directory.mkdir()
    return directory


def ours(workload: str, directory: Path, **parameters: Any) -> list[Call]:
    """The calls of the engine on the files of a trial."""
    values: dict[str, JsonValue] = parameters
    job = Job(
        workload=workload,
        parameters=values,
        target=directory,
        conditions=ConditionsWanted(unpinned=True),
    )
    engine = Engine.find().path
    return trace([engine, "run"], directory, standard_input=job.message().decode())
