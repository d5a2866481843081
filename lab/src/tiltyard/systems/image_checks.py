"""What would keep a file system from coming up on an image here; looks only, changes nothing."""

import os
from pathlib import Path

from tiltyard.host.mounts import mount_of
from tiltyard.host.packages import find_program, install_command
from tiltyard.systems.filesystems import Filesystem
from tiltyard.systems.kind import Problem
from tiltyard.systems.memory_backing import MemoryBacking
from tiltyard.systems.mount_checks import rights_to_mount
from tiltyard.units import format_size


def check_host(
    wanted: Filesystem, size_bytes: int, home: Path, memory: MemoryBacking | None = None
) -> list[Problem]:
    """What keeps a file system from being made on an image of that size in ``home``, or memory."""
    found = check_filesystem(wanted, served_from_file=wanted.driver.takes_files)
    if os.geteuid() == 0 and not Path("/dev/loop-control").exists():
        found.append(Problem("error", "there are no loop devices", "modprobe loop"))
    if size_bytes < wanted.min_bytes:
        least = format_size(wanted.min_bytes)
        text = f"{wanted.name} needs an image of {least}; it has {format_size(size_bytes)}"
        found.append(Problem("error", text, _image_remedy(wanted.min_bytes)))
    elif size_bytes < wanted.typical_bytes:
        typical = format_size(wanted.typical_bytes)
        text = f"{wanted.name} is made with other defaults (block size …) on less than {typical}"
        found.append(Problem("warning", text, _image_remedy(wanted.typical_bytes)))
    return [*found, *(memory.problems() if memory else _check_home(home, size_bytes))]


def check_filesystem(wanted: Filesystem, *, served_from_file: bool = False) -> list[Problem]:
    """What keeps a file system from being made and mounted here, whatever it lies on.

    Args:
        wanted: the file system.
        served_from_file: whether a server mounts it from an image file, for which a user needs no
            more than namespaces of his own.
    """
    found: list[Problem] = []
    if os.geteuid() != 0 and served_from_file:
        found += rights_to_mount(served=True)
    elif os.geteuid() != 0:
        found.append(
            Problem(
                "error",
                f"only root can make and mount a fresh {wanted.name}",
                "sudo; without root, compare directories on file systems that are mounted",
            )
        )
    if find_program(wanted.tool.command) is None:
        text = f"{wanted.tool.command} is not installed"
        found.append(Problem("error", text, install_command(wanted.tool.package)))
    return [*found, *wanted.driver.problems(wanted.name)]


def _image_remedy(size_bytes: int) -> str:
    """The line of a study file that asks for a larger image."""
    return f'backing = {{ image = "{size_bytes // 2**20}M" }}'


def _check_home(home: Path, size_bytes: int) -> list[Problem]:
    """Room for the image, and what lies under it."""
    existing = next(path for path in (home, *home.parents) if path.exists())
    status = os.statvfs(existing)
    free_bytes = status.f_bavail * status.f_frsize
    if free_bytes < size_bytes:
        text = f"{existing} has {format_size(free_bytes)} free, the image needs "
        return [Problem("error", text + format_size(size_bytes), "a smaller image, or backing.at")]
    if mount_of(existing).type in ("tmpfs", "ramfs"):
        return [Problem("warning", f"{existing} is in memory: no disk is measured")]
    return []
