"""How much of a disk's traffic was ours, and how much was not.

No counter says whose a byte was that went to a disk: write-back is done by kernel threads, for
whoever wrote. What can be told:

* A file system on a loop device is ours alone, so what its disk moved beyond the loop device is
  others'. That holds where the file system below overwrites an image in place; one that copies on
  write moves more than it was given.
* What each other process has moved says the kernel to root (``/proc/PID/io``, proc(5)); that of
  processes that have ended is in the figure of the one that waited for them, whole; where that one
  is ours or nobody it is lost, so what a process grew by is added up, and one that has gone takes
  nothing away. The sum over all is an upper bound for one disk, for there may be several.
* What the engine fetched is in its resource usage (getrusage(2), ``ru_inblock``). What it wrote is
  not all there: journals and other metadata are missing, so a disk that we share is judged by the
  smaller of two bounds: its traffic less what the engine fetched, and the sum over other processes.

Where neither way is open, foreign traffic is not available.
"""

import os
import resource
from collections.abc import Iterable
from pathlib import Path

from tiltyard.host.devices.disks import SECTOR_BYTES, Stack, Traffic, stack_under
from tiltyard.host.processes import KERNEL_THREAD, descendants
from tiltyard.host.small_files import read_small

_PROC = Path("/proc")
_IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs", "vfat", "exfat"})
"""File systems that overwrite a file that is laid out where it is."""
_LITTLE_BYTES = 2**20
"""No limit is below that."""


class DiskWatch:
    """The traffic of the disk under a directory, from now on."""

    def __init__(self, directory: Path, servers: Iterable[int] = ()) -> None:
        """Read all counters; the engine has not been started yet.

        Args:
            directory: what the trial works on.
            servers: processes that belong to the system under test.
        """
        self._stack = stack_under(directory)
        if self._stack is None:
            return
        self._needs_others = self._stack.loop is None or self._stack.below not in _IN_PLACE
        self._before = _traffic(self._stack)
        self._others = _moved_by_others(servers) if self._needs_others else None
        self._lab_bytes, self._fetched_bytes = _lab_bytes(), _children_fetched_bytes()

    def seen(self, servers: Iterable[int] = ()) -> tuple[int | None, int | None]:
        """Bytes of ours and of others since then, or since it was asked; ``None``: cannot be told.

        The engine has ended and was waited for.

        Args:
            servers: processes that belong to the system under test now.
        """
        if self._stack is None or self._before is None:
            return None, None
        before, now = self._before, _traffic(self._stack)
        if now is None:
            return None, None
        lab_bytes, fetched_bytes = _lab_bytes(), _children_fetched_bytes()
        disk = now[0].since(before[0]).both_bytes
        loop = now[1].since(before[1]).both_bytes
        known = loop if self._stack.loop else fetched_bytes - self._fetched_bytes
        beyond = max(0, disk - known - (lab_bytes - self._lab_bytes))
        self._before, self._lab_bytes, self._fetched_bytes = now, lab_bytes, fetched_bytes
        if not self._needs_others:
            return loop, beyond
        foreign = None if self._others is None else self._foreign(beyond, servers)
        return (loop if self._stack.loop else disk - (foreign or 0)), foreign

    def _foreign(self, beyond: int, servers: Iterable[int]) -> int:
        """What of it can be others'; of next to nothing it need not be asked, process by process.

        What they moved since that was asked last is an upper bound, too.
        """
        if beyond <= _LITTLE_BYTES or self._others is None:
            return beyond
        before, now = self._others, _moved_by_others(servers)
        self._others = now
        return beyond if now is None else min(beyond, _growth(before, now))


def _traffic(stack: Stack) -> tuple[Traffic, Traffic] | None:
    """Of the disk, and of the loop device (nothing if there is none)."""
    disk = Traffic.of(stack.disk)
    loop = Traffic.of(stack.loop) if stack.loop else Traffic(0, 0)
    return (disk, loop) if disk and loop else None


def _lab_bytes() -> int:
    """What this process has moved: it keeps what the engine says."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_inblock + usage.ru_oublock) * SECTOR_BYTES


def _children_fetched_bytes() -> int:
    """What our children fetched, those that have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock * SECTOR_BYTES


def _moved_by_others(servers: Iterable[int] = ()) -> dict[str, int] | None:
    """Bytes so far by process, all but ours; ``None`` if we may not see those of others.

    What we have started, such as a runner with its ended trials, is ours, and servers of the system
    under test are not others. Kernel threads work for everybody, us included,
    and are left out.
    """
    if os.geteuid() != 0:
        return None
    with os.scandir(_PROC) as entries:
        found = [entry.name for entry in entries if entry.name.isdecimal()]
    ours = descendants(os.getpid()) | {*servers}
    others = (name for name in found if int(name) not in ours)
    moved = {name: _moved_bytes(f"{_PROC}/{name}") for name in others}
    return {
        name: count
        for name, count in moved.items()
        if count and not _is_kernel_thread(f"{_PROC}/{name}")
    }


def _growth(before: dict[str, int], now: dict[str, int]) -> int:
    """Bytes by which processes have grown."""
    return sum(max(0, count - before.get(name, 0)) for name, count in now.items())


def _moved_bytes(process: str) -> int:
    """Bytes that a process fetched from disks or made dirty; 0 if it has gone."""
    if (text := read_small(f"{process}/io")) is None:
        return 0
    lines = dict(line.split(": ") for line in text.splitlines())
    return int(lines.get("read_bytes", 0)) + int(lines.get("write_bytes", 0))


def _is_kernel_thread(process: str) -> bool:
    """Whether it is one; a process that has gone meanwhile is not."""
    fields = (read_small(f"{process}/stat") or "").rpartition(") ")[2].split()
    return bool(fields) and bool(int(fields[6]) & KERNEL_THREAD)
