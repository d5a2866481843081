"""Control groups: those of a process and all above it, and how often their quota was used up.

A limit holds for all groups below it, so that the least of all of them counts. A container shows
its own group at best; limits that stand above that cannot be read from inside.

Source: cgroups(7); scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst of the kernel.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from typing import Final

from tiltyard.host.small_files import read_small

_PROC: Final = "/proc"
_ROOT: Final = "/sys/fs/cgroup"
QUOTA: Final = ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max")
"""The first two are of version 1."""
_BYTES: Final = 4096


def groups_of(text: str) -> dict[str, str]:
    """Controller → group, of the text of ``/proc/PID/cgroup``; that of version 2 has no name."""
    found = {}
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), group))
    return found


def directories(groups: Mapping[str, str], controller: str) -> list[str]:
    """Where a group may be, and each above it: what is mounted may begin at any of them."""
    roots, group = [_ROOT, f"{_ROOT}/unified"], groups.get("", "")
    if controller in groups:
        roots, group = [f"{_ROOT}/{controller}"], groups[controller]
    # A group outside of what a container sees begins with "/..".
    names = [] if "/.." in group else group.strip("/").split("/")
    levels = range(len(names), -1, -1) if group else ()
    found = ("/".join((root, *names[:level])).rstrip("/") for level in levels for root in roots)
    return list(dict.fromkeys(found))


def quota_cpus(quota: str) -> float | None:
    """CPUs that a group may use, of ``quota period``; ``None`` where it has no quota."""
    most, _, period = quota.partition(" ")
    return int(most) / int(period) if most.isdecimal() and period.isdecimal() else None


class QuotaWatch:
    """How often a quota held processes up; files of groups that have one stay open."""

    def __init__(self, processes: Iterable[int]) -> None:
        """Find the quotas.

        Args:
            processes: those whose groups count, with all groups above.
        """
        texts = {read_small(f"{_PROC}/{pid}/cgroup") or "" for pid in processes}
        found = {path for text in texts for path in directories(groups_of(text), "cpu")}
        self._files: list[int] = []
        for path in sorted(found):
            if _has_quota(path):
                with contextlib.suppress(OSError):
                    self._files.append(os.open(f"{path}/cpu.stat", os.O_RDONLY | os.O_CLOEXEC))

    def throttled(self) -> tuple[int, float] | None:
        """Periods in which a quota was used up, and how long CPUs were kept from it, in seconds.

        Since the groups were made; ``None`` where there is no quota, or a group has gone.
        """
        periods, waited_s = 0, 0.0
        try:
            for file in self._files:
                counts = dict(map(str.split, os.pread(file, _BYTES, 0).decode().splitlines()))
                periods += int(counts.get("nr_throttled", 0))
                waited_s += int(counts.get("throttled_time", 0)) / 1e9  # of version 1
                waited_s += int(counts.get("throttled_usec", 0)) / 1e6
        except OSError:
            return None
        return (periods, waited_s) if self._files else None

    def close(self) -> None:
        """Read no more."""
        while self._files:
            os.close(self._files.pop())


def _has_quota(group: str) -> bool:
    quota, period, both = (read_small(f"{group}/{name}") for name in QUOTA)
    return quota_cpus((both or f"{quota or ''} {period or ''}").replace("\n", "")) is not None
