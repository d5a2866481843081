"""Changes of processes and mounts by what identifies them everywhere.

The rules are those of :mod:`tiltyard.host.changes`: an ``undo`` acts only on what is there and
still ours, says what it did, and returns ``None`` if nothing was left to do.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import Field

from tiltyard.errors import RefusedError
from tiltyard.host.changes.change import PREFIX, HostChange
from tiltyard.host.mounts import mounts_at, unmount
from tiltyard.host.processes import descendants, end_processes, has_terminal

MARK: Final = "TILTYARD_PROCESS"
"""Environment variable by which a process is known as ours, also after our death."""
SUPERVISOR: Final = Path(__file__).resolve().parents[1] / "supervisor.py"
_STEP_S: Final = 0.02


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


class SupervisedProcess(StartedProcess):
    """A supervisor of ours (``supervisor.py``), and all that runs below it.

    A server may write over its environment, leave its parent and change its user. So the
    supervisor is told to end it; only where that is gone are others known by the directory that
    they work in or have files open in.
    """

    kind: Literal["supervised"] = "supervised"  # type: ignore[assignment]
    directories: tuple[Path, ...]
    """Its own: no other process has business there."""
    stop_s: float
    """How long it may take to end when it is asked to."""

    def undo(self) -> str | None:
        """Let its supervisor end it, then see to what is left."""
        supervisors = super().pids()
        for pid in supervisors:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        give_up = time.monotonic() + self.stop_s
        while super().pids() and time.monotonic() < give_up:
            time.sleep(_STEP_S)
        rest = end_processes(self.pids, self.mark)
        ended = ", ".join(filter(None, (*map(str, supervisors), rest)))
        return f"ended {self.mark}, process {ended}" if ended else None

    def pids(self) -> list[int]:
        """The supervisor, what is below it, and what works in the directory."""
        marked = {*super().pids(), *self._inside.pids()}
        below = {pid for one in marked for pid in descendants(one)}
        return sorted({*marked, *below, *_working_in(self.directories)} - {os.getpid()})

    @property
    def _inside(self) -> StartedProcess:
        return StartedProcess(mark=f"{self.mark}-inside")


class MountedAt(HostChange):
    """Something mounted on a directory that we made, whatever it is."""

    kind: Literal["mount-at"] = "mount-at"
    target: Path

    lives_in_kernel: ClassVar = True

    @property
    def way_back(self) -> str:
        """It is unmounted."""
        return f"umount {self.target}"

    def undo(self) -> str | None:
        """Unmount what is mounted there."""
        if not self.target.is_absolute() or not self.target.name.startswith(PREFIX):
            raise RefusedError(
                f"{self.target}: not unmounted: its name does not begin with {PREFIX}"
            )
        done = None
        while mounts_at(self.target):
            unmount(self.target)
            done = f"unmounted {self.target}"
        return done


def _environment(entry: Path) -> list[bytes]:
    """The environment of a process; empty if it is gone, or not ours to look into."""
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _working_in(directories: tuple[Path, ...]) -> Iterator[int]:
    """Processes whose working directory, or an open file, lies in one of the directories."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or has_terminal(int(entry.name)):
            continue  # Somebody who looks around there is none of ours.
        if any(path.is_relative_to(one) for path in _open_in(entry) for one in directories):
            yield int(entry.name)


def _open_in(entry: Path) -> Iterator[Path]:
    """Working directory and open files of a process, as far as we may see them."""
    with contextlib.suppress(OSError):
        yield (entry / "cwd").readlink()
        for descriptor in (entry / "fd").iterdir():
            with contextlib.suppress(OSError):
                yield descriptor.readlink()
