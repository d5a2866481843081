"""What tests see of this machine by themselves, whatever its agent says."""

import shutil
from pathlib import Path

from tiltyard.host.mounts import Mount, parse_mounts

_ADMIN = "/usr/local/sbin:/usr/sbin:/sbin"


def read_small(path: str | Path) -> str | None:
    """The text of a file; ``None`` if it cannot be read."""
    try:
        return Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return None


def chosen(setting: Path) -> str:
    """The value in force: of ``none [mq-deadline] kyber`` the one in brackets."""
    text = setting.read_text().strip()
    return text.partition("[")[2].partition("]")[0] or text


def mounts(table: Path = Path("/proc/self/mountinfo")) -> list[Mount]:
    """All mounts that a process sees, in the order in which they were made."""
    return parse_mounts(table.read_text(errors="surrogateescape"))


def mounts_at(target: Path, table: Path = Path("/proc/self/mountinfo")) -> list[Mount]:
    """The mounts on exactly this directory, the topmost last."""
    return [mount for mount in mounts(table) if mount.target == target]


def mounts_in(directory: Path) -> list[Mount]:
    """The mounts on a resolved directory and on all that is in it."""
    inside = f"{directory}/"
    return [mount for mount in mounts() if f"{mount.target}/".startswith(inside)]


def find_program(name: str) -> str | None:
    """Path of a program, also where administration tools live but ``PATH`` does not look."""
    return shutil.which(name) or shutil.which(name, path=_ADMIN)
