"""What we ourselves may use: control groups (cgroups(7)) and limits (getrlimit(2))."""

import re
from collections.abc import Mapping

from tiltyard.host.record.section import ABSENT, Command, Section, Seen
from tiltyard.units import format_size

_OWN = "/proc/self/cgroup"
_LIMITS = "/proc/self/limits"
_STATUS = "/proc/self/status"
_ROOT = "/sys/fs/cgroup"
_UNLIMITED = 2**60
"""Version 1 says "no limit" of memory by a number near 2^63."""
_FILES: Mapping[str, tuple[str, str, str]] = {
    "memory limit": ("memory", "memory.limit_in_bytes", "memory.max"),
    "limit of processes": ("pids", "pids.max", "pids.max"),
}
_QUOTA = ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max")


def _tell(seen: Seen) -> dict[str, str]:
    groups = _groups(seen)
    told = dict(
        line.partition(":")[::2] for line in seen.answer(_command(seen)).splitlines() if ":" in line
    )
    return {
        "version of control groups": _version(groups),
        **{
            fact: _size(_first(told, groups, controller, v1, v2))
            for fact, (controller, v1, v2) in _FILES.items()
        },
        "quota of CPU time": _quota(told, groups),
        "CPUs that we may use": seen.field(_STATUS, "Cpus_allowed_list"),
        "nodes that we may use": seen.field(_STATUS, "Mems_allowed_list"),
        "open files": _limit(seen, "Max open files"),
        "locked memory": _limit(seen, "Max locked memory"),
    }


def _groups(seen: Seen) -> dict[str, str]:
    """Controller → our group; that of version 2 has no name."""
    found = {}
    for line in seen.files.get(_OWN, "").splitlines():
        _, controllers, group = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), group))
    return found


def _version(groups: Mapping[str, str]) -> str:
    old = sorted(name for name in groups if name and not name.startswith("name="))
    if not groups:
        return ABSENT
    if not old:
        return "2"
    return f"{'1 and 2' if '' in groups else '1'}; by version 1: {' '.join(old)}"


def _paths(groups: Mapping[str, str], controller: str, v1: str, v2: str) -> list[str]:
    """Where a limit of ours stands; in a container the path may begin at our own group."""
    if controller in groups:
        root = f"{_ROOT}/{controller}"
        return [f"{root}{groups[controller].rstrip('/')}/{v1}", f"{root}/{v1}"]
    if "" in groups:
        return [f"{_ROOT}{groups[''].rstrip('/')}/{v2}", f"{_ROOT}/{v2}"]
    return []


def _first(
    told: Mapping[str, str], groups: Mapping[str, str], controller: str, v1: str, v2: str
) -> str:
    paths = _paths(groups, controller, v1, v2)
    return next((told[path] for path in paths if path in told), ABSENT)


def _quota(told: Mapping[str, str], groups: Mapping[str, str]) -> str:
    """In CPUs."""
    quota = _first(told, groups, "cpu", _QUOTA[0], _QUOTA[2])
    if quota == ABSENT:
        return ABSENT
    if "cpu" in groups:
        quota = f"{quota} {_first(told, groups, 'cpu', _QUOTA[1], _QUOTA[2])}"
    most, _, period = quota.partition(" ")
    if not (most.isdigit() and period.isdigit()):
        return "none"
    return f"{int(most) / int(period):g} CPUs"


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
    groups = _groups(seen)
    wanted = [*_FILES.values(), *(("cpu", old, _QUOTA[2]) for old in _QUOTA[:2])]
    paths = dict.fromkeys(path for one in wanted for path in _paths(groups, *one))
    return ("sh", "-c", 'grep -sH "" -- "$@"; true', "sh", *paths)


def _ask(seen: Seen) -> list[Command]:
    return [_command(seen)] if _groups(seen) else []


SECTION = Section(name="limits", tell=_tell, files=(_OWN, _LIMITS, _STATUS), ask=_ask)
