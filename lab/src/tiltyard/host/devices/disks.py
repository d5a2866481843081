"""Block devices under a directory, and what went through them (``/sys/class/block``)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tiltyard.host.devices import loops
from tiltyard.host.mounts import mount_of

SECTOR_BYTES = 512
"""The unit of ``stat``, whatever the device's own sector is (block/stat.rst of the kernel)."""
_CLASS = Path("/sys/class/block")


@dataclass(frozen=True)
class Traffic:
    """Bytes that a device moved."""

    read_bytes: int
    written_bytes: int

    @classmethod
    def of(cls, device: Path) -> Self | None:
        """Since the device was made; ``None`` if it has gone."""
        try:
            fields = (device / "stat").read_text().split()
        except OSError:
            return None
        return cls(int(fields[2]) * SECTOR_BYTES, int(fields[6]) * SECTOR_BYTES)

    def since(self, before: "Traffic") -> "Traffic":
        """What was added."""
        return Traffic(
            self.read_bytes - before.read_bytes, self.written_bytes - before.written_bytes
        )

    @property
    def both_bytes(self) -> int:
        """Either way."""
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True)
class Stack:
    """What a directory lies on."""

    disk: Path
    """The whole disk at the bottom, in ``/sys``."""
    loop: Path | None
    """The loop device in between, if there is one."""
    below: str
    """Type of the file system on the disk."""


def stack_under(directory: Path) -> Stack | None:
    """The devices under a directory; ``None`` where there is no disk (tmpfs, overlay, network)."""
    mount = mount_of(directory)
    image = loops.backing_file(mount.source) if mount.source.startswith("/dev/loop") else None
    if image is None:
        disk = disk_of(mount.source)
        return Stack(disk, None, mount.type) if disk else None
    below = mount_of(image)
    disk = disk_of(below.source)
    return Stack(disk, _CLASS / Path(mount.source).name, below.type) if disk else None


def disk_of(source: str) -> Path | None:
    """The whole disk in ``/sys`` that a mount's source is, or is a partition of."""
    entry = _CLASS / Path(source).name
    if not source.startswith("/dev/") or not entry.exists():
        return None
    resolved = entry.resolve()
    return resolved.parent if (resolved / "partition").exists() else resolved
