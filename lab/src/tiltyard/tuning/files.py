"""Settings that are files of the kernel, below ``/proc/sys``, ``/proc/irq`` or ``/sys``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tiltyard.host.place import Place
from tiltyard.host.settings import SetValue, in_force, is_of_loop
from tiltyard.tuning.setting import FILES, LackError, Setting
from tiltyard.tuning.values import Amount

_DECIDING: Final = ("/scheduler", "/scaling_governor")
"""Files that change what others beside them are, or take."""


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

    def step(self, before: str, wanted: str) -> SetValue:
        """Write it."""
        return SetValue(
            name=self.name,
            path=self.path,
            value=wanted,
            before=before,
            excludes=self.excludes,
            skip=True,
            address=self.place.address,
        )

    def why_not_set(self, now: str, wanted: str, said: str) -> str:
        """As the kernel says it."""
        return said or f'the kernel makes "{now}" of "{wanted}"'

    @property
    def excludes(self) -> str:
        """Another file, of which this one makes 0."""
        return ""

    @property
    def is_machine_wide(self) -> bool:
        """Not where it is a loop device's."""
        return not is_of_loop(self.path)

    @property
    def row(self) -> str:
        """What others of its kind offer depends on some."""
        return self.name if self.path.endswith(_DECIDING) else FILES

    @property
    def files(self) -> tuple[str, ...]:
        """Its own, and the other one."""
        return (self.path, self.excludes) if self.excludes else (self.path,)

    def _text(self) -> str:
        """What the file says."""
        text = self.place.read(self.path)
        if text is None:
            raise LackError(self.lack or f"there is no {self.path}")
        return text
