"""What we ourselves may use: control groups (cgroups(7)) and limits (getrlimit(2)).

A limit holds for all groups below it, so that the least of all of them counts. A container shows
its own group at best; limits that stand above that cannot be read from inside.

Source: scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst of the kernel.
"""

import re
from collections.abc import Mapping
from typing import Final

from tiltyard.host.cpus import parse_cpus
from tiltyard.host.record.section import ABSENT, Section, Seen
from tiltyard.units import format_size

_OWN = "/proc/self/cgroup"
_LIMITS = "/proc/self/limits"
_STATUS = "/proc/self/status"
_VISIBLE = "/proc/self/ns/cgroup"
_ALL_VISIBLE = "cgroup:[4026531835]"
"""The namespace of the host itself (PROC_CGROUP_INIT_INO of the kernel)."""
_UNLIMITED = 2**60
"""Version 1 says "no limit" of memory by a number near 2^63."""
_MEMORY: Final = ("memory.limit_in_bytes", "memory.max")
_QUOTA, _PERIOD, _BOTH = "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max"
"""The first two are of version 1."""
_PROCESSES: Final = "pids.max"
_GROUPS: Final = "/sys/fs/cgroup/"
CPU_QUOTA: Final = "quota of CPU time"


def _groups_of(text: str) -> dict[str, str]:
    """Controller → group, of the text of ``/proc/PID/cgroup``; that of version 2 has no name."""
    found = {}
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), group))
    return found


def _quota_cpus(quota: str) -> float | None:
    """CPUs that a group may use, of ``quota period``; ``None`` where it has no quota."""
    most, _, period = quota.partition(" ")
    return int(most) / int(period) if most.isdecimal() and period.isdecimal() else None


def _tell(seen: Seen) -> dict[str, str]:
    groups = _groups_of(seen.files.get(_OWN, ""))
    return {
        "version of control groups": _version(groups),
        "memory limit": _size(_least(seen, *_MEMORY)),
        "limit of processes": _size(_least(seen, _PROCESSES)),
        CPU_QUOTA: _quota(groups, seen),
        "CPUs that we may use": seen.field(_STATUS, "Cpus_allowed_list"),
        "nodes that we may use": seen.field(_STATUS, "Mems_allowed_list"),
        "open files": _limit(seen, "Max open files"),
        "locked memory": _limit(seen, "Max locked memory"),
    }


def _version(groups: Mapping[str, str]) -> str:
    old = sorted(name for name in groups if name and not name.startswith("name="))
    if not groups:
        return ABSENT
    if not old:
        return "2"
    return f"{'1 and 2' if '' in groups else '1'}; by version 1: {' '.join(old)}"


def _of_groups(seen: Seen, *names: str) -> dict[str, str]:
    """Path → text of what a file of these names tells, of our group and of those above."""
    return {
        path: text
        for path, text in seen.files.items()
        if path.startswith(_GROUPS) and path.rpartition("/")[2] in names
    }


def _least(seen: Seen, *names: str) -> str:
    found = list(_of_groups(seen, *names).values())
    return min(filter(str.isdecimal, found), key=int, default=found[0] if found else ABSENT)


def _quota(groups: Mapping[str, str], seen: Seen) -> str:
    """``0.5 of 2 CPUs``: the least of our group and of those above it that can be seen."""
    texts = list(_of_groups(seen, _BOTH).values())
    for path, text in _of_groups(seen, _QUOTA).items():
        texts.append(f"{text} {seen.files.get(path.replace(_QUOTA, _PERIOD), '')}")
    if not texts:
        return ABSENT
    found = [cpus for text in texts if (cpus := _quota_cpus(text)) is not None]
    if not found:
        return "none" if _sees_all(groups, seen) else "none that is visible from inside"
    least, allowed = min(found), seen.field(_STATUS, "Cpus_allowed_list")
    if allowed == ABSENT:
        return f"{least:g} CPUs"
    count = len(list(parse_cpus(allowed)))
    return f"{least:g} of {count} CPUs" if least < count else f"none below {count} CPUs"


def quota_of(record: Mapping[str, Mapping[str, str]]) -> str:
    """``0.5 of 2 CPUs``, of a system record; empty where no quota is seen."""
    quota = record.get(SECTION.name, {}).get(CPU_QUOTA, ABSENT)
    return "" if quota.startswith(("none", ABSENT)) else quota


def _sees_all(groups: Mapping[str, str], seen: Seen) -> bool:
    """Whether no group above is hidden: by a namespace, or by a mount that begins at our group."""
    namespace = seen.links.get(_VISIBLE, _ALL_VISIBLE)
    own = f"{_GROUPS}cpu{groups.get('cpu', '').rstrip('/')}/{_QUOTA}"
    return namespace.endswith(_ALL_VISIBLE) and ("cpu" not in groups or own in seen.files)


def _size(text: str) -> str:
    if not text.isdigit():
        return "none" if text == "max" else text
    if int(text) < 2**20:
        return text
    return format_size(int(text)) if int(text) < _UNLIMITED else "none"


def _limit(seen: Seen, name: str) -> str:
    match = re.search(rf"^{name}\s+(\S+)", seen.files.get(_LIMITS, ""), re.MULTILINE)
    return match[1] if match else ABSENT


SECTION = Section(
    name="limits",
    tell=_tell,
    files=(_OWN, _LIMITS, _STATUS),
    links=(_VISIBLE,),
    limits=(*_MEMORY, _PROCESSES, _QUOTA, _PERIOD, _BOTH),
)
