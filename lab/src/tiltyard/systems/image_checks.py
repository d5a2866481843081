"""What would keep a file system from coming up on an image here; looks only, changes nothing."""

import os
from pathlib import Path

from tiltyard.host.packages import find_program, install_command
from tiltyard.systems.filesystems import Filesystem
from tiltyard.systems.image_file import check_size
from tiltyard.systems.kind import Problem
from tiltyard.systems.mount.checks import rights_to_mount


def check_host(wanted: Filesystem, size_bytes: int) -> list[Problem]:
    """What keeps a file system from being made on an image of that size."""
    found = check_filesystem(wanted, served_from_file=wanted.driver.takes_files)
    if os.geteuid() == 0 and not Path("/dev/loop-control").exists():
        found.append(Problem("error", "there are no loop devices", "modprobe loop"))
    return found + check_size(wanted.name, size_bytes, wanted.min_bytes, wanted.typical_bytes)


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
