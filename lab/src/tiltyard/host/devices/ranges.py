"""Where the bytes of a device are in the end: a range of a file or a disk.

Two loop devices over one file, or a partition and a loop device over its disk, are different
devices to the kernel, and what is written to one is written to the other.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tiltyard.host.devices import loops
from tiltyard.host.devices.block_devices import (
    BY_NUMBER,
    SECTOR_BYTES,
    disk_entry,
    node_of,
    number_holding,
)

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_INFO64 = struct.Struct("=QQQQQ192x")
"""struct loop_info64, <linux/loop.h>: device, inode, number of a block device, offset, limit."""

Base = tuple[int, int] | str
"""A file, by its device and inode, or a device that is no range of another one, by its number."""


@dataclass(frozen=True)
class Range:
    """Bytes of a file or a disk."""

    base: Base
    start: int
    end: int

    def overlaps(self, other: "Range") -> bool:
        """Whether a byte is in both."""
        return self.base == other.base and self.start < other.end and other.start < self.end


def range_of(number: str) -> Range:
    """Where a device lies, through partitions and loop devices.

    Args:
        number: ``major:minor``.

    Raises:
        OSError: if it is gone, or is a loop device that may not be asked.
    """
    size_bytes = int((BY_NUMBER / number / "size").read_text()) * SECTOR_BYTES
    return list(_downwards(number, size_bytes))[-1]


def passed_through(number: str) -> set[str]:
    """Numbers of the devices that a device is a range of, itself among them."""
    return {each.base for each in _downwards(number, 0) if isinstance(each.base, str)}


def lies_on(number: str) -> Iterator[Range]:
    """All that a device lies on: its own range, members, and the device that holds its image."""
    yield range_of(number)
    for passed in passed_through(number):
        entry = (BY_NUMBER / passed).resolve()
        for member in entry.glob("slaves/*"):
            yield from lies_on((member / "dev").read_text().strip())
        image = loops.backing_file(node_of(entry))
        if image is not None and not image.is_block_device():
            holder = number_holding(image)
            if holder is not None:
                yield from lies_on(holder)


def _downwards(number: str, size_bytes: int) -> Iterator[Range]:
    """The same bytes as a range of the device, of its disk, of what is behind that, and so on."""
    base: Base = number
    start = 0
    while True:
        yield Range(base, start, start + size_bytes)
        if not isinstance(base, str):
            return
        entry = (BY_NUMBER / base).resolve()
        if (entry / "partition").exists():
            start += int((entry / "start").read_text()) * SECTOR_BYTES
            base = (disk_entry(entry) / "dev").read_text().strip()
        elif (entry / "loop" / "backing_file").exists():
            base, offset = _behind(node_of(entry))
            start += offset
        else:
            return


def _behind(node: str) -> tuple[Base, int]:
    """What a loop device has behind it, and at which of its bytes it begins.

    The kernel knows the file also where its name has gone, or means another file by now.
    """
    file = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        told = fcntl.ioctl(file, _LOOP_GET_STATUS64, bytes(_LOOP_INFO64.size))
    finally:
        os.close(file)
    device, inode, block, offset, _ = _LOOP_INFO64.unpack(told)
    if block:
        return f"{os.major(block)}:{os.minor(block)}", offset
    return (device, inode), offset
