"""User and mount namespaces: a user's own table of mounts, in which he is root.

Source: user_namespaces(7), mount_namespaces(7), unshare(1), nsenter(1).
"""

import os
from pathlib import Path
from typing import Literal

from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host import commands
from tiltyard.host.changes.change import PREFIX, HostChange
from tiltyard.host.changes.settings import StartedProcess

_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private")
_HOLDER = "sleep"


class MadeInside(HostChange):
    """A directory that was made in what is mounted in a namespace of ours."""

    kind: Literal["inside"] = "inside"
    path: Path
    mark: str

    def undo(self) -> str | None:
        """Remove it from inside; when the namespace is gone nobody gets there any more."""
        if not self.path.is_absolute() or not self.path.name.startswith(PREFIX):
            raise RefusedError(f"{self.path}: not removed: its name does not begin with {PREFIX}")
        holder = holder_of(StartedProcess(mark=self.mark))
        if holder is None:
            return None
        commands.run((*nsenter(holder), "rm", "-rf", "--one-file-system", str(self.path)))
        return f"removed {self.path}"


def why_not() -> str | None:
    """Why this user cannot have namespaces of his own, in the kernel's words; ``None`` if he can.

    Tried in namespaces that are gone again.
    """
    try:
        commands.run((*_UNSHARE, "true"))
    except TiltyardError as error:
        return str(error)
    return None


def namespace_command() -> tuple[str, ...]:
    """Command that makes the namespaces, says so, and holds them until it is ended."""
    return (*_UNSHARE, "sh", "-c", f"echo ready; exec {_HOLDER} infinity")


def nsenter(pid: int | str) -> tuple[str, ...]:
    """Command that starts another one in the namespaces of a process."""
    return ("nsenter", "--preserve-credentials", "--user", "--mount", f"--target={pid}")


def holder_of(process: StartedProcess) -> int | None:
    """The process that holds the namespaces; ``None`` while they are not ready."""
    own = os.stat("/proc/self/ns/mnt").st_ino  # noqa: PTH116  it is no path of ours
    for pid in process.pids():
        there = Path(f"/proc/{pid}")
        try:
            ready = (there / "comm").read_text().strip() == _HOLDER
            if ready and (there / "ns" / "mnt").stat().st_ino != own:
                return pid
        except OSError:
            continue
    return None
