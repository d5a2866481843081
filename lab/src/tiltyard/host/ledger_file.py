"""The file of one ledger: whose it is, each change before it is made, and each that was undone.

One JSON object a line, each synced before the next is written: ``{"owner": …}`` whenever a process
takes the ledger up, ``{"change": 1, "at_ns": …, "is": …}``, ``{"undone": 1}``, and
``{"kept_for": "/srv/spool"}`` when a run lets the host be booted and wants to go on with it.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from tiltyard.errors import TiltyardError
from tiltyard.host.changes import Change
from tiltyard.host.processes import Process

_CHANGE: TypeAdapter[Change] = TypeAdapter(Change)


@dataclass(frozen=True)
class Recorded:
    """A change that is not marked as undone."""

    number: int
    at_ns: int
    """Time of day, never earlier than that of a change before it in the same ledger."""
    boot: str
    """The boot of the host in which it was made."""
    change: Change


@dataclass
class Content:
    """What a ledger says."""

    owner: Process | None = None
    """The last process that took it up; ``None`` while the first is still writing that down."""
    outstanding: dict[int, Recorded] = field(default_factory=dict)
    """By number, in the order in which they were recorded."""
    last_number: int = 0
    kept_for: str | None = None
    """The study folder of a run that will go on with it after a boot."""


def append(file: int, line: dict[str, object]) -> None:
    """One synced line at the end."""
    os.lseek(file, 0, os.SEEK_END)
    os.write(file, json.dumps(line).encode() + b"\n")
    os.fsync(file)


def read_ledger(path: Path) -> Content:
    """All whole lines of a ledger.

    A last line without its newline was being written when the process died; the change it tells
    of was not made yet.

    Raises:
        FileNotFoundError: if it is gone.
        TiltyardError: if a line is none that this version knows: nothing of it may be guessed.
    """
    content = Content()
    data = path.read_bytes()
    for place, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            _read(line, content)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TiltyardError(
                f"{path}:{place}: not a line that this version of Tiltyard knows; "
                "the version that wrote it can put back what it tells of"
            ) from None
    return content


def _read(line: bytes, content: Content) -> None:
    """Add what one line says."""
    entry = json.loads(line)
    if "owner" in entry:
        content.owner = Process.model_validate(entry["owner"])
        content.kept_for = None
    elif "change" in entry:
        number = int(entry["change"])
        boot = content.owner.boot if content.owner else ""
        change = _CHANGE.validate_python(entry["is"])
        recorded = Recorded(number, int(entry.get("at_ns", 0)), boot, change)
        content.outstanding[number] = recorded
        content.last_number = number
    elif "undone" in entry:
        content.outstanding.pop(entry["undone"], None)
    else:
        content.kept_for = str(entry["kept_for"])
