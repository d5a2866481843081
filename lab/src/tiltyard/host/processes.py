"""Processes by identity. A bare pid is not one: numbers are reused, and zombies still have one."""

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from tiltyard.frozen import Frozen
from tiltyard.host.place import HERE, Place
from tiltyard.host.small_files import read_small

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_ID = Path("/etc/machine-id")
_NAME_LENGTH = 15
_PROCESSES = "/proc/[0-9]*"


def boot_id() -> str:
    """Which boot of this host this is: random(4)."""
    return BOOT_ID.read_text().strip()


@functools.cache
def host_id() -> str:
    """Which host this is: its name and its machine-id(5), which nodes of one image may share."""
    try:
        machine = _MACHINE_ID.read_text().strip()
    except OSError:
        machine = ""
    return f"{os.uname().nodename} {machine}".strip()


class Process(Frozen):
    """A process of this or an earlier boot, or of another host that has the same files."""

    pid: int
    started_ticks: int
    """Clock ticks since boot (field 22 of ``/proc/PID/stat``)."""
    boot: str
    host: str = ""
    """:func:`host_id`; earlier versions did not tell."""

    @classmethod
    def current(cls) -> Self:
        """This process."""
        pid = os.getpid()
        _, started = _state_and_start(pid) or ("R", 0)
        return cls(pid=pid, started_ticks=started, boot=boot_id(), host=host_id())

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is one of another host: what it has changed, nobody here can put back."""
        return self.boot != boot_id() and self.host not in ("", host_id())

    def lives(self) -> bool:
        """Whether it still runs; a zombie that nobody reaps does not."""
        if boot_id() != self.boot:
            return False
        now = _state_and_start(self.pid)
        return now is not None and now[0] not in "ZX" and now[1] == self.started_ticks


def numbers() -> list[int]:
    """Those of all processes of this host, threads of the kernel among them."""
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def named(names: Iterable[str], place: Place = HERE) -> tuple[int, ...]:
    """The processes of a host with one of these names, as ``/proc/PID/comm`` cuts them.

    One that has ended, and that nobody has reaped yet, is none.
    """
    wanted = {name[:_NAME_LENGTH] for name in names}
    comms = place.ask(lambda host: host.read(files=[f"{_PROCESSES}/comm"])).files
    with place.understood():
        pids = sorted(int(path.split("/")[2]) for path in comms if comms[path].rstrip() in wanted)
        stats = place.read_all(map(_stat, pids)) if pids else {}
        return tuple(pid for pid in pids if _begun(stats.get(_stat(pid), "")))


def _fields(pid: int) -> list[str]:
    """What follows the name in ``/proc/PID/stat``, the state first; empty if there is no process.

    Source: proc(5), which counts the state as field 3.
    """
    return _fields_of(read_small(_stat(pid)) or "")


def _fields_of(stat: str) -> list[str]:
    return stat.rpartition(") ")[2].split()


def _state_and_start(pid: int) -> tuple[str, int] | None:
    """State letter and start time of a process, or ``None`` if there is none."""
    fields = _fields(pid)
    return (fields[0], int(fields[19])) if fields else None


def _stat(pid: int) -> str:
    return f"/proc/{pid}/stat"


def _begun(stat: str) -> int:
    """Start time in ticks since boot; 0 of a process that has ended with all its threads."""
    fields = _fields_of(stat)
    has_ended = not fields or (fields[0] in "ZX" and int(fields[17]) <= 1)
    return 0 if has_ended else int(fields[19])
