"""Putting back what processes that died have left changed on this host.

All ledgers of the dead are taken together and their changes undone newest first, because two
runs may have changed the same thing one after the other. Those of other hosts are theirs. Each
``undo`` looks before it acts.
"""

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from pydantic import TypeAdapter

from tiltyard.appended import append_whole
from tiltyard.errors import MALFORMED, TiltyardError
from tiltyard.host.changes import Change, take_back
from tiltyard.host.host import here
from tiltyard.host.processes import Process
from tiltyard.units import count_of

# The file of one ledger: whose it is, each change before it is made, and each that was undone.
#
# One JSON object a line, each synced before the next is written: ``{"owner": …}`` whenever a
# process takes the ledger up, ``{"change": 1, "at_ns": …, "is": …}``, ``{"undone": 1}``, and
# ``{"kept_for": "/srv/spool"}`` when a run lets the host be booted and wants to go on with it.

_CHANGE: TypeAdapter[Change] = TypeAdapter(Change)
_JSON: Final = json.JSONDecoder()
_BEGIN: Final = re.compile(r'\{"(?:owner|change|undone|kept_for)": ')


@dataclass(frozen=True)
class Recorded:
    """A change that is not marked as undone."""

    number: int
    at_ns: int
    """Time of day, never earlier than that of a change before it in the same ledger."""
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
    """Numbers of the lines of which a part is missing: their contents are not known."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is of another host, which shares a home with this one."""
        return self.owner is not None and self.owner.is_elsewhere


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
        except MALFORMED:
            raise TiltyardError(
                f"{path}:{place}: not a line that this version of Tiltyard knows; "
                "the version that wrote it can put back what it tells of"
            ) from None
    return content


