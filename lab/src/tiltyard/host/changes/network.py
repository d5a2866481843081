"""The kinds of change that a system of two ends makes, and how each is taken back.

The rules are those of :mod:`tiltyard.host.changes`: an ``undo`` acts only on what is there and
still ours, says what it did, and returns ``None`` if nothing was left to do.
"""

import os
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host import commands, sysctls
from tiltyard.host.changes.change import PREFIX, HostChange
from tiltyard.host.place import Place, UnreachableError
from tiltyard.host.processes import end_processes

_NAMESPACES = Path("/run/netns")


def namespace_path(name: str) -> Path:
    """Where ip-netns(8) keeps a network namespace."""
    return _NAMESPACES / name


class MadeNamespace(HostChange):
    """A network namespace that did not exist before; its devices go with it."""

    kind: Literal["namespace"] = "namespace"
    name: str

    lives_in_kernel: ClassVar = True

    @property
    def script(self) -> str:
        """The command for it."""
        return f"ip netns del {self.name}"

    def undo(self) -> str | None:
        """End the processes in it and remove it."""
        if not self.name.startswith(PREFIX) or "/" in self.name:
            raise RefusedError(f"{self.name}: not removed: its name does not begin with {PREFIX}")
        path = namespace_path(self.name)
        if not path.exists():
            return None
        end_processes(self._processes, f"network namespace {self.name}")
        commands.run(("ip", "netns", "del", self.name))
        if path.exists():
            raise TiltyardError(f"{path}: still there after ip netns del")
        return f"removed network namespace {self.name}"

    def _processes(self) -> list[int]:
        """Who runs in it; a name that was not bound to a namespace yet holds nobody."""
        if not os.path.ismount(namespace_path(self.name)):
            return []
        return [int(pid) for pid in commands.run(("ip", "netns", "pids", self.name)).stdout.split()]


class SetSysctl(HostChange):
    """A kernel parameter of the whole host."""

    kind: Literal["sysctl"] = "sysctl"
    key: str = Field(pattern=r"^net(\.[A-Za-z0-9_-]+)+$")
    before: str
    value: str

    lives_in_kernel: ClassVar = True

    @property
    def script(self) -> str:
        """What it was there."""
        return f"back {sysctls.path_of(self.key)}"

    def undo(self) -> str | None:
        """Put the old value back, unless somebody has set yet another one since."""
        now = sysctls.read(self.key)
        if now == self.before:
            return None
        if now != self.value:
            return f'left {self.key} at "{now}": somebody has set it since (it was "{self.before}")'
        sysctls.path_of(self.key).write_text(self.before)
        if sysctls.read(self.key) != self.before:
            raise TiltyardError(f'{self.key}: does not go back to "{self.before}"')
        return f'set {self.key} to "{self.before}" again'


class StartedServer(HostChange):
    """A server on this host; which process it is, the name of its secret file tells."""

    kind: Literal["server"] = "server"
    secret_file: Path

    lives_in_kernel: ClassVar = True

    @property
    def script(self) -> str:
        """By the name that the script gave it."""
        return "stop server"

    def undo(self) -> str | None:
        """End it, if it has not ended by itself."""
        if not self.secret_file.name.startswith(PREFIX):
            raise RefusedError(f"{self.secret_file}: its name does not begin with {PREFIX}")
        ended = end_processes(self._processes, "server")
        return f"ended a server, process {ended}" if ended else None

    def _processes(self) -> list[int]:
        """Processes that were given the secret file; a zombie has no arguments."""
        wanted = os.fsencode(self.secret_file)
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and wanted in _arguments(entry)
        ]


_REMOVE = r"""
running() {
    ls -l /proc/[0-9]*/exe 2>/dev/null | sed -n "s#^.* /proc/\([0-9]*\)/exe -> .*/$1/.*#\1#p"
}
tries=0
while pids=$(running "$2") && [ -n "$pids" ]; do
    case $tries in
        0) kill $pids ;;
        60) kill -9 $pids ;;
        80) echo "process $pids does not end" >&2; exit 1 ;;
    esac
    tries=$((tries + 1))
    sleep 0.25
done
test ! -e "$1" || { rm -rf -- "$1" && echo removed; }
"""
"""Ends what runs out of a directory, with 15 s for it to remove its own files, and removes it."""


class MadeOverSsh(HostChange):
    """A directory on another host, with all that is in it, and what runs out of it."""

    kind: Literal["ssh"] = "ssh"
    ssh: tuple[str, ...]
    """The command that reaches the host; what it shall do there is appended."""
    directory: str = Field(pattern=rf"^([^\n]*/)?{PREFIX}[A-Za-z0-9-]+$")
    """A relative path begins at the user's home."""

    def undo(self) -> str | None:
        """End the processes and remove the directory.

        Raises:
            UnreachableError: if the host is not reached; the message says what is left there.
        """
        place = Place(self.ssh)
        name = self.directory.rpartition("/")[2]
        remove = ("sh", "-c", _REMOVE, "sh", self.directory, name)
        try:
            said = place.run(remove, timeout_s=60).stdout
        except UnreachableError as error:
            try:
                if (later := place.after_the_job(str(error))) is None:
                    raise
                said = later.run(remove, timeout_s=60).stdout
            except UnreachableError:
                raise UnreachableError(f"{error}; {self.directory} is left there") from None
        return f"removed {self.directory} on {place}" if said else None


def _arguments(entry: Path) -> list[bytes]:
    """The command line of a process; empty if it is gone."""
    try:
        return (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
