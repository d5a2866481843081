"""What others did on the CPUs that measure: their time there, and what the hypervisor took.

Others' time is what the CPUs spent in processes (``/proc/stat``: user, nice, system; that of guests
is in them) less what is ours: the lab and all that it has started, the servers of the system under
test, and threads of the kernel that ran there last, because they may work for us. Time in
interrupts belongs to nobody, and our own input and output cause it too.

So the system's own work is no part of it, but for that of kernel threads which ended meanwhile; the
price is to miss some of others'. The kernel counts the CPUs in ticks, and ours as it was: a
difference below zero is chance, and counts as none.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.host.place import HERE
from tiltyard.host.processes import CpuUse, cpu_uses, descendants, numbers

_STAT: Final = Path("/proc/stat")
_PROCESSES: Final = slice(0, 3)
"""User, nice and system."""
_STEAL: Final = 7


@dataclass(frozen=True)
class External:
    """What others had of some CPUs."""

    cpu_s: float
    steal_s: float | None
    """``None`` where the kernel does not count it."""


class ExternalWatch:
    """The counters of all CPUs and processes from now on; which CPUs matter is said afterwards."""

    def __init__(self, servers: Sequence[int] = ()) -> None:
        """Read them.

        Args:
            servers: processes that belong to the system under test.
        """
        self._servers = frozenset(servers)
        self._strangers: set[int] = set()
        """Neither ours nor the kernel's, which they cannot become: of use to nobody."""
        self._processes = _processes(self._strangers)
        self._forget_strangers()
        self._cpus = _cpus()

    def seen(self, cpus: Sequence[int] | None) -> External | None:
        """What others used since then, or since it was asked before.

        Args:
            cpus: their numbers; none: all. ``None``: they are not known.

        Returns:
            ``None`` also where the kernel does not say.
        """
        was, old = self._cpus, self._processes
        now, processes = self._cpus, self._processes = _cpus(), _processes(self._strangers)
        mine = self._forget_strangers()
        asked = set() if cpus is None else set(cpus or now)
        if not asked or not asked <= now.keys() & was.keys():
            return None
        ticks = [
            [after - before for before, after in zip(was[cpu], now[cpu], strict=True)]
            for cpu in asked
        ]
        tick_s = 1 / os.sysconf("SC_CLK_TCK")
        busy_s = tick_s * sum(sum(each[_PROCESSES]) for each in ticks)
        tells_steal = all(len(each) > _STEAL for each in ticks)
        return External(
            cpu_s=max(0.0, busy_s - _ours_s(old, processes, mine, asked)),
            steal_s=tick_s * sum(each[_STEAL] for each in ticks) if tells_steal else None,
        )

    def _forget_strangers(self) -> set[int]:
        """Those among the processes that were read are not read again; the rest that is ours."""
        mine = descendants(os.getpid(), self._processes.values()) | self._servers
        self._strangers |= {
            pid for pid, use in self._processes.items() if not use.is_kernel and pid not in mine
        }
        return mine


def _ours_s(
    before: Mapping[int, CpuUse], now: Mapping[int, CpuUse], mine: set[int], cpus: set[int]
) -> float:
    """What we used, on these CPUs as far as that is known."""
    return sum(
        max(0.0, use.used_s - (old.used_s if (old := before.get(pid)) else 0.0))
        for pid, use in now.items()
        if (use.cpu in cpus if use.is_kernel else pid in mine and _may_run(pid, cpus))
    )


def _may_run(pid: int, cpus: set[int]) -> bool:
    """Whether a process may have run there; one that has ended may."""
    try:
        return not cpus.isdisjoint(os.sched_getaffinity(pid))
    except ProcessLookupError:
        return True


def _processes(strangers: set[int]) -> dict[int, CpuUse]:
    """All but strangers; those of them that have ended are taken out, as numbers come again."""
    there = numbers()
    strangers.intersection_update(there)
    return {use.pid: use for use in cpu_uses(pid for pid in there if pid not in strangers)}


def _cpus() -> dict[int, list[int]]:
    """Number of each CPU that is online → its ticks: user, nice, system, idle … as proc(5) has."""
    found = {}
    for line in (HERE.read(_STAT) or "").splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu":
            found[int(name.removeprefix("cpu"))] = [int(each) for each in ticks]
    return found
