"""Isolation: keep the work of others off the CPUs that measure, and give these back afterwards.

What measures goes into a control group of ours that is a partition: the kernel itself keeps
everybody else off its CPUs, and nothing is written of any task that we have not started. Only
version 2 of control groups can do that.

Source: Documentation/admin-guide/cgroup-v2.rst of the kernel, "cpuset.cpus.partition".
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.errors import BusyError
from tiltyard.host.changes.isolation import CONTROL, NAME, MadePartition
from tiltyard.host.ledger import Ledger
from tiltyard.host.mounts import mounts
from tiltyard.host.tasks import Task, cpu_list, parse_cpus, tasks
from tiltyard.units import count_of

_ENTER: Final = 'echo 0 > "$0" && exec "$@"'
"""Moves itself to a control group, and becomes a command."""
_NAMED: Final = 3
"""So many tasks are named that stand in the way."""


@dataclass(frozen=True)
class Isolation:
    """What was granted."""

    granted: bool
    text: str
    """What was done and what stays there, or why nothing was done."""
    command: tuple[str, ...] = ()
    """Starts what measures, so that it is on these CPUs; nothing else is."""


def isolate(
    ledger: Ledger, cpus: tuple[int, ...], note: Callable[[str], None] = lambda _: None
) -> Isolation:
    """Keep others off CPUs until the ledger takes it back.

    Args:
        ledger: has it before it is done.
        cpus: those that measure.
        note: gets what a run that was killed had left, and is put back first.

    Raises:
        BusyError: if another run has CPUs for itself, or has set something else of this machine.
        TiltyardError: if what was half done cannot be taken back.
    """
    root = _root()
    if isinstance(root, str):
        return Isolation(False, root)
    try:
        for line in ledger.hold_machine(f"CPU {cpu_list(cpus)}"):
            note(line)
        return _isolate(ledger, root, cpus)
    finally:
        ledger.let_go_of_machine()


def hindrance(cpus: tuple[int, ...]) -> str:
    """Why others could not be kept off these CPUs now; empty: they could. Nothing is changed."""
    root = _root()
    try:
        return root if isinstance(root, str) else _in_the_way(root, cpus)
    except BusyError as error:
        return str(error)


def _root() -> Path | str:
    """Where groups can be made that keep others off a CPU, or why there is no such place."""
    if os.geteuid() != 0:
        return "only root can keep others off a CPU"
    return _hierarchy("cgroup2") or _lacking()


def _isolate(ledger: Ledger, root: Path, cpus: tuple[int, ...]) -> Isolation:
    """For who holds the machine."""
    if reason := _in_the_way(root, cpus):
        return Isolation(False, reason)
    handed_down = "cpuset" in _text(root / CONTROL).split()
    made = ledger.record(
        MadePartition(root=root, group=ledger.name("measures"), handed_down=handed_down)
    )
    try:
        reason = _make(made, cpus)
    except BaseException:
        ledger.undo(made)
        raise
    if reason:
        ledger.undo(made)
        return Isolation(False, f"this host does not take it ({reason})")
    enter = ("sh", "-c", _ENTER, str(made.inside / "cgroup.procs"))
    return Isolation(True, f"CPU {cpu_list(cpus)} for what measures alone; {_staying(cpus)}", enter)


def _make(made: MadePartition, cpus: tuple[int, ...]) -> str:
    """Make the groups; why the kernel does not take it, or nothing.

    Raises:
        BusyError: if another run was first.
    """
    try:
        (made.root / CONTROL).write_text("+cpuset")
        try:
            made.path.mkdir()
        except FileExistsError:
            raise BusyError(_taken(made.path)) from None
        made.inside.mkdir()
        (made.path / "cpuset.cpus").write_text(cpu_list(cpus))
        partition = made.path / "cpuset.cpus.partition"
        partition.write_text("root")
        if (state := _text(partition)) != "root":
            return f'{partition} says "{state}"'
    except OSError as error:
        return str(error)
    # Groups with a bound of memory, which the engine makes for itself, are then inside, too.
    with contextlib.suppress(OSError):
        (made.path / CONTROL).write_text("+memory")
    return ""


def _in_the_way(root: Path, cpus: tuple[int, ...]) -> str:
    """Why it would harm somebody, or cannot be.

    Raises:
        BusyError: if another run has CPUs for itself.
    """
    if (group := root / NAME).exists():
        raise BusyError(_taken(group))
    all_cpus = set(parse_cpus(_text(root / "cpuset.cpus.effective")))
    if not all_cpus.issuperset(cpus):
        return (
            f"others have only CPU {cpu_list(all_cpus)}: the rest is not here, or somebody's alone"
        )
    if not all_cpus - set(cpus):
        return "no CPU would be left for others"
    bound = [task for task in _others() if _is_bound(task, cpus, all_cpus)]
    if not bound:
        return ""
    named = ", ".join(str(task.tid) for task in bound[:_NAMED])
    more = ", …" if len(bound) > _NAMED else ""
    return f"{count_of(len(bound), 'task')} of others bound to CPUs among these ({named}{more})"


def _is_bound(task: Task, cpus: tuple[int, ...], all_cpus: set[int]) -> bool:
    """Whether somebody has chosen CPUs for it, and would lose some of them."""
    own = set(parse_cpus(task.cpus))
    return not own >= all_cpus and not own.isdisjoint(cpus)


def _taken(group: Path) -> str:
    """Who has it, as far as it can be seen from here."""
    inside = " ".join(_text(path) for path in group.glob("**/cgroup.procs")).split()
    who = f"process {inside[0]}" if inside else "no process in it"
    return (
        f"{group} is taken by another run ({who}), perhaps of a container. Wait for its end; "
        f"if it has none any more: find {group} -depth -type d -delete"
    )


def _lacking() -> str:
    if _hierarchy("cgroup") is None:
        return "this kernel has no cpusets (control groups of version 2)"
    return (
        "with control groups of version 1 it would be the tasks of others that are moved; "
        "boot with systemd.unified_cgroup_hierarchy=1"
    )


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


def _own(found: list[Task]) -> set[int]:
    """This process and all that it has started."""
    parents = {task.pid: task.parent for task in found}
    mine = os.getpid()

    def is_ours(pid: int) -> bool:
        while pid not in (0, mine):
            pid = parents.get(pid, 0)
        return pid == mine

    return {pid for pid in parents if is_ours(pid)}


def _staying(cpus: tuple[int, ...]) -> str:
    """Who may still run there."""
    kernel = sum(
        task.is_kernel and not set(cpus).isdisjoint(parse_cpus(task.cpus)) for task in tasks()
    )
    return f"{count_of(kernel, 'thread')} of the kernel may still run there"


def _text(path: Path) -> str:
    """A setting; empty where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
