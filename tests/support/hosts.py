"""Fixtures for tests that change the host: a ledger of their own, and proof that all is as before.

A ``conftest.py`` imports what it wants from here.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

import pytest

from support.looks import read_small
from support.networks import left_behind
from tiltyard.folder import StudyFolder
from tiltyard.host.changes import PREFIX
from tiltyard.host.links import namespace_path
from tiltyard.run import settle

KEPT = {"trusted", "made"}
"""What a state directory has for good: what a person has trusted, and where studies were made."""

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can make loop devices and mount file systems"
)


def host_state(mine: Path) -> str:
    """The table of mounts, what is behind the loop devices, and schedulers that are not usual.

    What others mount meanwhile (another run of Tiltyard, another test, ip(8), ZFS for its counters)
    is left out; ``mine`` is the directory that this test works in.
    """
    loops = sorted(Path("/sys/block").glob("loop*"))
    text = Path("/proc/self/mountinfo").read_text() + "".join(map(_loop, loops))
    foreign = (PREFIX, gettempdir(), str(namespace_path(".")), "/zfs-kstat")
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if str(mine) in line or not any(mark in line for mark in foreign)
    )


def assert_as_before(before: str, mine: Path) -> None:
    """Nothing of ours is left, and everything else is as it was."""
    now = host_state(mine)
    assert str(mine) not in now
    assert now == before


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of ledgers, for this test and the processes that it starts.

    No trial waits for a calm host: other tests use its disks, so that each would wait to the limit.
    """
    directory = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("TILTYARD_STATE", str(directory))
    monkeypatch.setattr(settle, "_LIMIT_S", 0.0)
    return directory


@pytest.fixture(autouse=True)
def nothing_is_left(state: Path, tmp_path: Path) -> Iterator[None]:
    """Whatever a test does, nothing of it is mounted or attached, and no ledger is left."""
    yield
    assert str(tmp_path) not in host_state(tmp_path)
    assert {path.name for path in state.iterdir()} <= KEPT


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that every user comes to; into those of pytest nobody but their owner does."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir="/var/tmp") as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.fixture
def open_folder(state: Path) -> Iterator[StudyFolder]:
    """A study folder that every user can reach, as servers need it; what is trusted is forgotten.

    Nothing of it is left: no mount, no process that works in it or names it.
    """
    with open_directory() as path:
        root = path / "study"
        root.mkdir()
        yield StudyFolder(root)
        assert str(path) not in host_state(root)
        assert left_behind(str(path)) == []
        assert not [one for one in Path("/proc").glob("[0-9]*/cwd") if _leads_to(one, str(path))]
        shutil.rmtree(state / "trusted", ignore_errors=True)


def _leads_to(link: Path, directory: str) -> bool:
    """Whether a process works there; one that has ended meanwhile does not."""
    try:
        return str(link.readlink()).startswith(directory)
    except OSError:
        return False


def _loop(device: Path) -> str:
    """A line of a loop device; empty of one that is as the kernel made it."""
    behind, scheduler = _text(device / "loop/backing_file"), _text(device / "queue/scheduler")
    usual = not behind and "[none]" in scheduler
    return "" if usual else f"{device} {behind.strip()} {scheduler}"


def _text(path: Path) -> str:
    """A file of a loop device; empty if the device was let go meanwhile."""
    try:
        return path.read_text()
    except OSError:
        return ""


def used_s(pids: Iterable[int]) -> float:
    """CPU time that processes and their ended children have used; one that is gone has none.

    Source: fields 14 to 17 of ``/proc/PID/stat``, proc(5).
    """
    stats = (read_small(f"/proc/{pid}/stat") or "" for pid in pids)
    fields = (stat.rpartition(") ")[2].split() for stat in stats)
    return sum(sum(map(int, own[11:15])) for own in fields) / os.sysconf("SC_CLK_TCK")
