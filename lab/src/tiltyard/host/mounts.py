"""The kernel's table of mounts, ``/proc/self/mountinfo`` (proc(5))."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePath

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


def parse_mounts(text: str) -> list[Mount]:
    """The mounts of a table such as ``/proc/self/mountinfo``."""
    return [parse_mount(line) for line in text.splitlines()]


def mount_over(table: list[Mount], path: PurePath) -> Mount | None:
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
