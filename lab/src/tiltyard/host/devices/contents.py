"""What is on a block device: signatures that libblkid knows, and whether it is blank.

A device counts as blank if no signature is found and all that is looked at is zero:
:mod:`tiltyard.host.devices.places`.
"""

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tiltyard.errors import TiltyardError
from tiltyard.frozen import read_json
from tiltyard.host import commands
from tiltyard.host.devices.places import END_BYTES, Part, data_of, looked_at

_BLKFLSBUF = 0x1261
"""Write back and forget the cached pages of a device, <linux/fs.h>."""
_BLKZEROOUT = 0x127F
_CHUNK = 2**20
_ZEROS = bytes(_CHUNK)
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
        found = read_json(said)["signatures"]
    except (ValueError, KeyError):
        raise TiltyardError(f"wipefs --json {node}: what it says is not understood") from None
    return [Signature(each["type"], each["uuid"] or "", each["offset"]) for each in found]


def forget_cache(file: int) -> None:
    """Let the next read see the device: file systems write to it beside its page cache.

    Raises:
        OSError: if the device does not take it.
    """
    fcntl.ioctl(file, _BLKFLSBUF, 0)


def first_written(file: int, parts: Iterable[Part]) -> int | None:
    """Place of a byte that is not zero, the first one in some parts; ``None`` if they are blank.

    Raises:
        TiltyardError: if a part cannot be read whole.
    """
    parts = list(parts)
    for start, end in parts if len(parts) > 1 else ():
        os.posix_fadvise(file, start, end - start, os.POSIX_FADV_WILLNEED)
    for start, end in parts:
        for at in range(start, end, _CHUNK):
            data = os.pread(file, min(_CHUNK, end - at), at)
            if len(data) != min(_CHUNK, end - at):
                raise TiltyardError(f"only {len(data)} bytes can be read at byte {at}")
            if data != _ZEROS[: len(data)]:
                return at + len(data) - len(data.lstrip(b"\0"))
    return None


def make_blank(file: int, size_bytes: int) -> None:
    """Make zero what is looked at, through to the device; the first mebibyte last.

    So what says whose it is goes last, and a kill in between leaves what is known as ours. Of a
    loop device all data go, whatever their size: its file is not let go, but reads as zeros.
    """
    data = data_of(file)
    parts = looked_at(file, size_bytes) if data is None else data
    cut = [(0, min(END_BYTES, size_bytes))]
    rest = [(max(start, END_BYTES), end) for start, end in parts if end > END_BYTES]
    for start, end in (*reversed(rest), *cut):
        if end - start <= _CHUNK and first_written(file, [(start, end)]) is None:
            continue
        fcntl.ioctl(file, _BLKZEROOUT, struct.pack("=QQ", start, end - start))
        os.fsync(file)
    forget_cache(file)


@contextlib.contextmanager
def opened(node: str, flags: int) -> Iterator[int]:
    """A device, open for as long as the block lasts."""
    file = os.open(node, flags | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)
