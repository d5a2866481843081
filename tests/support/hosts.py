"""Fixtures for tests that change the host: a ledger of their own, and proof that all is as before.

A ``conftest.py`` imports what it wants from here.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiltyard.host.changes import PREFIX

_OTHERS_END_S = 20.0

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can make loop devices and mount file systems"
)


def host_state(mine: Path) -> str:
    """The table of mounts, what is behind the loop devices, and their schedulers.

    What another run of Tiltyard has mounted outside the directory ``mine`` is left out.
    """
    loops = Path("/sys/block")
    files = sorted([*loops.glob("loop*/loop/backing_file"), *loops.glob("loop*/queue/scheduler")])
    text = Path("/proc/self/mountinfo").read_text() + "".join(f"{p} {_text(p)}" for p in files)
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if PREFIX not in line or str(mine) in line)


def assert_as_before(before: str, mine: Path) -> None:
    """Nothing of ours is left, now; and the host as a whole is as it was.

    Other tests may mount something of their own at the same time, so the whole is given a while.
    """
    assert str(mine) not in host_state(mine)
    give_up = time.monotonic() + _OTHERS_END_S
    while host_state(mine) != before and time.monotonic() < give_up:
        time.sleep(0.1)
    assert host_state(mine) == before


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of ledgers, for this test and the processes that it starts."""
    directory = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("TILTYARD_STATE", str(directory))
    return directory


@pytest.fixture(autouse=True)
def nothing_is_left(state: Path, tmp_path: Path) -> Iterator[None]:
    """Whatever a test does, nothing of it is mounted or attached, and no ledger is left."""
    yield
    assert str(tmp_path) not in host_state(tmp_path)
    assert not list(state.iterdir())


def _text(path: Path) -> str:
    """A file of a loop device; empty if the device was let go meanwhile."""
    try:
        return path.read_text()
    except OSError:
        return ""
