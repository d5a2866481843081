"""An image file whose every block is allocated and written before anybody is measured on it.

A sparse image would make whoever writes a block first pay for its allocation in the file system
below. Zeros are therefore written once; and before each turn those ranges are written again that
an earlier turn turned back into holes (btrfs discards what it frees) or into unwritten extents
(mkfs asks the device to zero ranges).
"""

import fcntl
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

_CHUNK = 4 * 2**20
_ZEROS = bytes(_CHUNK)

# struct fiemap and struct fiemap_extent, <linux/fiemap.h>.
_FS_IOC_FIEMAP = 0xC020660B
_HEADER = struct.Struct("=QQIIII")
_EXTENT = struct.Struct("=QQQQQIIII")
_BATCH = 256
_LAST = 0x1
_UNWRITTEN = 0x800


def lay_out(path: Path, size_bytes: int, check: Callable[[], None]) -> None:
    """Make an image file of zeros, written through to the device.

    Args:
        path: must not exist.
        size_bytes: size of the image.
        check: called between chunks; may raise to stop.

    Raises:
        OSError: if there is no room for it.
    """
    with path.open("xb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
        _write_zeros(file.fileno(), 0, size_bytes, check)


def restore_layout(path: Path, check: Callable[[], None]) -> int:
    """Write zeros wherever the image is not written; the image must not be attached.

    Returns:
        Bytes that had to be written; 0 where the file system below cannot tell.
    """
    file = os.open(path, os.O_RDWR)
    try:
        size_bytes = os.fstat(file).st_size
        gaps = list(_gaps(file, size_bytes))
        for start, end in gaps:
            _write_zeros(file, start, end, check)
        return sum(end - start for start, end in gaps)
    finally:
        os.close(file)


def _write_zeros(file: int, start: int, end: int, check: Callable[[], None]) -> None:
    """Zeros in a range, synced; the page cache does not keep them."""
    for offset in range(start, end, _CHUNK):
        check()
        chunk = memoryview(_ZEROS)[: min(_CHUNK, end - offset)]
        while chunk:
            written = os.pwrite(file, chunk, offset)
            chunk, offset = chunk[written:], offset + written
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _gaps(file: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Ranges of a file that are holes or unwritten extents, in order."""
    position = 0
    for start, length, flags in _extents(file):
        if start > position:
            yield position, start
        if flags & _UNWRITTEN:
            yield start, min(start + length, size_bytes)
        position = start + length
        if flags & _LAST:
            break
    else:
        return
    if position < size_bytes:
        yield position, size_bytes


def _extents(file: int) -> Iterator[tuple[int, int, int]]:
    """Start, length and flags of each extent; nothing where there is no FIEMAP (tmpfs)."""
    position = 0
    while True:
        request = bytearray(_HEADER.size + _BATCH * _EXTENT.size)
        _HEADER.pack_into(request, 0, position, 2**64 - 1 - position, 0, 0, _BATCH, 0)
        try:
            fcntl.ioctl(file, _FS_IOC_FIEMAP, request)
        except OSError:
            return
        mapped = _HEADER.unpack_from(request)[3]
        for number in range(mapped):
            fields = _EXTENT.unpack_from(request, _HEADER.size + number * _EXTENT.size)
            yield fields[0], fields[2], fields[5]
            position = fields[0] + fields[2]
        if mapped < _BATCH:
            return
