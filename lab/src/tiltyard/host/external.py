"""What others did on the CPUs that measure: their time there, and what the hypervisor took.

Others' time is what the CPUs spent in processes (``/proc/stat``: user, nice, system; that of guests
is in them) less what is ours: the lab and all that it has started, the servers of the system under
test, and threads of the kernel that ran there last, because they may work for us. Time in
interrupts belongs to nobody, and our own input and output cause it too.

So the system's own work is no part of it, but for that of kernel threads which ended meanwhile; the
price is to miss some of others'. The kernel counts the CPUs in ticks, and ours as it was: a
difference below zero is chance, and counts as none. Where nothing is left without them, the threads
of the kernel are not read, for they are most of what there is; what they used since they were read
is taken off the next time.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.host.place import HERE
from tiltyard.host.processes import CpuUse, OpenProcesses, cpu_uses, descendants, numbers

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
    cpus: int
    """How many CPUs that is of."""


class ExternalWatch:
    """The counters of all CPUs and processes from now on; which CPUs matter is said afterwards."""

    def __init__(self, servers: Callable[[], Sequence[int]] = lambda: ()) -> None:
        """Read them.

        Args:
            servers: asks for the processes that belong to the system under test, each time.
        """
        self._servers = servers
        self._open = OpenProcesses()
        self._strangers: set[int] = set()
        """Neither ours nor the kernel's, which they cannot become: of use to nobody."""
        self._kernel: dict[int, CpuUse] = {}
        """Its threads, when they were read last."""
        self._ours = self._read_ours()
        self._kernel = self._read_kernel()
        self._cpus = _cpus()

    def seen(self, cpus: Sequence[int] | None) -> External | None:
        """What others used since then, or since it was asked before.

        Args:
            cpus: their numbers; none: all. ``None``: they are not known.

        Returns:
            ``None`` also where the kernel does not say.
        """
        was, old = self._cpus, self._ours
        now, ours = self._cpus, self._ours = _cpus(), self._read_ours()
        asked = set() if cpus is None else set(cpus or now)
        if not asked or not asked <= now.keys() & was.keys():
            return None
        ticks = [
            [after - before for before, after in zip(was[cpu], now[cpu], strict=True)]
            for cpu in asked
        ]
        tick_s = 1 / os.sysconf("SC_CLK_TCK")
        left_s = tick_s * sum(sum(each[_PROCESSES]) for each in ticks)
        left_s -= _grown_s(old, (use for use in ours.values() if _may_run(use.pid, asked)))
        if left_s > 0:
            old, self._kernel = self._kernel, self._read_kernel()
            left_s -= _grown_s(old, (use for use in self._kernel.values() if use.cpu in asked))
        tells_steal = all(len(each) > _STEAL for each in ticks)
        return External(
            cpu_s=max(0.0, left_s),
            steal_s=tick_s * sum(each[_STEAL] for each in ticks) if tells_steal else None,
            cpus=len(asked),
        )

    def _read_ours(self) -> dict[int, CpuUse]:
        """What is ours; strangers and threads of the kernel are told apart from it once."""
        there = set(numbers())
        self._strangers &= there
        self._kernel = {pid: use for pid, use in self._kernel.items() if pid in there}
        found = {use.pid: use for use in cpu_uses(there - self._strangers - self._kernel.keys())}
        # One that has begun since the others were read is taken off with all that it used.
        began = {pid: use._replace(used_s=0.0) for pid, use in found.items() if use.is_kernel}
        self._kernel |= began
        mine = descendants(os.getpid(), found.values()).union(self._servers()) - began.keys()
        self._strangers |= found.keys() - mine - began.keys()
        return {pid: use for pid, use in found.items() if pid in mine}

    def _read_kernel(self) -> dict[int, CpuUse]:
        return {use.pid: use for use in self._open.cpu_uses(self._kernel)}

    def close(self) -> None:
        """Its files."""
        self._open.close()


def _grown_s(before: Mapping[int, CpuUse], now: Iterable[CpuUse]) -> float:
    """What was used since then, all of it by one that was not there."""
    uses = ((use, before.get(use.pid)) for use in now)
    return sum(max(0.0, use.used_s - (old.used_s if old else 0.0)) for use, old in uses)


def _may_run(pid: int, cpus: set[int]) -> bool:
    """Whether a process may have run there; one that has ended may."""
    try:
        return not cpus.isdisjoint(os.sched_getaffinity(pid))
    except ProcessLookupError:
        return True


def _cpus() -> dict[int, list[int]]:
    """Number of each CPU that is online → its ticks: user, nice, system, idle … as proc(5) has."""
    found = {}
    for line in (HERE.read(_STAT) or "").splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu":
            found[int(name.removeprefix("cpu"))] = [int(each) for each in ticks]
    return found
