"""The kernel's table of mounts, read from ``/proc/self/mountinfo`` (proc(5))."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import HostLacksError

_BUSY_TRIES = 20
_BUSY_PAUSE_S = 0.25


_MOUNTINFO = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """One line of the table."""

    device: str
    """``major:minor``; anonymous for btrfs and memory file systems."""
    target: Path
    type: str
    source: str
    """``/dev/loop0`` for a block device."""
    options: str
    """Options of the mount and of the file system, as the kernel names them."""


def mounts(table: Path | None = None) -> list[Mount]:
    """All mounts that this process sees, in the order in which they were made.

    Args:
        table: that of another process shows what it sees.
    """
    return [*_parsed((table or _MOUNTINFO).read_text(errors="surrogateescape"))]


@functools.lru_cache(maxsize=2)
def _parsed(text: str) -> list[Mount]:
    """A table that has not changed is not taken apart again: it is asked for around each turn."""
    return parse_mounts(text)


def parse_mounts(text: str) -> list[Mount]:
    """The mounts of a table such as ``/proc/self/mountinfo``."""
    return [parse_mount(line) for line in text.splitlines()]


def mounts_at(target: Path, table: Path | None = None) -> list[Mount]:
    """The mounts on exactly this directory, the topmost last."""
    return [mount for mount in mounts(table) if mount.target == target]


def mounts_in(directory: Path) -> list[Mount]:
    """The mounts on a resolved directory and on all that is in it."""
    inside = f"{directory}/"
    return [mount for mount in mounts() if f"{mount.target}/".startswith(inside)]


def mount_of(path: Path) -> Mount:
    """The mount that a path lies on.

    Raises:
        HostLacksError: if this process sees none: its root is a directory that is no mount.
    """
    found = mount_over(mounts(), path.resolve())
    if found is None:
        raise HostLacksError(
            f"{path}: on no mount that can be seen from here, as in a chroot that is not one. "
            "Fix: outside, before the chroot: mount --bind ROOT ROOT"
        )
    return found


def mount_over(table: list[Mount], path: Path) -> Mount | None:
    """The mount that a resolved path lies on, in a table of mounts; ``None`` in an empty one."""
    topmost = {mount.target: mount for mount in table}
    return next((topmost[each] for each in (path, *path.parents) if each in topmost), None)


def parse_mount(line: str) -> Mount:
    """One line: fields before the dash are of the mount, those after it of the file system."""
    left, _, right = line.partition(" - ")
    _, _, device, _, target, options = left.split(" ")[:6]
    kind, source, super_options = right.split(" ")[:3]
    words = dict.fromkeys([*options.split(","), *super_options.split(",")])
    return Mount(
        device=device,
        target=Path(unescaped(target)),
        type=kind,
        source=unescaped(source),
        options=",".join(words),
    )


def unescaped(text: str) -> str:
    """Blanks and backslashes are written as three octal digits."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
