"""What a directory lies on: mount, partition, mapped and loop devices, down to the disks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tiltyard.host.mounts import Mount, mount_over, parse_mounts
from tiltyard.host.place import HERE
from tiltyard.host.record.look import look
from tiltyard.host.record.section import RecordRequest, Section, Seen

DISK_UNDER_TEST: Final = "disk under test"
"""Name of the fact that tells which disk a system lies on in the end."""
CLASS = "/sys/class/block"
_MOUNTS = "/proc/self/mountinfo"

FILES = (
    _MOUNTS,
    *(f"{CLASS}/*/{name}" for name in ("dev", "partition", "dm/name", "md/level")),
    f"{CLASS}/loop*/loop/backing_file",
)
LINKS = (f"{CLASS}/*", f"{CLASS}/*/slaves/*")


def mount_seen(seen: Seen, directory: Path) -> Mount | None:
    """The mount that a directory of that host lies on."""
    return mount_over(parse_mounts(seen.files.get(_MOUNTS, "")), directory)


def device_of(seen: Seen, mount: Mount) -> str | None:
    """Name in ``/sys/class/block`` of what is mounted; ``None`` if that is no block device."""
    for path, number in seen.files.items():
        if number == mount.device and path.startswith(CLASS) and path.endswith("/dev"):
            return path.split("/")[-2]
    return _named(seen, mount.source)


def layers(seen: Seen, device: str) -> Iterator[tuple[str, str]]:
    """A device and all below it, topmost first.

    Yields:
        Name of a device, and what it is: ``disk``, ``partition``, ``loop device over a file on
        ext4``, ``mapped device``, ``RAID 5``.
    """
    at = f"{CLASS}/{device}"
    if backing := seen.files.get(f"{at}/loop/backing_file"):
        mount = mount_seen(seen, Path(backing.removesuffix(" (deleted)")))
        yield device, f"loop device over a file on {mount.type if mount else 'nothing'}"
        below = device_of(seen, mount) if mount else None
        yield from layers(seen, below) if below and below != device else ()
        return
    members = seen.names(f"{at}/slaves")
    if f"{at}/partition" in seen.files:
        yield device, "partition"
        members = [Path(seen.links[at]).parent.name]
    elif level := seen.files.get(f"{at}/md/level"):
        yield device, f"RAID ({level})"
    elif members:
        yield device, f"mapped device {seen.files.get(f'{at}/dm/name', '')}".strip()
    else:
        yield device, "disk"
    for member in members:
        yield from layers(seen, member)


def disks_under(seen: Seen, device: str) -> list[str]:
    """The disks at the bottom, each once."""
    return list(dict.fromkeys(name for name, what in layers(seen, device) if what == "disk"))


def through(seen: Seen, device: str) -> str:
    """The way down in words: ``loop device over a file on ext4, partition, disk sda``."""
    words = [f"disk {name}" if what == "disk" else what for name, what in layers(seen, device)]
    return ", ".join(words)


def disks_below(where: str | Path) -> str:
    """The disks under a device or a directory of this host, and what is in between.

    Args:
        where: ``/dev/loop0``, or a directory.

    Returns:
        ``vda, through a loop device over a file on ext4``; empty where there is no disk.
    """
    seen = look((Section("stack", lambda _: {}, FILES, LINKS),), RecordRequest(), HERE)
    if isinstance(where, str):
        device: str | None = Path(where).name
    else:
        real = HERE.find_all([str(where)]).get(str(where), where)
        mount = mount_seen(seen, Path(real))
        device = device_of(seen, mount) if mount else None
    if device is None or not (disks := disks_under(seen, device)):
        return ""
    between = [f"a {what}" for _, what in layers(seen, device) if what != "disk"]
    return ", ".join(disks) + (f", through {' and '.join(between)}" if between else "")


def _named(seen: Seen, source: str) -> str | None:
    """A source such as ``/dev/sda1`` or ``/dev/mapper/root``."""
    if not source.startswith("/dev/"):
        return None
    name = Path(source).name
    if f"{CLASS}/{name}" in seen.links:
        return name
    mapped = (
        path for path, text in seen.files.items() if path.endswith("/dm/name") and text == name
    )
    return next((path.split("/")[-3] for path in mapped), None)
