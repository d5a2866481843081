"""Where a file lies on its device: its extents, as the file system tells them (FIEMAP).

Source: Documentation/filesystems/fiemap.rst of the kernel.
"""

import fcntl
import struct
from collections.abc import Iterator
from dataclasses import dataclass

# struct fiemap and struct fiemap_extent, <linux/fiemap.h>.
_FS_IOC_FIEMAP = 0xC020660B
_HEADER = struct.Struct("=QQIIII")
_EXTENT = struct.Struct("=QQQQQIIII")
_BATCH = 256
_LAST = 0x1
_UNWRITTEN = 0x800


@dataclass(frozen=True)
class Extent:
    """A range of a file that lies in one piece."""

    start: int
    """In the file, in bytes."""
    physical: int
    """On the device, in bytes."""
    length: int
    flags: int

    @property
    def end(self) -> int:
        """Where it ends in the file."""
        return self.start + self.length

    @property
    def is_last(self) -> bool:
        """Whether the file has none after it."""
        return bool(self.flags & _LAST)

    @property
    def is_unwritten(self) -> bool:
        """Whether it is allocated and reads as zeros."""
        return bool(self.flags & _UNWRITTEN)


def extents(file: int) -> Iterator[Extent]:
    """The extents of an open file in order; none where there is no FIEMAP (tmpfs)."""
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
            extent = Extent(fields[0], fields[1], fields[2], fields[5])
            yield extent
            position = extent.end
        if mapped < _BATCH:
            return
