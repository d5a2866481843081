"""Files of a study folder appear whole, together, or not at all."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from tiltyard import folder
from tiltyard.folder import write_together, write_whole

NEW = {"findings.json": b"new", "report/index.html": b"new"}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with an earlier report."""
    for name in NEW:
        write_whole(tmp_path / name, b"old")
    return tmp_path


def contents(root: Path) -> dict[str, bytes]:
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def test_all_files_are_replaced(old: Path) -> None:
    write_together(old, NEW)
    assert contents(old) == NEW


@pytest.mark.parametrize("cause", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_ends_in_the_middle_leaves_every_file_as_it_was(
    old: Path, cause: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def fill(handle: int) -> None:
        synced.append(handle)
        if len(synced) == len(NEW):
            raise cause

    monkeypatch.setattr(folder.os, "fsync", fill)
    with pytest.raises(type(cause)):
        write_together(old, NEW)
    assert contents(old) == dict.fromkeys(NEW, b"old")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "report").touch()
    with pytest.raises(OSError, match="report") as error:
        write_together(tmp_path, NEW)
    assert error.value.filename == str(tmp_path / "report")
    assert contents(tmp_path) == {"report": b""}


def test_two_writers_take_turns(old: Path) -> None:
    handle = os.open(old, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    second = threading.Thread(target=write_together, args=(old, NEW))
    second.start()
    try:
        second.join(timeout=0.2)
        assert contents(old) == dict.fromkeys(NEW, b"old")
    finally:
        os.close(handle)
    second.join()
    assert contents(old) == NEW
