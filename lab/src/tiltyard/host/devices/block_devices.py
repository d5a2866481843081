"""Block devices by what stays the same when names and numbers change; looks only.

``/dev/sdb`` is whichever disk the kernel found second. A disk is known by its serial number or
its world wide name, a partition by its identifier in the table, a loop device by the file behind
it; sysfs and ``lsblk`` (util-linux, which asks udev where there is one) tell them.
"""

import os
import stat
from pathlib import Path
from typing import Self

from tiltyard.errors import RefusedError
from tiltyard.frozen import Frozen, read_json
from tiltyard.host import commands
from tiltyard.host.devices import loops
from tiltyard.host.mounts import mount_of
from tiltyard.units import format_size

BY_NUMBER = Path("/sys/dev/block")
SECTOR_BYTES = 512
"""The unit of ``size`` in sysfs, whatever the device's own sector is."""


class BlockDevice(Frozen):
    """One device, as it is at this moment."""

    given: Path
    """The name under which a person asked for it."""
    node: str
    """The kernel's own name: ``/dev/sdb``."""
    number: str
    """``major:minor``."""
    size_bytes: int
    model: str | None = None
    firmware: str | None = None
    serial: str | None = None
    wwn: str | None = None
    partuuid: str | None = None
    backing_file: Path | None = None

    def __str__(self) -> str:
        """As a person would check it: name, model, serial and size."""
        serial = f"serial {self.serial}" if self.serial else ""
        behind = f"over {self.backing_file}" if self.backing_file else ""
        size = f"{format_size(self.size_bytes)}, {self.size_bytes} bytes"
        node = self.node if self.node != str(self.given) else ""
        said = ", ".join(filter(None, (node, self.model, serial, behind, size)))
        return f"{self.given} ({said})"

    @classmethod
    def at(cls, given: Path) -> Self:
        """The device of that name.

        Raises:
            RefusedError: if there is none, or it is no block device.
        """
        entry = BY_NUMBER / number_of(given)
        if not entry.exists():
            raise RefusedError(f"{given}: the kernel has no such device any more")
        entry = entry.resolve()
        node = node_of(entry)
        disk = disk_entry(entry)
        size_bytes = int(_text(entry / "size") or 0) * SECTOR_BYTES
        of_disk = _lsblk(node_of(disk)) if size_bytes else {}
        return cls(
            given=given,
            node=node,
            number=_text(entry / "dev") or "",
            size_bytes=size_bytes,
            model=of_disk.get("model"),
            firmware=of_disk.get("rev") or _text(disk / "device/firmware_rev"),
            serial=of_disk.get("serial") or _text(disk / "serial") or _text(disk / "device/serial"),
            wwn=of_disk.get("wwn") or _text(disk / "wwid") or _text(disk / "device/wwid"),
            partuuid=_lsblk(node).get("partuuid") if size_bytes and disk != entry else None,
            backing_file=loops.backing_file(node),
        )

    @property
    def entry(self) -> Path:
        """Its directory in ``/sys``, by number."""
        return (BY_NUMBER / self.number).resolve()

    @property
    def parts(self) -> dict[str, Path]:
        """It and its partitions: number → directory in ``/sys``."""
        entry = self.entry
        found = [entry, *sorted(mark.parent for mark in entry.glob("*/partition"))]
        return {number: part for part in found if (number := _text(part / "dev"))}


def number_of(path: Path) -> str:
    """``major:minor`` of a device node.

    Raises:
        RefusedError: if there is none, or it is no block device.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    if not stat.S_ISBLK(status.st_mode):
        raise RefusedError(f"{path}: is not a block device")
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def number_under(path: Path) -> str | None:
    """:func:`number_of`, or ``None``."""
    try:
        return number_of(path)
    except RefusedError:
        return None


def node_at(number: str) -> str:
    """The kernel's own name of the device of a number."""
    return node_of((BY_NUMBER / number).resolve())


def node_of(entry: Path) -> str:
    """The kernel's own name of a device in ``/sys``, where a slash is written ``!``."""
    return f"/dev/{entry.name.replace('!', '/')}"


def disk_entry(entry: Path) -> Path:
    """Of a partition in ``/sys`` its disk; anything else is one itself."""
    return entry.parent if (entry / "partition").exists() else entry


def number_holding(file: Path) -> str | None:
    """Number of the device whose file system a file is in; none for those in memory.

    The source of the mount is asked, because btrfs has numbers of its own for its files.
    """
    return number_under(Path(mount_of(file).source))


def _lsblk(node: str) -> dict[str, str | None]:
    """What ``lsblk`` says of a device alone; what it does not know is left out."""
    columns = ("--nodeps", "--json", "--output", "MODEL,SERIAL,WWN,REV,PARTUUID")
    try:
        said = read_json(commands.run(("lsblk", *columns, node)).stdout)
    except ValueError:
        return {}
    found = said["blockdevices"]
    return {name: value.strip() for name, value in found[0].items() if value} if found else {}


def _text(path: Path) -> str | None:
    """A small file of ``/sys`` that says something."""
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None
