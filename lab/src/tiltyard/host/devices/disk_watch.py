"""How much of a disk's traffic was ours, and how much was not.

No counter says whose a byte was that went to a disk: write-back is done by kernel threads, for
whoever wrote. What can be told:

* A file system on a loop device is ours alone, so what its disk moved beyond the loop device is
  others'. That holds where the file system below overwrites an image in place; one that copies on
  write moves more than it was given.
* What each other process has moved says the kernel to root (``/proc/PID/io``, proc(5)); that of
  processes that have ended is in the figure of the one that waited for them. The sum over all is
  an upper bound for one disk, for there may be several.
* What the engine fetched is in its resource usage (getrusage(2), ``ru_inblock``). What it wrote is
  not all there: journals and other metadata are missing, so a disk that we share is judged by the
  smaller of two bounds: its traffic less what the engine fetched, and the sum over other processes.

Where neither way is open, foreign traffic is not available.
"""

import os
import resource
from pathlib import Path

from tiltyard.host.devices.disks import SECTOR_BYTES, Stack, Traffic, stack_under
from tiltyard.host.processes import KERNEL_THREAD, descendants

_PROC = Path("/proc")
_IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs", "vfat", "exfat"})
"""File systems that overwrite a file that is laid out where it is."""


class DiskWatch:
    """The traffic of the disk under a directory, from now on."""

    def __init__(self, directory: Path) -> None:
        """Read all counters; the engine has not been started yet."""
        self._stack = stack_under(directory)
        if self._stack is None:
            return
        self._needs_others = self._stack.loop is None or self._stack.below not in _IN_PLACE
        self._before = _traffic(self._stack)
        self._others = _moved_by_others() if self._needs_others else None
        self._lab_bytes, self._fetched_bytes = _lab_bytes(), _children_fetched_bytes()

    def seen(self) -> tuple[int | None, int | None]:
        """Bytes of ours and of others since then; ``None``: cannot be told.

        The engine has ended and was waited for.
        """
        if self._stack is None or self._before is None:
            return None, None
        now = _traffic(self._stack)
        if now is None:
            return None, None
        disk = now[0].since(self._before[0]).both_bytes
        loop = now[1].since(self._before[1]).both_bytes
        known = loop if self._stack.loop else _children_fetched_bytes() - self._fetched_bytes
        beyond = max(0, disk - known - (_lab_bytes() - self._lab_bytes))
        if not self._needs_others:
            return loop, beyond
        others = _moved_by_others()
        if self._others is None or others is None:
            foreign = None
        else:
            foreign = min(beyond, max(0, others - self._others))
        return (loop if self._stack.loop else disk - (foreign or 0)), foreign


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


def _moved_by_others() -> int | None:
    """Bytes so far of all processes but this one and what it has started, which may serve a system.

    ``None`` if we may not see those of others. Kernel threads work for everybody, us included, and
    are left out.
    """
    if os.geteuid() != 0:
        return None
    others = (entry for entry in _PROC.iterdir() if entry.name.isdecimal())
    ours = descendants(os.getpid())
    moved = {entry: _moved_bytes(entry) for entry in others if int(entry.name) not in ours}
    return sum(count for entry, count in moved.items() if count and not _is_kernel_thread(entry))


def _moved_bytes(process: Path) -> int:
    """Bytes that a process fetched from disks or made dirty; 0 if it has gone."""
    try:
        lines = dict(line.split(": ") for line in (process / "io").read_text().splitlines())
    except OSError:
        return 0
    return int(lines["read_bytes"]) + int(lines["write_bytes"])


def _is_kernel_thread(process: Path) -> bool:
    """Whether it is one; a process that has gone meanwhile is not."""
    try:
        fields = (process / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return False
    return bool(int(fields[6]) & KERNEL_THREAD)
