"""Changes of who may use which CPU: cpusets of version 1, groups of version 2.

The rules are those of :mod:`tiltyard.host.changes`: an ``undo`` acts only on what is there and
still ours, says what it did, and returns ``None`` if nothing was left to do.
"""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host.changes.change import PREFIX, HostChange
from tiltyard.host.tasks import parse_cpus, tasks
from tiltyard.units import count_of

_PASSES = 20
"""Tasks come and go while they are moved."""
_PAUSE_S = 0.02


class Origin(HostChange):
    """Where a task was."""

    group: str
    cpus: str
    """Where it might run: a task that had pinned itself is pinned again."""


class MovedTasks(HostChange):
    """Tasks of others, in a cpuset of ours (version 1)."""

    kind: Literal["moved-tasks"] = "moved-tasks"
    root: Path
    """Of the hierarchy."""
    group: str = Field(pattern=rf"^{PREFIX}[A-Za-z0-9.-]+$")
    origins: dict[int, Origin]

    @property
    def path(self) -> Path:
        """The group's directory."""
        return self.root / self.group

    @property
    def for_ours(self) -> Path:
        """Where those are written who have all CPUs."""
        return self.root / "tasks"

    lives_in_kernel: ClassVar = True

    def undo(self) -> str | None:
        """Put every task back where it was, and what it has started meanwhile with it."""
        if not self.path.is_dir():
            return None
        moved: set[int] = set()
        for _ in range(_PASSES):
            inside = [int(word) for word in (self.path / "tasks").read_text().split()]
            if not inside:
                break
            parents = {task.tid: task.parent for task in tasks()}
            for tid in inside:
                self._put_back(tid, self._origin(tid, parents))
            moved.update(inside)
            time.sleep(_PAUSE_S)
        _remove(self.path)
        return f"put {count_of(len(moved), 'task')} back to their CPUs"

    def _put_back(self, tid: int, origin: Origin) -> None:
        """A group that is gone is taken for the root.

        The kernel refuses threads that it may move by itself only, for a moment or for good (those
        of io_uring): the next pass tries again, and what stays keeps the group from being removed.
        """
        group = self.root / origin.group.lstrip("/")
        with _while_refused():
            move(tid, (group if group.is_dir() else self.root) / "tasks")
            wanted = set(parse_cpus(origin.cpus))
            if os.sched_getaffinity(tid) != wanted:
                os.sched_setaffinity(tid, wanted)

    def _origin(self, tid: int, parents: dict[int, int]) -> Origin:
        """Its own, or that of the nearest one of those that it comes from."""
        while tid and tid not in self.origins:
            tid = parents.get(tid, 0)
        everything = (self.root / "cpuset.cpus").read_text().strip()
        return self.origins.get(tid, Origin(group="/", cpus=everything))


class RestrictedGroups(HostChange):
    """Groups of others that do without some CPUs, and this process in a group of ours (version 2).

    Only groups at the top are told; what is below them cannot have more.
    """

    kind: Literal["restricted-groups"] = "restricted-groups"
    root: Path
    """Of the hierarchy."""
    group: str = Field(pattern=rf"^{PREFIX}[A-Za-z0-9.-]+$")
    home: str
    """Group that this process was in."""
    handed_down: bool
    """Whether groups had cpusets before."""
    before: dict[str, str]
    """Name of a group at the top → its CPUs; empty: all."""
    rest: str

    @property
    def path(self) -> Path:
        """The group of this process."""
        return self.root / self.group

    @property
    def for_ours(self) -> Path:
        """Where those are written who have all CPUs."""
        return self.path / "cgroup.procs"

    lives_in_kernel: ClassVar = True

    def undo(self) -> str | None:
        """Give every group its CPUs back, and leave ours."""
        done = 0
        for name, cpus in self.before.items():
            setting = self.root / name / "cpuset.cpus"
            if setting.exists() and same_cpus(setting.read_text(), self.rest) and cpus != self.rest:
                setting.write_text(cpus or "\n")
                done += 1
        if self.path.is_dir():
            home = self.root / self.home.lstrip("/") / "cgroup.procs"
            for word in (self.path / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    move(int(word), home if home.exists() else self.root / "cgroup.procs")
            _remove(self.path)
            done += 1
        if done and not self.handed_down:
            with contextlib.suppress(OSError):
                (self.root / "cgroup.subtree_control").write_text("-cpuset")
        return f"gave {count_of(len(self.before), 'group')} their CPUs back" if done else None


def move(task: int, members: Path) -> None:
    """Move a task, or a process, into a group.

    Raises:
        ProcessLookupError: if it has ended.
        OSError: if it cannot be moved.
    """
    with members.open("w") as file:
        file.write(str(task))


def same_cpus(one: str, other: str) -> bool:
    """Whether two lists name the same CPUs."""
    return set(parse_cpus(one)) == set(parse_cpus(other))


@contextlib.contextmanager
def _while_refused() -> Iterator[None]:
    """A task that has ended is none, and one that cannot be moved now is left."""
    try:
        yield
    except ProcessLookupError:
        pass
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _remove(group: Path) -> None:
    try:
        group.rmdir()
    except OSError as error:
        raise TiltyardError(f"{group}: not removed: {error.strerror}") from None
