"""One run at a time in a study folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tiltyard.errors import RefusedError
from tiltyard.folder import StudyFolder, open_to_change, write_all
from tiltyard.ownership import named_in_errors


@contextmanager
def hold_lock(folder: StudyFolder, lock: Path | None = None) -> Iterator[None]:
    """Hold the study folder's lock, or another one in it; the kernel frees it in any case.

    Raises:
        RefusedError: if another run holds it, the message names its process; or if another user
            has a hand in the folder.
    """
    folder.require_own()
    lock = lock or folder.lock
    file = open_to_change(lock)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RefusedError(
                f"{folder.root}: process {_pid(file)} is running this study already"
            ) from None
        with named_in_errors(lock):
            os.ftruncate(file, 0)
            write_all(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def running_pid(folder: StudyFolder) -> int | None:
    """The process that runs this study now, if there is one."""
    try:
        file = os.open(folder.lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid(file)
    finally:
        os.close(file)
    return None


def _pid(file: int) -> int:
    """The holder's pid; 0 in the instant before it is written, and where it is damaged."""
    told = os.pread(file, 32, 0)
    return int(told) if told.isdigit() else 0
