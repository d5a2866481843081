"""A control group of version 2 that has CPUs for itself, and the way back.

The rules are those of :mod:`tiltyard.host.changes`: an ``undo`` acts only on what is there and
still ours, says what it did, and returns ``None`` if nothing was left to do.
"""

import contextlib
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host.changes.change import PREFIX, HostChange

NAME: Final = "tiltyard"
"""Of the group at the top of the hierarchy. To make it is the lock of all who see that hierarchy,
containers too: only one can."""
CONTROL: Final = "cgroup.subtree_control"


class MadePartition(HostChange):
    """The group, with one in it for what measures: where that is, the group is ours."""

    kind: Literal["partition"] = "partition"
    root: Path
    """Of the hierarchy."""
    group: str = Field(pattern=rf"^{PREFIX}[A-Za-z0-9.-]+$")
    """The one in it."""
    handed_down: bool
    """Whether groups at the top had cpusets before."""

    lives_in_kernel: ClassVar = True

    @property
    def is_machine_wide(self) -> bool:
        """Others lose CPUs by it."""
        return True

    @property
    def path(self) -> Path:
        """The group's directory."""
        return self.root / NAME

    @property
    def inside(self) -> Path:
        """The directory of the one in it."""
        return self.path / self.group

    def undo(self) -> str | None:
        """Give the CPUs back: what we started and left there goes to the top."""
        done = []
        if self.path.is_dir():
            groups = _groups_in(self.path)
            if groups and not self.inside.is_dir():
                return None  # Another run's, which was first.
            # Of a group that is removed, the kernel gives the CPUs back some time later.
            if (partition := self.path / "cpuset.cpus.partition").exists():
                partition.write_text("member")
            for group in (*groups, self.path):
                self._remove(group)
            done.append(f"gave the CPUs of {self.path} back")
        control = self.root / CONTROL
        if not self.handed_down and "cpuset" in control.read_text().split():
            used = [
                one.parent for one in self.root.glob("*/cpuset.cpus") if one.read_text().strip()
            ]
            if used:
                done.append(f'left "cpuset" in {control}: {used[0]} has been given CPUs since')
            else:
                control.write_text("-cpuset")
                done.append(f'took "cpuset" out of {control}')
        return "; ".join(done) or None

    def _remove(self, group: Path) -> None:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                (self.root / "cgroup.procs").write_text(pid)
        try:
            group.rmdir()
        except OSError as error:
            raise TiltyardError(f"{group}: not removed: {error.strerror}") from None


def _groups_in(group: Path) -> list[Path]:
    """Those below it, innermost first."""
    return sorted((path.parent for path in group.glob("*/**/cgroup.procs")), reverse=True)
