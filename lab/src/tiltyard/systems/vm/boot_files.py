"""Kernel, initramfs and root of an operating system, found on its disk without mounting it.

Read with debugfs(8), which needs neither root nor a loop device; so what is read must lie on ext2,
ext3 or ext4, on a partition or on the whole disk.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard import elf
from tiltyard.errors import HostLacksError, TiltyardError, UnreachableError
from tiltyard.host.place import Place
from tiltyard.host.record.section import fields
from tiltyard.systems.vm.kernels import look_at

_KERNEL: Final = "vmlinuz-"
_INITRAMFS: Final = ("initrd.img-{}", "initramfs-{}.img", "initrd-{}")
"""As Debian, Fedora and SUSE call it."""
_PLACES: Final = ("/boot", "/")
"""Of the root, and of a partition that is mounted on /boot."""
_RELEASES: Final = (("/etc", "os-release"), ("/usr/lib", "os-release"))
_SYSTEMD: Final = (("/usr/lib/systemd", "systemd"), ("/lib/systemd", "systemd"))
"""It starts the engine. The second is also that of a partition mounted on /usr."""
_INITS: Final = ("/sbin/init", "/usr/sbin/init")
"""What the kernel starts; the second is also seen where /sbin is a link that leads elsewhere."""
_LINKS: Final = 8
_LEADS_TO: Final = re.compile(r'^Fast link dest: "(.*)"$', re.MULTILINE)
_IS_THERE: Final = "Inode:"
_AMENDS: Final = "Fix: copy or make it again"
_UUID: Final = re.compile(r"^Filesystem UUID:\s+(\S+)", re.MULTILINE)
_GPT_HIDDEN: Final = "ee"
"""Type of the partition that hides a GPT from what does not know it; seen where that is broken."""
_SECTOR_BYTES: Final = 512


@dataclass(frozen=True)
class _Volume:
    """A file system of the disk, for debugfs."""

    disk: Path
    offset: int
    place: Place

    def ask(self, request: str) -> str:
        """What debugfs prints; it says what it cannot do elsewhere, and ends well."""
        argv = ("debugfs", "-R", request, f"{self.disk}?offset={self.offset}")
        return self.place.run(argv).stdout

    def names(self, directory: str) -> list[str]:
        """Names in a directory; none if there is no such directory, or no such file system."""
        try:
            lines = self.ask(f"ls -p {directory}").splitlines()
        except UnreachableError:
            raise
        except TiltyardError:
            return []
        return [fields[5] for line in lines if len(fields := line.split("/")) > 5]


def fetch_boot_files(
    disk: Path, kernel: Path, initramfs: Path, engine_for: str | None, place: Place
) -> str:
    """Copy the newest kernel, and its initramfs, out of a disk.

    Args:
        disk: raw image.
        kernel: where it goes.
        initramfs: where that goes.
        engine_for: machine that the engine was built for, as uname(1) calls it.
        place: the host that has the disk.

    Returns:
        UUID of the file system that is the root.

    Raises:
        HostLacksError: if one of them is not found, or if nothing would start the engine there.
    """
    volumes = [_Volume(disk, offset, place) for offset in _offsets(disk, place)]
    for each in volumes:
        _require_whole(each)
    pair = next((found for volume in volumes for found in _pairs(volume)), None)
    if pair is None:
        raise HostLacksError(f"no ext4 of it has /boot/{_KERNEL}VERSION with its initramfs")
    root = next((volume for volume in volumes if _has_one(volume, _RELEASES)), None)
    if root is None:
        raise HostLacksError("no ext4 of it has /etc/os-release: it is no root")
    _require_systemd(volumes, kernel.with_name("systemd"), engine_for)
    volume, *sources = pair
    for source, target in zip(sources, (kernel, initramfs), strict=True):
        volume.ask(f'dump {source} "{target}"')
        if not place.passes(("-s", str(target)))[0]:
            raise HostLacksError(f"{source} of it cannot be read")
    with place.understood():
        match = _UUID.search(root.ask("stats -h"))
        assert match is not None
        return match[1]


def _require_whole(volume: _Volume) -> None:
    """Refuse a file system that goes on behind the end of the file.

    Raises:
        HostLacksError: if it does.
    """
    try:
        told = fields(volume.ask("stats -h"))
        size_bytes = int(told["Block count"]) * int(told["Block size"])
    except UnreachableError:
        raise
    except (TiltyardError, KeyError, ValueError):
        return  # Another file system, or none.
    size = volume.place.run(("stat", "-L", "-c", "%s", str(volume.disk))).stdout
    ends, there = volume.offset + size_bytes, int(size)
    if ends > there:
        raise HostLacksError(
            f"it is cut off: its file system ends at {ends:,} bytes, the image at {there:,}. "
            f"{_AMENDS}"
        )


def _require_systemd(volumes: Sequence[_Volume], copy: Path, engine_for: str | None) -> None:
    """Refuse an image in which systemd would not start the engine.

    Args:
        volumes: of the image.
        copy: where systemd is copied to, and removed.
        engine_for: machine of the engine.

    Raises:
        HostLacksError: if it is not there, is not the init, or is for another machine.
    """
    wanted = "Fix: an image whose init is systemd"
    places = (
        (volume, f"{directory}/{name}")
        for volume in volumes
        for directory, name in _SYSTEMD
        if name in volume.names(directory)
    )
    if (found := next(places, None)) is None:
        text = "no ext4 of it has /usr/lib/systemd/systemd, which would start the engine"
        raise HostLacksError(f"{text}. {wanted}")
    init = next(filter(None, (_led_to(volume, path) for volume in volumes for path in _INITS)), "")
    if posixpath.basename(init) != "systemd":
        what = f"its init is {init}" if init else "it has no /sbin/init"
        raise HostLacksError(f"{what}, and systemd would not start the engine. {wanted}")
    volume, path = found
    volume.ask(f'dump {path} "{copy}"')
    place = volume.place
    is_there = place.passes(("-f", str(copy)))[0]
    number = look_at(copy, place).machine if is_there else None
    place.run(("rm", "-f", str(copy)))
    built_for = None if number is None else elf.named(number)
    if built_for is None:
        raise HostLacksError(f"{path} of it is no program: it is damaged. {_AMENDS}")
    if engine_for is not None and built_for != engine_for:
        raise HostLacksError(
            f"its programs are for {built_for}, and the engine is for {engine_for}. "
            f"Fix: an image for {engine_for}"
        )


def _led_to(volume: _Volume, path: str) -> str:
    """What a path is in the end, where it is a link; empty if there is no such path."""
    for hop in range(_LINKS):
        told = volume.ask(f"stat {path}")
        link = _LEADS_TO.search(told)
        if link is None:
            return path if hop or _IS_THERE in told else ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), link[1]))
    return path


def _offsets(disk: Path, place: Place) -> list[int]:
    """Where its partitions begin, in bytes; the whole disk, if it has none.

    Raises:
        HostLacksError: if the end of the disk is not there.
    """
    try:
        table = place.run(("sfdisk", "--json", str(disk))).json["partitiontable"]
    except UnreachableError:
        raise
    except TiltyardError:
        return [0]
    if any(entry["type"] == _GPT_HIDDEN for entry in table.get("partitions", ())):
        text = (
            "it is cut off: the copy of its partition table, at the end of the disk, is not there"
        )
        raise HostLacksError(f"{text}. {_AMENDS}")
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
