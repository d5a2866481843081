"""Isolation: keep the work of others off the CPUs that measure, and put it back afterwards.

With control groups of version 1 all tasks of others are moved into a cpuset without those CPUs;
with version 2 the groups at the top are told to do without them, and this process leaves for a
group of its own. Threads of the kernel stay where they are, because most of them belong to one
CPU; how many there are is said.

Source: Documentation/admin-guide/cgroup-v1/cpusets.rst and cgroup-v2.rst of the kernel.
"""

import contextlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.host.changes.isolation import (
    MovedTasks,
    Origin,
    RestrictedGroups,
    move,
    same_cpus,
)
from tiltyard.host.ledger import Ledger
from tiltyard.host.mounts import mounts
from tiltyard.host.tasks import Task, parse_cpus, tasks
from tiltyard.units import count_of

_PASSES = 5
"""Tasks are started while others are moved."""


@dataclass(frozen=True)
class Isolation:
    """What was granted."""

    granted: bool
    text: str
    """What was done and what stays there, or why nothing was done."""


def isolate(ledger: Ledger, cpus: tuple[int, ...]) -> Isolation:
    """Keep others off CPUs until the ledger takes it back.

    Args:
        ledger: knows beforehand where everything was.
        cpus: those that measure.

    Raises:
        HostLacksError: if the kernel does not take it; the ledger takes back what was done.
    """
    rest = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0) - set(cpus)))
    if os.geteuid() != 0:
        return Isolation(False, "only root can keep others off a CPU")
    if not rest:
        return Isolation(False, "no CPU would be left for others")
    for pid, change in ledger.changes_of_other_processes():
        # Where tasks were before that one, only that one knows.
        if isinstance(change, MovedTasks | RestrictedGroups):
            return Isolation(False, f"another run (process {pid}) keeps others off CPUs")
    if (old := _hierarchy("cgroup")) is not None:
        done = move_others(ledger, old, rest)
    elif (new := _hierarchy("cgroup2")) is not None:
        done = restrict_groups(ledger, new, rest)
    else:
        return Isolation(False, "this kernel has no cpusets (cgroup version 1 or 2)")
    return Isolation(True, f"{done}; {_staying(cpus)}")


def isolate_if_harmless(ledger: Ledger, cpus: tuple[int, ...]) -> Isolation:
    """The same where nobody has asked for it: only if it harms nobody, and never an error.

    Harmed would be another run, whose CPUs would change while it measures, and whoever has bound
    tasks to these CPUs and to no others.
    """
    if reason := _harm(ledger, cpus):
        return Isolation(False, reason)
    try:
        return isolate(ledger, cpus)
    except (TiltyardError, OSError) as error:
        for change in reversed(ledger.outstanding):
            if isinstance(change, MovedTasks | RestrictedGroups):
                ledger.undo(change)
        return Isolation(False, f"this host does not take it ({error})")


def _harm(ledger: Ledger, cpus: tuple[int, ...]) -> str:
    """Whom it would harm; empty: nobody."""
    if (run := next(ledger.changes_of_other_processes(), None)) is not None:
        return f"another run (process {run[0]}) is under way"
    bound = [task for task in _others() if set(parse_cpus(task.cpus)) <= set(cpus)]
    return f"tasks of others are bound to just these CPUs ({len(bound)})" if bound else ""


def move_others(
    ledger: Ledger,
    root: Path,
    rest: str,
    others: Callable[[], Iterable[Task]] | None = None,
) -> str:
    """Move tasks to the rest of the CPUs: version 1.

    Args:
        ledger: knows beforehand where they were.
        root: of the hierarchy.
        rest: CPUs for them, ``0-2``.
        others: whom to move; by default all but this process, what it has started, and threads
            of the kernel.

    Returns:
        What was done.
    """
    listed = others or _others
    name = ledger.name("others")
    path = root / name
    origins: dict[int, Origin] = {}
    for _ in range(_PASSES):
        found = [task for task in listed() if task.group != f"/{name}"]
        fresh = {one.tid: Origin(group=one.group, cpus=one.cpus) for one in found}
        if not fresh.keys() - origins.keys():
            break
        origins |= fresh
        ledger.record(MovedTasks(root=root, group=name, origins=origins))
        if not path.is_dir():
            _make(path, {"cpuset.cpus": rest, "cpuset.mems": _text(root / "cpuset.mems")})
        for tid in fresh:
            with contextlib.suppress(OSError):
                move(tid, path / "tasks")
    inside = len(_text(path / "tasks").split()) if path.is_dir() else 0
    return f"{count_of(inside, 'task')} of others moved to CPU {rest}"


def restrict_groups(ledger: Ledger, root: Path, rest: str) -> str:
    """Tell the groups at the top to do without some CPUs, and leave them: version 2.

    Args:
        ledger: knows beforehand what they had.
        root: of the hierarchy.
        rest: CPUs for them.

    Returns:
        What was done.

    Raises:
        HostLacksError: if a group does not take it.
    """
    name = ledger.name("measuring")
    control = root / "cgroup.subtree_control"
    at_top = sorted(path.parent for path in root.glob("*/cgroup.procs"))
    home = next((task.group for task in tasks() if task.tid == os.getpid()), "/")
    ledger.record(
        RestrictedGroups(
            root=root,
            group=name,
            home=home,
            handed_down="cpuset" in _text(control).split(),
            before={group.name: _text(group / "cpuset.cpus") for group in at_top},
            rest=rest,
        )
    )
    control.write_text("+cpuset")
    (root / name).mkdir()
    move(os.getpid(), root / name / "cgroup.procs")
    for group in at_top:
        setting = group / "cpuset.cpus"
        setting.write_text(rest)
        if not same_cpus(_text(setting), rest):
            raise HostLacksError(f'{setting}: "{rest}" is not taken')
    return f"{count_of(len(at_top), 'group')} of others kept to CPU {rest}"


def _hierarchy(type_: str) -> Path | None:
    """Where control groups with cpusets are mounted."""
    for mount in mounts():
        controllers = _text(mount.target / "cgroup.controllers").split()
        has_cpusets = "cpuset" in (*mount.options.split(","), *controllers)
        if mount.type == type_ and has_cpusets:
            return mount.target
    return None


def _others() -> list[Task]:
    """All tasks but ours and those of the kernel."""
    found = list(tasks())
    ours = _own(found)
    return [task for task in found if not task.is_kernel and task.pid not in ours]


def _own(found: Iterable[Task]) -> set[int]:
    """This process and all that it has started."""
    parents = {task.pid: task.parent for task in found}
    mine = os.getpid()

    def is_ours(pid: int) -> bool:
        while pid not in (0, mine):
            pid = parents.get(pid, 0)
        return pid == mine

    return {pid for pid in parents if is_ours(pid)}


def _staying(cpus: tuple[int, ...]) -> str:
    """Who may still run there: what could not be moved."""
    found = list(tasks())
    ours = _own(found)
    there = [
        task
        for task in found
        if task.pid not in ours and not set(cpus).isdisjoint(parse_cpus(task.cpus))
    ]
    kernel = sum(task.is_kernel for task in there)
    others = (
        f"{count_of(len(there) - kernel, 'task')} of others and " if len(there) > kernel else ""
    )
    return f"{others}{kernel} threads of the kernel may still run there"


def _make(group: Path, settings: dict[str, str]) -> None:
    """A group with its settings."""
    group.mkdir()
    for name, value in settings.items():
        (group / name).write_text(value)


def _text(path: Path) -> str:
    """A setting; empty where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
