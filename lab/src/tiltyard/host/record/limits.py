"""What we ourselves may use: control groups (cgroups(7)) and limits (getrlimit(2)).

A limit holds for all groups below it, so that the least of all of them counts. A container shows
its own group at best; limits that stand above that cannot be read from inside.

Source: scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst of the kernel.
"""

import re
from collections.abc import Mapping
from typing import Final

from tiltyard.host.cpus import parse_cpus
from tiltyard.host.record.section import ABSENT, Command, Section, Seen
from tiltyard.units import format_size

_OWN = "/proc/self/cgroup"
_LIMITS = "/proc/self/limits"
_STATUS = "/proc/self/status"
_VISIBLE = "/proc/self/ns/cgroup"
_ALL_VISIBLE = "cgroup:[4026531835]"
"""The namespace of the host itself (PROC_CGROUP_INIT_INO of the kernel)."""
_UNLIMITED = 2**60
"""Version 1 says "no limit" of memory by a number near 2^63."""
_FILES: Mapping[str, tuple[str, str, str]] = {
    "memory limit": ("memory", "memory.limit_in_bytes", "memory.max"),
    "limit of processes": ("pids", "pids.max", "pids.max"),
}
_GROUPS: Final = "/sys/fs/cgroup"
_QUOTA_FILES: Final = ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max")
"""The first two are of version 1."""
CPU_QUOTA: Final = "quota of CPU time"


def _groups_of(text: str) -> dict[str, str]:
    """Controller → group, of the text of ``/proc/PID/cgroup``; that of version 2 has no name."""
    found = {}
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), group))
    return found


def _directories(groups: Mapping[str, str], controller: str) -> list[str]:
    """Where a group may be, and each above it: what is mounted may begin at any of them."""
    roots, group = [_GROUPS, f"{_GROUPS}/unified"], groups.get("", "")
    if controller in groups:
        roots, group = [f"{_GROUPS}/{controller}"], groups[controller]
    # A group outside of what a container sees begins with "/..".
    names = [] if "/.." in group else group.strip("/").split("/")
    levels = range(len(names), -1, -1) if group else ()
    found = ("/".join((root, *names[:level])).rstrip("/") for level in levels for root in roots)
    return list(dict.fromkeys(found))


def _quota_cpus(quota: str) -> float | None:
    """CPUs that a group may use, of ``quota period``; ``None`` where it has no quota."""
    most, _, period = quota.partition(" ")
    return int(most) / int(period) if most.isdecimal() and period.isdecimal() else None


def _tell(seen: Seen) -> dict[str, str]:
    groups = _groups_of(seen.files.get(_OWN, ""))
    told = dict(
        line.partition(":")[::2] for line in seen.answer(_command(seen)).splitlines() if ":" in line
    )
    return {
        "version of control groups": _version(groups),
        **{
            fact: _size(_least(told, _paths(groups, controller, v1, v2)))
            for fact, (controller, v1, v2) in _FILES.items()
        },
        CPU_QUOTA: _quota(told, groups, seen),
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


def _paths(groups: Mapping[str, str], controller: str, v1: str, v2: str) -> list[str]:
    """Where a limit of ours may stand, and of each group above."""
    name = v1 if controller in groups else v2
    return [f"{group}/{name}" for group in _directories(groups, controller)]


def _least(told: Mapping[str, str], paths: list[str]) -> str:
    found = [told[path] for path in paths if path in told]
    return min(filter(str.isdecimal, found), key=int, default=found[0] if found else ABSENT)


def _quota(told: Mapping[str, str], groups: Mapping[str, str], seen: Seen) -> str:
    """``0.5 of 2 CPUs``: the least of our group and of those above it that can be seen."""
    quotas, periods = (_paths(groups, "cpu", old, _QUOTA_FILES[2]) for old in _QUOTA_FILES[:2])
    texts = [told.get(path, "") for path in quotas]
    if "cpu" in groups:
        texts = [f"{text} {told.get(path, '')}" for text, path in zip(texts, periods, strict=True)]
    if not any(map(str.strip, texts)):
        return ABSENT
    found = [cpus for text in texts if (cpus := _quota_cpus(text)) is not None]
    if not found:
        return "none" if _sees_all(groups, texts, seen) else "none that is visible from inside"
    least, allowed = min(found), seen.field(_STATUS, "Cpus_allowed_list")
    if allowed == ABSENT:
        return f"{least:g} CPUs"
    count = len(list(parse_cpus(allowed)))
    return f"{least:g} of {count} CPUs" if least < count else f"none below {count} CPUs"


def quota_of(record: Mapping[str, Mapping[str, str]]) -> str:
    """``0.5 of 2 CPUs``, of a system record; empty where no quota is seen."""
    quota = record.get(SECTION.name, {}).get(CPU_QUOTA, ABSENT)
    return "" if quota.startswith(("none", ABSENT)) else quota


def _sees_all(groups: Mapping[str, str], texts: list[str], seen: Seen) -> bool:
    """Whether no group above is hidden: by a namespace, or by a mount that begins at our group."""
    namespace = seen.links.get(_VISIBLE, _ALL_VISIBLE)
    return namespace.endswith(_ALL_VISIBLE) and ("cpu" not in groups or bool(texts[0].strip()))


def _size(text: str) -> str:
    if not text.isdigit():
        return "none" if text == "max" else text
    if int(text) < 2**20:
        return text
    return format_size(int(text)) if int(text) < _UNLIMITED else "none"


def _limit(seen: Seen, name: str) -> str:
    match = re.search(rf"^{name}\s+(\S+)", seen.files.get(_LIMITS, ""), re.MULTILINE)
    return match[1] if match else ABSENT


def _command(seen: Seen) -> Command:
    """Reads the limits of our groups; their paths are known only by now."""
    groups = _groups_of(seen.files.get(_OWN, ""))
    wanted = [*_FILES.values(), *(("cpu", old, _QUOTA_FILES[2]) for old in _QUOTA_FILES[:2])]
    paths = dict.fromkeys(path for one in wanted for path in _paths(groups, *one))
    return ("sh", "-c", 'grep -sH "" -- "$@"; true', "sh", *paths)


def _ask(seen: Seen) -> list[Command]:
    return [_command(seen)] if seen.files.get(_OWN) else []


SECTION = Section(
    name="limits", tell=_tell, files=(_OWN, _LIMITS, _STATUS), links=(_VISIBLE,), ask=_ask
)
