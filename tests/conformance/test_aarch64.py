"""The engine for aarch64: built here, packed, and executed by an emulator.

Wants the Rust target, the cross compiler and QEMU: ``rustup target add aarch64-unknown-linux-gnu``,
Debian's gcc-aarch64-linux-gnu and qemu-user-static. Programs are not tried: QEMU 7.2 does not
know how the engine starts them (``CLONE_PIDFD``).
"""

import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from release.python import build_engine, build_wheel
from tiltyard.executors.engine import Engine

pytestmark = pytest.mark.conformance

JOBS = {
    "postmark": {"files": 50, "transactions": 100},
    "iozone": {"file": "1M", "record": "64k"},
    "stream": {"file": "4M"},
    "fs_mark": {"files": 20},
}
"""Workload → parameters; what is read and written follows from them and the seed."""


@pytest.fixture(scope="module")
def foreign() -> Path:
    return build_engine("aarch64-unknown-linux-gnu")


@pytest.fixture(scope="module")
def emulated(foreign: Path) -> tuple[str, ...]:
    emulator = shutil.which("qemu-aarch64-static")
    assert emulator, "apt-get install qemu-user-static"
    return emulator, str(foreign)


def printed(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def ended(engine: tuple[str, ...], workload: str, directory: Path) -> dict[str, Any]:
    """The last line of a trial."""
    job = {
        "protocol": 1,
        "workload": workload,
        "parameters": JOBS[workload],
        "target": {"directory": str(directory)},
    }
    done = subprocess.run(
        (*engine, "run"), input=json.dumps(job), check=True, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1])["data"])


def test_its_wheel_is_for_that_machine(foreign: Path, tmp_path: Path) -> None:
    wheel = build_wheel(foreign, tmp_path)
    assert wheel.name.endswith("-py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("/tiltyard-engine"))
        assert packed.read(name) == foreign.read_bytes()


def test_it_describes_what_the_engine_of_this_host_does(emulated: tuple[str, ...]) -> None:
    native = str(Engine.find().path)
    for word in ("--version", "describe", "schema"):
        assert printed(*emulated, word) == printed(native, word)


@pytest.mark.parametrize("workload", JOBS)
def test_it_reads_and_writes_the_same(
    emulated: tuple[str, ...], workload: str, tmp_path: Path
) -> None:
    engines = (emulated, (str(Engine.find().path),))
    foreign, native = (ended(engine, workload, tmp_path) for engine in engines)
    assert foreign["outcome"] == "done"
    for told in ("operations", "bytes", "checksum", "counters"):
        assert foreign.get(told) == native.get(told), told
    assert foreign["bytes"] > 0
    assert not list(tmp_path.iterdir())
