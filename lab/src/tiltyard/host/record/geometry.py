"""The geometry of a file system that was made: what mkfs decided, as its own tool tells it.

Only tools that read are asked: dumpe2fs(8), xfs_info(8), btrfs-inspect-internal(8).
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.host.place import HERE, Place
from tiltyard.host.record.section import ABSENT, Command, fields

_ANSWER_S = 60.0
_COMMANDS: Mapping[str, Command] = {
    **dict.fromkeys(("ext2", "ext3", "ext4"), ("dumpe2fs", "-h")),
    "xfs": ("xfs_info",),
    "btrfs": ("btrfs", "inspect-internal", "dump-super"),
}
_OF_MOUNTED: Mapping[str, Command] = {"xfs": ("xfs_spaceman", "-p", "xfs_info", "-c", "info")}
"""What xfs_info executes in the end, after two programs that look for the mount."""
_EXT = {
    "features": "Filesystem features",
    "inode size": "Inode size",
    "inodes": "Inode count",
    "blocks": "Block count",
    "reserved blocks": "Reserved block count",
    "blocks of a group": "Blocks per group",
    "groups put together": "Flex block group size",
    "journal": "Total journal size",
    "RAID stride": "RAID stride",
    "RAID stripe width": "RAID stripe width",
}
_XFS = ("meta-data", "data", "naming", "log", "realtime")
_WORD = re.compile(r"([\w-]+)=([\w.]+)")
_BTRFS = {
    "checksums": "csum_type",
    "node size": "nodesize",
    "sector size": "sectorsize",
    "devices": "num_devices",
}


def geometry(
    type_: str, device: str, place: Place = HERE, mounted: Path | None = None
) -> dict[str, str]:
    """What mkfs made of a device.

    Args:
        type_: of the file system, as the kernel names it.
        device: ``/dev/loop0``.
        place: where that is.
        mounted: where it is mounted, if that is known.

    Returns:
        A few facts; nothing for file systems without such a tool, and where it may not be asked.
    """
    command = geometry_command(type_, device)
    if command is None:
        return {}
    if mounted and type_ in _OF_MOUNTED:
        command = (*_OF_MOUNTED[type_], str(mounted))
    try:
        told = place.run(command, timeout_s=_ANSWER_S).stdout
        with place.understood():
            return geometry_told(type_, told)
    except (HostLacksError, TiltyardError):
        return geometry_told(type_, "")


def geometry_command(type_: str, device: str) -> Command | None:
    """What tells the geometry of a file system; ``None`` where nothing does."""
    command = _COMMANDS.get(type_)
    return (*command, device) if command else None


def geometry_told(type_: str, text: str) -> dict[str, str]:
    """The facts in what the tool has printed."""
    told = _READERS[type_](text) if text else {}
    return told or {"geometry": ABSENT}


def _ext(text: str) -> dict[str, str]:
    told = fields(text)
    return {fact: " ".join(told[name].split()) for fact, name in _EXT.items() if name in told}


def _xfs(text: str) -> dict[str, str]:
    """``name=value`` words under the heading of each line."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in text.splitlines():
        before, _, _ = line.partition("=")
        if (word := before.split()[0] if before.split() else "") in _XFS:
            heading = word
        words = [f"{name}={value}" for name, value in _WORD.findall(line) if name not in _XFS]
        found.setdefault(heading, []).extend(words)
    return {heading: " ".join(words) for heading, words in found.items() if heading and words}


def _btrfs(text: str) -> dict[str, str]:
    """``name  value`` lines; the names of features stand below the line with their bits."""
    told: dict[str, str] = {}
    features: list[str] = []
    heading = ""
    for line in text.splitlines():
        words = line.split()
        if line.startswith("\t") and heading in ("compat_ro_flags", "incompat_flags"):
            features += re.findall(r"[A-Z][A-Z0-9_]{2,}", line)
        elif len(words) > 1:
            heading = words[0]
            told.setdefault(heading, " ".join(words[1:]))
    found = {fact: told[name] for fact, name in _BTRFS.items() if name in told}
    return {**found, "features": " ".join(dict.fromkeys(features)).lower()} if found else {}


_READERS: Mapping[str, Callable[[str], dict[str, str]]] = {
    **dict.fromkeys(("ext2", "ext3", "ext4"), _ext),
    "xfs": _xfs,
    "btrfs": _btrfs,
}
