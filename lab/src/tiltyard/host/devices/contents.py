"""What is on a block device: signatures that libblkid knows, and whether its ends are blank.

Nearly everything that keeps something on a device keeps its label in the first or the last
mebibyte, also programs that no library knows. A device counts as blank if no signature is found
and both ends are zero.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

from tiltyard.errors import TiltyardError
from tiltyard.host import commands

END_BYTES = 2**20
_BLKFLSBUF = 0x1261
"""Write back and forget the cached pages of a device, <linux/fs.h>."""
_WHAT = {
    "LVM2_member": "a physical volume of LVM",
    "linux_raid_member": "a member of a RAID (md)",
    "isw_raid_member": "a member of a RAID (Intel)",
    "zfs_member": "a member of a ZFS pool",
    "bcache": "a member of bcache",
    "mpath_member": "a path of a multipath device",
    "crypto_LUKS": "an encrypted volume (LUKS)",
    "BitLocker": "an encrypted volume (BitLocker)",
    "swap": "swap space",
    "gpt": "a partition table (GPT)",
    "PMBR": "a partition table (protective MBR)",
    "dos": "a partition table (MBR)",
}


@dataclass(frozen=True)
class Signature:
    """What says that something is on a device."""

    type: str
    uuid: str
    offset: str

    @property
    def mark(self) -> str:
        """What tells it from others: its UUID; a boot sector or a table has none, but a place."""
        return self.uuid or f"{self.type} at {self.offset}"

    def __str__(self) -> str:
        """As a clause takes it."""
        what = _WHAT.get(self.type, f"a file system or label of type {self.type}")
        known = f" {self.uuid}" if self.uuid else ""
        return f"{what}{known} at byte {int(self.offset, 16)}"


def signatures(node: str) -> list[Signature]:
    """All that libblkid knows, found by wipefs(8), which without ``--all`` only looks.

    Raises:
        TiltyardError: if the device cannot be read.
    """
    said = commands.run(("wipefs", "--json", node)).stdout
    if not said:
        return []
    try:
        found = json.loads(said)["signatures"]
    except (ValueError, KeyError):
        raise TiltyardError(f"wipefs --json {node}: what it says is not understood") from None
    return [Signature(each["type"], each["uuid"] or "", each["offset"]) for each in found]


def ends(size_bytes: int) -> Iterator[tuple[int, int]]:
    """First and last mebibyte as (from, to), the smaller device being one range."""
    if size_bytes <= 2 * END_BYTES:
        yield 0, size_bytes
        return
    yield 0, END_BYTES
    yield size_bytes - END_BYTES, size_bytes


def forget_cache(file: int) -> None:
    """Let the next read see the device: file systems write to it beside its page cache.

    Raises:
        OSError: if the device does not take it.
    """
    fcntl.ioctl(file, _BLKFLSBUF, 0)


def first_written(file: int, size_bytes: int) -> int | None:
    """Place of the first byte of both ends that is not zero; ``None`` if they are blank."""
    for start, end in ends(size_bytes):
        data = os.pread(file, end - start, start)
        if len(data) != end - start:
            raise TiltyardError(f"only {len(data)} bytes can be read at byte {start}")
        if rest := data.lstrip(b"\0"):
            return end - len(rest)
    return None


def blank_ends(file: int, size_bytes: int) -> None:
    """Write zeros over both ends, through to the device."""
    for start, end in ends(size_bytes):
        zeros = memoryview(bytes(end - start))
        while zeros:
            written = os.pwrite(file, zeros, start)
            zeros, start = zeros[written:], start + written
    os.fsync(file)


@contextlib.contextmanager
def opened(node: str, flags: int) -> Iterator[int]:
    """A device, open for as long as the block lasts."""
    file = os.open(node, flags | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)
