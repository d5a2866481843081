"""Processes by identity. A bare pid is not one: numbers are reused, and zombies still have one."""

import contextlib
import functools
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from tiltyard.errors import TiltyardError
from tiltyard.frozen import Frozen
from tiltyard.host.place import HERE, Place
from tiltyard.host.small_files import read_small

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_ID = Path("/etc/machine-id")
_ENDS_S = 15.0
"""How long a process that was asked to end may take before it is killed."""
_DIES_S = 30.0
"""How long one that was killed may take: it has no choice, but a busy kernel makes it wait."""
_STEP_S = 0.02
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


def end_processes(find: Callable[[], list[int]], whose: str) -> str:
    """Ask processes to end, kill what does not, and wait until none is left.

    A process that ends loses what ``find`` may know it by some time before it lets go of its files.

    Returns:
        Their numbers; empty if there were none.
    """
    ended: dict[int, int] = {}
    for number, patience_s in ((signal.SIGTERM, _ENDS_S), (signal.SIGKILL, _DIES_S)):
        give_up = time.monotonic() + patience_s
        asked: set[int] = set()
        while pids := find() or [pid for pid in ended if 0 < ended[pid] == _started(pid)]:
            if time.monotonic() > give_up:
                break
            for pid in set(pids) - asked:
                _signal(pid, number)
            asked.update(pids)
            ended.update({pid: _started(pid) for pid in set(pids) - ended.keys()})
            time.sleep(_STEP_S)
        else:
            return ", ".join(str(pid) for pid in ended)
    raise TiltyardError(f"{whose}: process {pids[0]} does not end")


def numbers() -> list[int]:
    """Those of all processes of this host, threads of the kernel among them."""
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def descendants(ancestor: int) -> set[int]:
    """A process and all that it has started, as far as what is between them lives.

    Each is asked for its children, so that other processes cost nothing; a kernel that does not
    list them (``CONFIG_PROC_CHILDREN``) is asked for all.
    """
    lists = Path(f"/proc/self/task/{os.getpid()}/children").exists()
    children = _children if lists else _all_children()
    found, fresh = {ancestor}, [ancestor]
    while fresh:
        fresh = [pid for parent in fresh for pid in children(parent) if pid not in found]
        found.update(fresh)
    return found


def _children(pid: int) -> list[int]:
    """What the threads of a process have started; none of one that has gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (read_small(thread / "children") or "").split())
    return found


def _all_children() -> Callable[[int], list[int]]:
    """The same, of all processes by their parents."""
    children: dict[int, list[int]] = {}
    for pid in numbers():
        if fields := _fields(pid):
            children.setdefault(int(fields[1]), []).append(pid)
    return lambda pid: children.get(pid, [])


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


def _name(entry: Path) -> str | None:
    try:
        return (entry / "comm").read_text().rstrip("\n")
    except OSError:
        return None


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


def _started(pid: int) -> int:
    """Start time in ticks since boot; 0 of a process that has ended with all its threads."""
    return _begun(read_small(_stat(pid)) or "")


def _stat(pid: int) -> str:
    return f"/proc/{pid}/stat"


def _begun(stat: str) -> int:
    """The same by its ``/proc/PID/stat``."""
    fields = _fields_of(stat)
    has_ended = not fields or (fields[0] in "ZX" and int(fields[17]) <= 1)
    return 0 if has_ended else int(fields[19])


def _signal(pid: int, number: signal.Signals) -> None:
    """Signal a process that may have ended meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
