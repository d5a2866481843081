"""Control groups: those of a process and all above it.

A limit holds for all groups below it, so that the least of all of them counts. A container shows
its own group at best; limits that stand above that cannot be read from inside.

Source: cgroups(7); scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst of the kernel.
"""

from collections.abc import Mapping
from typing import Final

_ROOT: Final = "/sys/fs/cgroup"
QUOTA: Final = ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max")
"""The first two are of version 1."""


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
