"""Ops that set something of a host: a file of the kernel, or what a command sets and sets back.

What all of a machine share only one run at a time sets: :meth:`tiltyard.host.steps.Steps.take`
holds the machine first.
"""

import shlex
from typing import Final, Literal

from pydantic import Field

from tiltyard.address import THIS_HOST, Address
from tiltyard.host.steps import Op, Text

_LOOPS: Final = ("/sys/block/loop", "/sys/class/block/loop", "/sys/devices/virtual/block/loop")


class SetValue(Op):
    """A value for a file of the kernel, verified."""

    kind: Literal["set-value"] = "set-value"
    name: str
    """As a person calls it."""
    path: str = Field(pattern=r"^/(proc/sys|proc/irq|sys)(/[A-Za-z0-9_:.-]*[A-Za-z0-9_:-])+$")
    value: str
    before: str
    """What it was when that was looked at: for who tells of it."""
    excludes: str = ""
    """Another file: setting one of the two makes the other 0, and 0 cannot be written."""
    skip: bool = False
    """Whether the steps after it are taken also where it is not."""
    address: Address = THIS_HOST

    def op(self, text: Text) -> dict[str, object]:
        """The file, and its value."""
        return {
            "op": "set",
            "file": text(self.path),
            "value": self.value,
            "skip": self.skip,
            **({"excludes": self.excludes} if self.excludes else {}),
        }

    @property
    def of_machine(self) -> str:
        """Its name, unless only the run has the device that has attached it."""
        return "" if is_of_loop(self.path) else self.name

    @property
    def line(self) -> str:
        """In words."""
        return f"# set {self.name} to {self.value} until the turn ends; it is {self.before}"

    @property
    def script(self) -> str:
        """It is kept and set; on another host only Tiltyard does it."""
        if self.address.is_remote:
            return self.line
        kept = "" if self._put_back == self.path else f"keep {self._put_back}; "
        return f"{kept}keep {self.path} {shlex.quote(self.value)}"

    @property
    def way_back(self) -> str:
        """The old value is written."""
        if self.before == self.value:
            return ""
        was = self.before if self._put_back == self.path else "what it was"
        return f"# set {self._put_back} to {was} again"

    @property
    def back_script(self) -> str:
        """What it was there; on another host only Tiltyard does it."""
        return self.way_back if self.address.is_remote else f"back {self._put_back}"

    @property
    def _put_back(self) -> str:
        return self.excludes if self.excludes and self.before == "0" else self.path


class SetByCommand(Op):
    """What a command sets of the whole host, and another one sets back."""

    kind: Literal["set-by-command"] = "set-by-command"
    what: str
    """As a person calls it."""
    argv: tuple[str, ...]
    look: tuple[str, ...]
    """Command that prints what is in force. What somebody has set since then is left."""
    before: str
    """What that prints before; where it prints something else by then, nothing is set."""
    value: str
    """What it prints when that is set."""
    back: tuple[str, ...]
    """Command that sets back what was before."""
    ends_with_boot: bool = False
    """Whether a boot of the host has the same effect."""
    skip: bool = False
    """Whether the steps after it are taken also where this has failed."""
    address: Address = THIS_HOST

    def op(self, text: Text) -> dict[str, object]:
        """Both commands, and what tells whether they are needed."""
        back = {
            "what": self.what,
            "look": [*map(text, self.look)],
            "before": self.before,
            "value": self.value,
            "argv": [*map(text, self.back)],
            "ends_with_boot": self.ends_with_boot,
        }
        return {"op": "run", "argv": [*map(text, self.argv)], "back": back, "skip": self.skip}

    @property
    def of_machine(self) -> str:
        """What it sets."""
        return self.what

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(self.address.argv(self.argv))

    @property
    def way_back(self) -> str:
        """The command for it."""
        return shlex.join(self.address.argv(self.back))


def is_of_loop(path: str) -> bool:
    """Whether a setting is one of a loop device's."""
    return path.startswith(_LOOPS)


def in_force(text: str) -> str:
    """The value in force of a setting's text: of ``none [mq-deadline] kyber`` that in brackets."""
    chosen = text.partition("[")[2].partition("]")[0]
    return chosen or " ".join(text.split())
