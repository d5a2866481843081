"""Settings that are files of the kernel, below ``/proc/sys``, ``/proc/irq`` or ``/sys``."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tiltyard.errors import TiltyardError
from tiltyard.host.changes import Change
from tiltyard.host.changes.settings import SetFile, in_force, is_of_loop
from tiltyard.host.place import Place
from tiltyard.host.steps import Step, Steps
from tiltyard.tuning.setting import LackError, Setting
from tiltyard.tuning.values import Amount


class WriteSetting(Step):
    """A value for a file of the kernel, here or on another host."""

    kind: Literal["write-setting"] = "write-setting"
    name: str
    """As a person calls it."""
    path: str
    before: str
    value: str
    change: SetFile
    """What is put back; perhaps another file, which this one makes void."""

    @property
    def line(self) -> str:
        """In words."""
        return f"# set {self.name} to {self.value} until the turn ends; it is {self.before}"

    @property
    def script(self) -> str:
        """It is kept and set; on another host only Tiltyard does it."""
        if self.change.ssh:
            return self.line
        kept = "" if self.change.path == self.path else f"keep {self.change.path}; "
        return f"{kept}keep {self.path} {shlex.quote(self.value)}"

    def changes(self) -> Sequence[Change]:
        """The value that is put back."""
        return (self.change,)

    def execute(self, host: Steps) -> str:  # noqa: ARG002  it needs no command
        """Write it."""
        Place(self.change.ssh).write(self.path, self.value)
        return ""


def unknown_default() -> str:
    """Where nobody has written down what the kernel starts with.

    Raises:
        LackError: always.
    """
    raise LackError("what the kernel starts with is not known")


@dataclass(frozen=True)
class FileSetting(Setting):
    """One file."""

    name: str
    place: Place
    path: str
    choices: tuple[Amount, ...]
    """What it shall be: the first that the file offers, if it lists what it offers."""
    lack: str = ""
    """What to say if there is no such file; by default its path."""
    default: Callable[[], str] = unknown_default
    """Computes what the kernel starts with."""

    def read(self) -> str:
        """The value in force."""
        return in_force(self._text())

    def wanted(self, now: str) -> str:
        """The first choice that is offered."""
        wanted = [choice.of(now, self.place, self.default) for choice in self.choices]
        text = self._text()
        if "[" not in text:
            return wanted[0]
        offered = text.replace("[", "").replace("]", "").split()
        found = next((one for one in wanted if one in offered), None)
        if found is None:
            raise LackError(f"{' or '.join(wanted)} is not offered, only {', '.join(offered)}")
        return found

    def step(self, before: str, wanted: str) -> WriteSetting:
        """Write it."""
        return WriteSetting(
            name=self.name,
            path=self.path,
            before=before,
            value=wanted,
            change=self.way_back(before, wanted),
        )

    def why_not_set(self, now: str, wanted: str, error: TiltyardError | None) -> str:
        """As the kernel says it."""
        if error is None:
            return f'the kernel makes "{now}" of "{wanted}"'
        return str(error).removeprefix(f"{self.path}: ")

    def put_back(self, steps: Steps, step: WriteSetting) -> None:  # noqa: ARG002
        """Write the old value over what the kernel made of ours."""
        self.place.write(step.change.path, step.change.before)

    def way_back(self, before: str, wanted: str) -> SetFile:
        """The change as the ledger keeps it."""
        return SetFile(path=self.path, before=before, value=wanted, ssh=self.place.ssh)

    @property
    def is_machine_wide(self) -> bool:
        """Not where it is a loop device's."""
        return super().is_machine_wide and not is_of_loop(self.path)

    def is_same(self, change: Change) -> bool:
        """Whether it is of this file, or of one that this one makes void."""
        return (
            isinstance(change, SetFile)
            and change.path in self.paths
            and change.ssh == self.place.ssh
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """What changes when it is set."""
        return (self.path,)

    def _text(self) -> str:
        """What the file says."""
        text = self.place.read(self.path)
        if text is None:
            raise LackError(self.lack or f"there is no {self.path}")
        return text
