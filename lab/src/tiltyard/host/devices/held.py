"""A block device that is somebody's until every check has passed: what its agent is told of it.

The agent opens the device that is meant, and makes sure at that instant, and again right before it
formats, that it is the one that a study describes by its own marks, that nobody uses it, and that
nothing is on it (``engine/agent/src/device.rs``). Nothing is ever forced.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tiltyard.errors import RefusedError
from tiltyard.host.changes import MadeByOp
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Op, Text

UUID: Final = "{uuid}"
"""Stands for that of a file system, which the agent draws before it is made."""


@dataclass(frozen=True)
class Wanted:
    """The device that a person means, and how it is distinguished from others."""

    given: Path
    size_bytes: int
    marks: Mapping[str, str]
    """What was said of it beside its size: ``serial``, ``wwn``, ``partuuid``, ``backing_file``."""
    keep: tuple[Path, ...] = ()
    """Directories that must not lie on it, beside those of the host and of the agent's ledger."""

    def held(self, node: str = "", carries: MadeByOp | None = None) -> "HoldDevice":
        """The op that holds it; see there."""
        return HoldDevice(
            given=self.given,
            size_bytes=self.size_bytes,
            marks=dict(self.marks),
            keep=self.keep,
            node=node,
            carries=carries,
        )


class HoldDevice(Op):
    """The device is opened and locked if it is the one that is meant, unused, and blank."""

    kind: Literal["hold"] = "hold"
    given: Path
    size_bytes: int
    marks: dict[str, str]
    keep: tuple[Path, ...] = ()
    node: str = ""
    """As it was seen before: it must be that still. Empty: whatever it is."""
    carries: MadeByOp | None = None
    """It is not blank, but carries what this change of ours has made."""

    def op(self, text: Text) -> dict[str, object]:  # noqa: ARG002  nothing is yielded before
        """Which, and what must hold."""
        made = self.carries
        return {
            "op": "hold",
            "device": {
                "given": str(self.given),
                "size_bytes": self.size_bytes,
                "marks": self.marks,
            },
            "keep": [*map(str, self.keep)],
            **({"node": self.node} if self.node else {}),
            **({"carries": {"ledger": made.ledger, "number": made.number}} if made else {}),
        }

    @property
    def line(self) -> str:
        """In words."""
        what = "what we made is on it" if self.carries else "nothing is on it"
        return f"# make sure that {self.given} is the one that is meant, unused, and that {what}"


class ReleaseDevice(Op):
    """The device is let go."""

    kind: Literal["release"] = "release"
    given: Path

    def op(self, text: Text) -> dict[str, object]:  # noqa: ARG002
        """Which."""
        return {"op": "release", "device": str(self.given)}

    @property
    def line(self) -> str:
        """In words."""
        return f"# let go of {self.given}"


class FormatDevice(Op):
    """A file system on a device that is held, known by a UUID that is drawn before it is made."""

    kind: Literal["format"] = "format"
    given: Path
    node: str
    filesystem: str
    argv: tuple[str, ...] = ()
    """:data:`UUID` stands for it where that is the output. Empty: what follows writes it."""
    like: Path | None = None
    """A file with what is written: by what is in it the device is known as ours."""
    outlasts_boot = True

    def op(self, text: Text) -> dict[str, object]:
        """Which, and how."""
        return {
            "op": "format",
            "device": str(self.given),
            "filesystem": self.filesystem,
            "argv": [*map(text, self.argv)],
            **({"uuid": UUID} if self.output else {}),
            **({"like": str(self.like)} if self.like else {}),
        }

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(self.argv) if self.argv else f"# {self.node} is to carry {self.like}"

    @property
    def script(self) -> str:
        """A runbook asks before it writes to a device that is not its own."""
        made = self.line.replace(shlex.quote(UUID), '"$(uuidgen)"')
        return f"may_erase {shlex.quote(self.node)}; {made}"

    @property
    def way_back(self) -> str:
        """What is looked at becomes what it was."""
        return f"# write zeros wherever {self.given} is looked at before it counts as blank"

    @property
    def back_script(self) -> str:
        """What marks it is removed."""
        return f"wipefs --all {shlex.quote(str(self.given))}"


def is_format_of(change: MadeByOp, given: Path) -> bool:
    """Whether a change is a file system on a device."""
    op = json.loads(change.op)
    return (op["op"], op.get("device")) == ("format", str(given))


def refusal(hold: HoldDevice, place: Place = HERE) -> RefusedError | None:
    """Why the device would be refused now; looks only, for a person to see beforehand."""
    looks = (hold, ReleaseDevice(given=hold.given))
    try:
        place.host.change([op.op(str) for op in looks])
    except RefusedError as error:
        return error
    return None