def told_of_broken(path: Path, broken: Sequence[int]) -> str:
    """What is printed about broken lines: what they mean, and the fix."""
    lines = count_of(len(broken), "broken line")
    return (
        f"{path}:{broken[0]}: {lines}: what they record may still be changed on this host; every "
        "whole line is put back. Fix: look at what is left of the line, put that back by hand, "
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
        change = _CHANGE.validate_python(entry["is"])
        recorded = Recorded(number, int(entry.get("at_ns", 0)), change)
        content.outstanding[number] = recorded
        content.last_number = number
    elif "undone" in entry:
        content.outstanding.pop(entry["undone"], None)
    else:
        content.kept_for = str(entry["kept_for"])


_ORPHANS_END_S = 30.0
"""Longest wait for commands of a dead process to end."""
_STEP_S = 0.05


@dataclass(frozen=True)
class PutBack:
    """What became of the changes of dead processes, one sentence each."""

    done: tuple[str, ...]
    left: tuple[str, ...]
    """What could not be put back, and why."""


def put_back(directory: Path, *, kept: bool = False) -> PutBack:
    """Take back what processes that died have left behind.

    Args:
        directory: where ledgers are kept.
        kept: take back as well what a run keeps to go on with after a boot.
    """
    paths = sorted(directory.glob("*.jsonl"))
    return _put_back(directory, paths, kept=kept)


def put_back_ledger(path: Path) -> PutBack:
    """The same of one ledger, for who holds the machine."""
    return _put_back(path.parent, [path], kept=False)


class _Agents:
    """The ledgers of dead agents in a state directory, which an agent puts back."""

    def __init__(self, directory: Path, done: list[str], *, kept: bool) -> None:
        self._directory = directory
        self._done = done
        self._kept = kept

    def put_back(self, newer_than_ns: int) -> list[str]:
        """Put back what was changed after a time of day; what could not be."""
        if not any(self._directory.glob("*.ops")):
            return []
        try:
            found = here().recover(self._directory, newer_than_ns, kept=self._kept)
        except TiltyardError as error:
            return [f"could not take back what an earlier run left: {error}"]
        self._done += [f"an earlier run was killed: {said}" for said in found.done]
        return [f"could not take back what an earlier run left: {said}" for said in found.left]


def _put_back(directory: Path, paths: Sequence[Path], *, kept: bool) -> PutBack:
    done: list[str] = []
    left: list[str] = []
    agents = _Agents(directory, done, kept=kept)
    with contextlib.ExitStack() as locks:
        dead = [
            locks.enter_context(ledger)
            for path in paths
            if (ledger := _of_the_dead(path, left, kept=kept))
        ]
        newest_first = sorted(
            ((recorded, ledger) for ledger in dead for recorded in ledger.outstanding),
            key=lambda pair: (pair[0].at_ns, pair[0].number),
            reverse=True,
        )
        for recorded, ledger in newest_first:
            agents.put_back(recorded.at_ns)
            ledger.undo(recorded, done, left)
        left += agents.put_back(0)
        for ledger in dead:
            ledger.remove_if_done(left)
        if dead:
            _let_go_of_machine()
    return PutBack(done=tuple(done), left=tuple(left))


def _let_go_of_machine() -> None:
    """Of one whose holder has left nothing any more, nobody has to know; who has it keeps it."""
    with contextlib.suppress(TiltyardError):  # It ends with the agent.
        here().let_go("")


class _Dead:
    """A locked ledger whose process is dead; a context, which lets go of the lock."""

    def __init__(self, path: Path, file: int, content: Content) -> None:
        self.outstanding = tuple(content.outstanding.values())
        self._path = path
        self._file = file
        self._broken = content.broken
        self._left = len(self.outstanding)
        self._unmarked: OSError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def undo(self, recorded: Recorded, done: list[str], left: list[str]) -> None:
        """Take a change back and mark it; say what was done, or why it was not."""
        try:
            said = take_back(recorded.change)
        except (TiltyardError, OSError) as error:
            left.append(f"could not take back what an earlier run left: {error}")
            return
        self.mark(recorded)
        if said:
            done.append(f"an earlier run was killed: {said}")

    def mark(self, recorded: Recorded) -> None:
        """Write down that a change is undone; without room the ledger's removal says it."""
        self._left -= 1
        try:
            append(self._file, self._path, {"undone": recorded.number})
        except OSError as error:
            self._unmarked = error

    def remove_if_done(self, left: list[str]) -> None:
        """The ledger stays while something in it is to be undone, or to be looked at."""
        if self._broken:
            left.append(told_of_broken(self._path, self._broken))
        if not self._left and not self._broken:
            try:
                self._path.unlink()
            except OSError as error:
                left.append(f"{error}: all of it is put back, but it could not be removed")
        elif self._unmarked:
            left.append(f"{self._unmarked.strerror}: {self._path} cannot tell what was put back")


def _of_the_dead(path: Path, left: list[str], *, kept: bool) -> _Dead | None:
    """A ledger, locked, if it is for us to take back; why it is not, if a person should know."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        left.append(f"could not take back what an earlier run left: {error}")
        return None
    try:
        if _lock(file, path, left) and path.exists():
            content = read_ledger(path)
            if not content.is_elsewhere and (kept or content.kept_for is None):
                return _Dead(path, file, content)
    except (TiltyardError, OSError) as error:
        left.append(f"could not take back what an earlier run left: {error}")
    os.close(file)
    return None


def _lock(file: int, path: Path, left: list[str]) -> bool:
    """Lock a ledger if its process is dead, waiting for the commands that it left running."""
    give_up = time.monotonic() + _ORPHANS_END_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            owner = read_ledger(path).owner if path.exists() else None
        if owner is None or owner.lives() or owner.is_elsewhere:
            return False
        if time.monotonic() > give_up:
            left.append(
                f"could not take back what process {owner.pid} left: a command that it started "
                f"still runs (it holds {path}); again when that has ended: tiltyard restore"
            )
            return False
        time.sleep(_STEP_S)
