"""Changes of processes by what identifies them everywhere.

The rules are those of :mod:`tiltyard.host.changes`: an ``undo`` acts only on what is there and
still ours, says what it did, and returns ``None`` if nothing was left to do.
"""

import os
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import Field

from tiltyard.host.changes.change import PREFIX, HostChange
from tiltyard.host.processes import end_processes

MARK: Final = "TILTYARD_PROCESS"
"""Environment variable by which a process is known as ours, also after our death."""


class StartedProcess(HostChange):
    """A process of this host that outlives the command that started it, with its children."""

    kind: Literal["process"] = "process"
    mark: str = Field(pattern=rf"^{PREFIX}[A-Za-z0-9.-]+$")
    """Value of :data:`MARK` in its environment."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment to start it with."""
        return {**os.environ, MARK: self.mark}

    lives_in_kernel: ClassVar = True

    @property
    def way_back(self) -> str:
        """It is asked to end, then killed."""
        return f"# end the processes that carry {MARK}={self.mark}"

    @property
    def script(self) -> str:
        """By the number that the script knows."""
        return f"stop {self.mark}"

    def undo(self) -> str | None:
        """End it, if it has not ended by itself."""
        ended = end_processes(self.pids, self.mark)
        return f"ended {self.mark}, process {ended}" if ended else None

    def pids(self) -> list[int]:
        """Who carries the mark; a zombie carries nothing."""
        wanted = f"{MARK}={self.mark}".encode()
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and wanted in _environment(entry)
        ]


def _environment(entry: Path) -> list[bytes]:
    """The environment of a process; empty if it is gone, or not ours to look into."""
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
