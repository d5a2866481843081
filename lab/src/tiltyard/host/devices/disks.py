"""Block devices under a directory (``/sys/class/block``)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.host.devices import loops
from tiltyard.host.place import HERE, Place

SECTOR_BYTES = 512
"""The unit of ``stat``, whatever the device's own sector is (block/stat.rst of the kernel)."""
_CLASS = Path("/sys/class/block")
DISKS: Final = f"{_CLASS}/*"
"""What exists of them, and where it really is."""
LOOKED_AT: Final = ("/proc/self/mountinfo", f"{_CLASS}/*/partition", "/sys/block/loop*/loop/*")
"""Files that say what a directory lies on."""
_IN_PLACE: Final = frozenset({"ext2", "ext3", "ext4", "xfs", "vfat", "exfat"})


@dataclass(frozen=True)
class Stack:
    """What a directory lies on."""

    disk: Path
    """The whole disk at the bottom, in ``/sys``."""
    loop: Path | None
    """The loop device in between, if there is one."""
    below: str
    """Type of the file system on the disk."""

    @property
    def is_in_place(self) -> bool:
        """Whether that overwrites a file that is laid out where it is."""
        return self.below in _IN_PLACE


def stack_under(directory: Path, place: Place = HERE) -> Stack | None:
    """The devices under a directory; ``None`` where there is no disk (tmpfs, overlay, network)."""
    mount = place.mount_of(directory)
    is_loop = mount.source.startswith("/dev/loop")
    image = loops.backing_file(mount.source, place) if is_loop else None
    if image is None:
        disk = disk_of(mount.source, place)
        return Stack(disk, None, mount.type) if disk else None
    below = place.mount_of(image)
    disk = disk_of(below.source, place)
    return Stack(disk, _CLASS / Path(mount.source).name, below.type) if disk else None


def disk_of(source: str, place: Place = HERE) -> Path | None:
    """The whole disk in ``/sys`` that a mount's source is, or is a partition of."""
    entry = str(_CLASS / source.removeprefix("/dev/").replace("/", "!"))
    if not source.startswith("/dev/") or not (real := place.find_all([entry]).get(entry)):
        return None
    is_partition = place.read(f"{entry}/partition") is not None
    return Path(real).parent if is_partition else Path(real)
