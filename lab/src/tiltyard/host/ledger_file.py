"""The file of one ledger: whose it is, each change before it is made, and each that was undone.

One JSON object a line, each synced before the next is written: ``{"owner": …}`` whenever a process
takes the ledger up, ``{"change": 1, "at_ns": …, "is": …}``, ``{"undone": 1}``, and
``{"kept_for": "/srv/spool"}`` when a run lets the host be booted and wants to go on with it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from tiltyard.errors import TiltyardError
from tiltyard.folder import append_whole
from tiltyard.host.changes import Change
from tiltyard.host.processes import Process

_CHANGE: TypeAdapter[Change] = TypeAdapter(Change)
_JSON: Final = json.JSONDecoder()
_BEGIN: Final = re.compile(r'\{"(?:owner|change|undone|kept_for)": ')


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
    broken: list[int] = field(default_factory=list)
    """Numbers of the lines of which a part is missing: what they told of is not known."""


def append(file: int, path: Path, line: dict[str, object]) -> None:
    """One synced line at the end.

    Raises:
        OSError: with the file's name, if it is not there whole; then nothing of it is.
    """
    append_whole(file, path, json.dumps(line).encode() + b"\n")


def read_ledger(path: Path) -> Content:
    """All whole lines of a ledger.

    A last line without its newline was being written when the process died; the change it tells
    of was not made yet. A broken line before it is passed over, and whatever follows is read.

    Raises:
        FileNotFoundError: if it is gone.
        TiltyardError: if a line is none that this version knows: nothing of it may be guessed.
    """
    content = Content()
    data = path.read_bytes()
    for place, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            for entry in _entries(line):
                if entry is None:
                    content.broken += [] if place in content.broken else [place]
                else:
                    _read(entry, content)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TiltyardError(
                f"{path}:{place}: not a line that this version of Tiltyard knows; "
                "the version that wrote it can put back what it tells of"
            ) from None
    return content


def told_of_broken(path: Path, broken: Sequence[int]) -> str:
    """What a person is told of broken lines, and should do."""
    lines = "1 broken line" if len(broken) == 1 else f"{len(broken)} broken lines"
    return (
        f"{path}:{broken[0]}: {lines}: what is told there may still be changed on this host; every "
        "whole line is put back. Mend: look at what is left of the line, put that back by hand, "
        f"then remove {path}"
    )


def _entries(line: bytes) -> Iterator[dict[str, Any] | None]:
    """What a line says; ``None`` stands for a part that is none of an entry.

    Versions that took half a line for a whole one wrote the next entry right behind it.
    """
    text, at = line.decode(errors="replace"), 0
    while at < len(text):
        try:
            entry, at = _JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            entry = None
            next_one = _BEGIN.search(text, at + 1)
            at = next_one.start() if next_one else len(text)
        yield entry if isinstance(entry, dict) else None


def _read(entry: dict[str, Any], content: Content) -> None:
    """Add what one entry says."""
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
