"""Changes of settings, processes and mounts by what identifies them everywhere.

The rules are those of :mod:`tiltyard.host.changes`: an ``undo`` acts only on what is there and
still ours, says what it did, and returns ``None`` if nothing was left to do.
"""

import os
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import Field

from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host.changes.change import PREFIX, HostChange, SettingChange
from tiltyard.host.mounts import mounts_at, unmount
from tiltyard.host.place import Place
from tiltyard.host.processes import end_processes

MARK: Final = "TILTYARD_PROCESS"
"""Environment variable by which a process is known as ours, also after our death."""
_LOOPS: Final = ("/sys/block/loop", "/sys/class/block/loop", "/sys/devices/virtual/block/loop")


class SetFile(SettingChange):
    """A setting that is a file of the kernel, on this host or on another."""

    kind: Literal["setting"] = "setting"
    path: str = Field(pattern=r"^/(proc/sys|proc/irq|sys)(/[A-Za-z0-9_:.-]*[A-Za-z0-9_:-])+$")
    before: str
    value: str

    @property
    def is_machine_wide(self) -> bool:
        """Not where the file is of a loop device, which only the run has that attached it."""
        return super().is_machine_wide and not is_of_loop(self.path)

    @property
    def ends_with_boot(self) -> bool:
        """The kernel of this host begins with its own; another host's goes on."""
        return not self.ssh

    @property
    def way_back(self) -> str:
        """The old value is written."""
        return f"# set {self.path} to {self.before} again"

    @property
    def script(self) -> str:
        """What it was there; on another host only Tiltyard does it."""
        return self.way_back if self.ssh else f"back {self.path}"

    def undo(self) -> str | None:
        """Put the old value back, unless somebody has set yet another one since."""
        place = Place(self.ssh)
        text = place.read(self.path)
        if text is None:
            return None
        now = in_force(text)
        if now == self.before:
            return None
        if now != self.value:
            return (
                f'left {self.path} at "{now}": somebody has set it since (it was "{self.before}")'
            )
        place.write(self.path, self.before)
        if in_force(place.read(self.path) or "") != self.before:
            raise TiltyardError(f'{self.path}: does not go back to "{self.before}"')
        return f'set {self.path} to "{self.before}" again'


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


def is_of_loop(path: str) -> bool:
    """Whether a setting is one of a loop device's."""
    return path.startswith(_LOOPS)


def in_force(text: str) -> str:
    """The value in force of a setting's text: of ``none [mq-deadline] kyber`` that in brackets."""
    chosen = text.partition("[")[2].partition("]")[0]
    return chosen or " ".join(text.split())


def _environment(entry: Path) -> list[bytes]:
    """The environment of a process; empty if it is gone, or not ours to look into."""
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
