"""Pressure stall information (accounting/psi.rst of the kernel): time in which tasks waited.

The figures of the whole machine contain our own trial and the kernel threads that work for it. What
can be told apart is a control group (version 2) beside ours: nothing of ours, and no kernel
thread, is in it. Where all processes share the root group there is none.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from tiltyard.host.small_files import read_small

RESOURCES = ("cpu", "io", "memory")
_PROC = Path("/proc")
_CGROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))


def waited_s(file: Path) -> float | None:
    """Time in which some task waited, since boot; ``None`` where the kernel does not say."""
    text = read_small(file)
    if text is None:
        return None
    some = next((line for line in text.splitlines() if line.startswith("some ")), "")
    _, found, total_us = some.rpartition("total=")
    return int(total_us) / 1e6 if found else None


def machine_waited_s(resource: str) -> float | None:
    """The same of the whole machine, ourselves included."""
    return waited_s(_PROC / "pressure" / resource)


def groups_of_others(ours: Iterable[int] = ()) -> list[Path]:
    """The control groups beside ours, at each level down to it; empty where all share one.

    Args:
        ours: processes of ours that may be in other groups than this one.
    """
    path = _group_of("self")
    if path is None:
        return []
    root, names = path
    found = []
    for depth, name in enumerate(names):
        parent = root.joinpath(*names[:depth])
        with os.scandir(parent) as entries:
            found += [parent / one.name for one in entries if one.name != name and one.is_dir()]
    also = [root.joinpath(*group[1]) for pid in ours if (group := _group_of(str(pid)))]
    return sorted(one for one in found if not any(own.is_relative_to(one) for own in also))


def others_waited_s(ours: Iterable[int] = ()) -> dict[tuple[Path, str], float]:
    """(group, resource) → time so far, of every group of others that tells."""
    return {
        (group, resource): waited
        for group in groups_of_others(ours)
        for resource in RESOURCES
        if (waited := waited_s(group / f"{resource}.pressure")) is not None
    }


def longest_waits_s(
    before: dict[tuple[Path, str], float], now: dict[tuple[Path, str], float]
) -> dict[str, float] | None:
    """Resource → the longest time that one group of others waited for it.

    Groups wait at the same time, so that a sum would count seconds twice. ``None`` where nothing
    can be told apart; a group that was made meanwhile counts in full.
    """
    if not now:
        return None
    waits = dict.fromkeys(RESOURCES, 0.0)
    for (group, resource), waited in now.items():
        grown = waited - before.get((group, resource), 0.0)
        waits[resource] = max(waits[resource], grown)
    return waits


def _group_of(process: str) -> tuple[Path, tuple[str, ...]] | None:
    """Where version 2 is mounted, and the group of a process in it; ``None`` if there is none."""
    root = next((path for path in _CGROUPS if (path / "cgroup.controllers").exists()), None)
    lines = (read_small(_PROC / process / "cgroup") or "").splitlines()
    own = next((line[3:] for line in lines if line.startswith("0::")), None)
    if root is None or own is None:
        return None
    return root, Path(own).relative_to("/").parts
