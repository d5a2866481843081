"""An image file whose every block is allocated and written before anybody is measured on it.

A sparse image would make whoever writes a block first pay for its allocation in the file system
below. Zeros are therefore written once; and before each turn those ranges are written again that
an earlier turn turned back into holes (btrfs discards what it frees) or into unwritten extents
(mkfs asks the device to zero ranges).
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tiltyard.folder import write_all
from tiltyard.host.devices.extents import extents

_CHUNK = 4 * 2**20
_ZEROS = bytes(_CHUNK)


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
        write_all(file, memoryview(_ZEROS)[: min(_CHUNK, end - offset)], offset)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _gaps(file: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Ranges of a file that are holes or unwritten extents, in order."""
    position = 0
    for extent in extents(file):
        if extent.start > position:
            yield position, extent.start
        if extent.is_unwritten:
            yield extent.start, min(extent.end, size_bytes)
        position = extent.end
        if extent.is_last:
            break
    else:
        return
    if position < size_bytes:
        yield position, size_bytes
