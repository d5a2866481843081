"""A copy of a device's every byte, and putting the device back to it.

The copy is sparse: where the device has zeros it has holes. Both are read past the page cache, and
a device is put back chunk by chunk: one that is the same is left alone, one that is not is written
and read again. So at the end every byte was read from the device and compared, and the SHA-256 of
them all is the one of the day when the copy was made.
"""

import errno
import fcntl
import hashlib
import mmap
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tiltyard.errors import TiltyardError
from tiltyard.folder import read_all, write_all
from tiltyard.host.place import HERE

_CHUNK = 2**20
_ZEROS = bytes(_CHUNK)
_BLKFLSBUF = 0x1261
"""Forget the cached pages of a device, <linux/fs.h>: somebody may hold it, who has looked."""
_BUSY_TRIES = 80
_BUSY_PAUSE_S = 0.25


def keep(device: str, copy: Path, check: Callable[[], None]) -> str:
    """Copy a device to a file that does not exist; on return it is on disk.

    Args:
        device: nobody may write to it.
        copy: the file.
        check: called between chunks; may raise to stop.

    Returns:
        The SHA-256 of the device, in hex.
    """
    digest = hashlib.sha256()
    with _opened(device, os.O_RDONLY) as (source, size_bytes), copy.open("xb") as target:
        for offset, chunk in _chunks(source, size_bytes, check):
            digest.update(chunk)
            if chunk != _ZEROS[: len(chunk)]:
                write_all(target.fileno(), chunk, offset)
        os.ftruncate(target.fileno(), size_bytes)
        os.fsync(target.fileno())
        os.posix_fadvise(target.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return digest.hexdigest()


def put_back(device: str, copy: Path, sha256: str, check: Callable[[], None]) -> int:
    """Make a device the same as its copy again.

    Returns:
        Bytes that had to be written.

    Raises:
        TiltyardError: if the device does not keep what is written, or has not the size of the copy,
            or the copy is not what was made.
    """
    digest = hashlib.sha256()
    written_bytes = 0
    with _opened(device, os.O_RDWR) as (target, size_bytes), copy.open("rb") as source:
        if os.fstat(source.fileno()).st_size != size_bytes:
            raise TiltyardError(f"{device} has not the size of {copy}")
        again = mmap.mmap(-1, _CHUNK)
        for offset, chunk in _chunks(target, size_bytes, check):
            wanted = bytearray(len(chunk))
            read_all(source.fileno(), wanted, offset)
            digest.update(wanted)
            if chunk != wanted:
                again[: len(wanted)] = wanted
                write_all(target, memoryview(again)[: len(wanted)], offset)
                written_bytes += len(wanted)
                read_all(target, memoryview(again)[: len(wanted)], offset)
                if again[: len(wanted)] != wanted:
                    raise TiltyardError(f"{device} does not keep what is written at byte {offset}")
        os.fsync(target)
        if stat.S_ISBLK(os.fstat(target).st_mode):
            fcntl.ioctl(target, _BLKFLSBUF, 0)
        os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if digest.hexdigest() != sha256:
        raise TiltyardError(f"{copy}: its SHA-256 is not that of the state that was made")
    return written_bytes


@contextmanager
def _opened(device: str, flags: int) -> Iterator[tuple[int, int]]:
    """A device, opened so that it is read itself and not what memory holds of it; its size.

    Nobody else may have it: what was unmounted is let go a moment later, and programs that look
    at every device take each of them for a moment.

    Raises:
        TiltyardError: if somebody keeps it; the message names who.
    """
    for _ in range(_BUSY_TRIES):
        try:
            file = os.open(device, flags | os.O_DIRECT | os.O_EXCL)
            break
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(_BUSY_PAUSE_S)
    else:
        found = HERE.ask(lambda host: host.read(users=[device])).users
        who = found.get(device, "somebody has it")
        raise TiltyardError(f"{device}: cannot be had alone: {who}")
    try:
        yield file, os.lseek(file, 0, os.SEEK_END)
    finally:
        os.close(file)


def _chunks(file: int, size_bytes: int, check: Callable[[], None]) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of each chunk."""
    # Direct I/O wants memory that begins at a page.
    buffer = mmap.mmap(-1, _CHUNK)
    for offset in range(0, size_bytes, _CHUNK):
        check()
        chunk = memoryview(buffer)[: min(_CHUNK, size_bytes - offset)]
        read_all(file, chunk, offset)
        yield offset, bytes(chunk)
