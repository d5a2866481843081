"""Processes that serve until they are ended: file systems in user space, and what mounts them."""

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.host.changes.change import HostChange
from tiltyard.host.changes.settings import MountedAt, StartedProcess
from tiltyard.host.commands import Command, complaint
from tiltyard.host.packages import find_program

_READY_S = 30.0
_ENDS_S = 30.0
"""How long one that is unmounted may go on writing what it keeps. Asked to end before it is done,
it may leave the file system half written."""
_STEP_S = 0.01
_SAID_BYTES = 64 * 1024
"""Of the begin of its output, in which its complaint is looked for."""


class ServedMount(HostChange):
    """A directory of ours that a process serves; either may be gone already."""

    kind: Literal["served-mount"] = "served-mount"
    target: Path
    mark: str

    @property
    def process(self) -> StartedProcess:
        """The process, as it is known."""
        return StartedProcess(mark=self.mark)

    lives_in_kernel: ClassVar = True

    @property
    def way_back(self) -> str:
        """It is unmounted; its server ends by that."""
        return f"umount {self.target}"

    @property
    def script(self) -> str:
        """It writes what it keeps before it ends."""
        return f"umount {self.target}; ended {self.mark}"

    def undo(self) -> str | None:
        """Unmount first, for a server writes then what it keeps; then see to its end.

        Most end by themselves once they are unmounted. A server that was still about to mount may
        have mounted meanwhile.
        """
        mount = MountedAt(target=self.target)
        said = [mount.undo()]
        give_up = time.monotonic() + _ENDS_S
        while self.process.pids() and time.monotonic() < give_up:
            time.sleep(_STEP_S)
            said.append(mount.undo())
        said += (self.process.undo(), mount.undo())
        return "; ".join(filter(None, said)) or None


class Server:
    """A child that serves; it does not hold the ledger's lock, so that it may outlive us."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it, in a session of its own.

        Raises:
            HostLacksError: if there is no such program.
        """
        program = find_program(argv[0])
        if program is None:
            raise HostLacksError(f'there is no program "{argv[0]}" on this host')
        self._argv = tuple(argv)
        self._began = time.monotonic()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed when it has ended
        self._process = subprocess.Popen(
            argv,
            executable=program,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            env={**environment, "LC_ALL": "C"},
            start_new_session=True,
        )

    def wait_until(self, ready: Callable[[], bool], check: Callable[[], None]) -> Command:
        """Wait until it serves.

        Args:
            ready: says so.
            check: raises if a person has asked to stop.

        Raises:
            TiltyardError: if it ends before, with its complaint, or takes too long.
        """
        while not ready():
            check()
            status = self._process.poll()
            if status is not None and not ready():
                raise TiltyardError(f"{shlex.join(self._argv)}: {complaint(self._words(), status)}")
            if time.monotonic() - self._began > _READY_S:
                raise TiltyardError(f"{shlex.join(self._argv)}: not ready after {_READY_S:g} s")
            time.sleep(_STEP_S)
        return Command(argv=self._argv, elapsed_s=time.monotonic() - self._began)

    def ended(self) -> bool:
        """Whether it has ended; then it is reaped."""
        if self._process.poll() is None:
            return False
        self._said.close()
        return True

    def _words(self) -> str:
        return os.pread(self._said.fileno(), _SAID_BYTES, 0).decode(errors="replace")
