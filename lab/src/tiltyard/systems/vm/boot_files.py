"""Kernel, initramfs and root of an operating system, found on its disk without mounting it.

Read with debugfs(8), which needs neither root nor a loop device; so what is read must lie on ext2,
ext3 or ext4, on a partition or on the whole disk.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.errors import HostLacksError
from tiltyard.host import commands
from tiltyard.host.commands import CommandFailedError

_KERNEL: Final = "vmlinuz-"
_INITRAMFS: Final = ("initrd.img-{}", "initramfs-{}.img", "initrd-{}")
"""As Debian, Fedora and SUSE call it."""
_PLACES: Final = ("/boot", "/")
"""Of the root, and of a partition that is mounted on /boot."""
_RELEASES: Final = (("/etc", "os-release"), ("/usr/lib", "os-release"))
_SYSTEMD: Final = (("/usr/lib/systemd", "systemd"), ("/lib/systemd", "systemd"))
"""It starts the engine. The second is also that of a partition mounted on /usr."""
_UUID: Final = re.compile(r"^Filesystem UUID:\s+(\S+)", re.MULTILINE)
_SECTOR_BYTES: Final = 512


@dataclass(frozen=True)
class _Volume:
    """A file system of the disk, for debugfs."""

    disk: Path
    offset: int

    def ask(self, request: str) -> str:
        """What debugfs prints; it says what it cannot do elsewhere, and ends well."""
        return commands.run(("debugfs", "-R", request, f"{self.disk}?offset={self.offset}")).stdout

    def names(self, directory: str) -> list[str]:
        """Names in a directory; none if there is no such directory, or no such file system."""
        try:
            lines = self.ask(f"ls -p {directory}").splitlines()
        except CommandFailedError:
            return []
        return [fields[5] for line in lines if len(fields := line.split("/")) > 5]


def fetch_boot_files(disk: Path, kernel: Path, initramfs: Path) -> str:
    """Copy the newest kernel, and its initramfs, out of a disk.

    Args:
        disk: raw image.
        kernel: where it goes.
        initramfs: where that goes.

    Returns:
        UUID of the file system that is the root.

    Raises:
        HostLacksError: if one of them is not found.
    """
    volumes = [_Volume(disk, offset) for offset in _offsets(disk)]
    pair = next((found for volume in volumes for found in _pairs(volume)), None)
    if pair is None:
        raise HostLacksError(f"no ext4 of it has /boot/{_KERNEL}VERSION with its initramfs")
    root = next((volume for volume in volumes if _has_one(volume, _RELEASES)), None)
    if root is None:
        raise HostLacksError("no ext4 of it has /etc/os-release: it is no root")
    if not any(_has_one(volume, _SYSTEMD) for volume in volumes):
        raise HostLacksError(
            "no ext4 of it has /usr/lib/systemd/systemd, which would start the engine. Fix: an "
            "image whose init is systemd"
        )
    volume, *sources = pair
    for source, target in zip(sources, (kernel, initramfs), strict=True):
        volume.ask(f'dump {source} "{target}"')
        if not target.is_file() or not target.stat().st_size:
            raise HostLacksError(f"{source} of it cannot be read")
    match = _UUID.search(root.ask("stats -h"))
    assert match is not None
    return match[1]


def _offsets(disk: Path) -> list[int]:
    """Where its partitions begin, in bytes; the whole disk, if it has none."""
    try:
        table = json.loads(commands.run(("sfdisk", "--json", str(disk))).stdout)["partitiontable"]
    except CommandFailedError:
        return [0]
    sector_bytes = table.get("sectorsize", _SECTOR_BYTES)
    return [entry["start"] * sector_bytes for entry in table.get("partitions", ())]


def _pairs(volume: _Volume) -> Iterator[tuple[_Volume, str, str]]:
    """Kernels with their initramfs, the newest first."""
    for place in _PLACES:
        names = volume.names(place)
        releases = [name.removeprefix(_KERNEL) for name in names if name.startswith(_KERNEL)]
        for release in sorted(releases, key=_as_numbers, reverse=True):
            for pattern in _INITRAMFS:
                if (initramfs := pattern.format(release)) in names:
                    yield volume, f"{place}/{_KERNEL}{release}", f"{place}/{initramfs}"


def _has_one(volume: _Volume, files: tuple[tuple[str, str], ...]) -> bool:
    """Whether one of the files, each a directory and a name, is there."""
    return any(name in volume.names(directory) for directory, name in files)


def _as_numbers(release: str) -> list[tuple[int, str]]:
    """To sort 6.10 after 6.9."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", release)
    ]
