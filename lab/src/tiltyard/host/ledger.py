"""The write-ahead record of everything that Tiltyard has changed on this host.

Each process has one ledger file in the state directory. A change is appended and synced before it
is made, and marked once it is taken back. The file is locked (flock(2)) as long as its process or
any command that the process started lives, so a ledger whose lock is free belongs to a dead
process, and :func:`recover` may take back what that process could not: after kill -9, and after a
power failure.
"""

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self, TypeVar

from pydantic import TypeAdapter

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.folder import sync_directory
from tiltyard.host import commands
from tiltyard.host.change import PREFIX
from tiltyard.host.changes import Change
from tiltyard.host.processes import Process

_CHANGE: TypeAdapter[Change] = TypeAdapter(Change)
_ORPHANS_END_S = 30.0
"""Longest wait for commands of a dead process to end."""

C = TypeVar("C", bound=Change)


def state_directory() -> Path:
    """Where ledgers are kept: it must survive a reboot, and be the same for every study."""
    if explicit := os.environ.get("TILTYARD_STATE"):
        return Path(explicit)
    if os.geteuid() == 0:
        return Path("/var/lib/tiltyard")
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "tiltyard"


class Ledger:
    """The ledger of this process. Use it in a ``with`` block: leaving it takes everything back."""

    def __init__(self, state: Path | None = None) -> None:
        """Open an empty ledger.

        Raises:
            HostLacksError: if the state directory cannot be written.
        """
        directory = state or state_directory()
        self.token = secrets.token_hex(4)
        self.path = directory / f"{os.getpid()}-{self.token}.jsonl"
        self._outstanding: dict[int, Change] = {}
        self._number = 0
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except OSError as error:
            raise HostLacksError(
                f"{directory}: cannot keep the record of changes here ({error.strerror}); "
                "TILTYARD_STATE names another directory"
            ) from None
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._append({"owner": Process.current().model_dump()})
        sync_directory(directory)

    def __enter__(self) -> Self:
        """The ledger itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take everything back that is still outstanding."""
        self.close()

    def name(self, use: str) -> str:
        """A file name that nobody else has and that :mod:`~tiltyard.host.changes` will remove."""
        return f"{PREFIX}{self.token}-{use}"

    def record(self, change: C) -> C:
        """Write down a change that is about to be made; on return it is on disk."""
        self._number += 1
        self._append({"change": self._number, "is": change.model_dump(mode="json")})
        self._outstanding[self._number] = change
        return change

    def holds(self, change: Change) -> bool:
        """Whether a change is recorded and not taken back."""
        return change in self._outstanding.values()

    def elsewhere(self) -> Iterator[tuple[int, Change]]:
        """Changes of other processes that are not taken back, each with the process's number."""
        for path in self.path.parent.glob("*.jsonl"):
            if path != self.path:
                with contextlib.suppress(FileNotFoundError):
                    for _, change in _outstanding(path.read_bytes()):
                        yield int(path.name.partition("-")[0]), change

    def undo(self, change: Change) -> str | None:
        """Take one change back and say what was done; harmless if it is not outstanding.

        Raises:
            TiltyardError: if that is not possible; the change stays recorded.
        """
        number = next((n for n, other in self._outstanding.items() if other == change), None)
        if number is None:
            return None
        said = change.undo()
        self._append({"undone": number})
        del self._outstanding[number]
        return said

    def run(
        self,
        argv: Sequence[str],
        stdin: Path = Path(os.devnull),
        environment: Mapping[str, str] | None = None,
    ) -> commands.Output:
        """Run a command that makes a recorded change; our lock is held until it has ended."""
        return commands.run(argv, stdin=stdin, hold=(self._file,), environment=environment)

    @property
    def hold(self) -> tuple[int, ...]:
        """File descriptors that a long-lived child should keep open, so that the lock is held."""
        return (self._file,)

    def close(self) -> None:
        """Take back what is outstanding, last change first, and remove the ledger.

        Raises:
            TiltyardError: if something could not be taken back. The ledger stays, and
                :func:`recover` tries again at the next start.
        """
        errors: list[str] = []
        for change in reversed(list(self._outstanding.values())):
            try:
                self.undo(change)
            except (TiltyardError, OSError) as error:
                errors.append(str(error))
        if not errors:
            self.path.unlink()
        os.close(self._file)
        if errors:
            raise TiltyardError(f"{'; '.join(errors)}; try: tiltyard restore")

    def _append(self, line: dict[str, object]) -> None:
        """One synced line."""
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fsync(self._file)


def recover(state: Path | None = None) -> list[str]:
    """Take back what processes that died have left behind.

    Returns:
        What was done and what could not be done, one sentence each; empty if there was nothing.
    """
    directory = state or state_directory()
    said: list[str] = []
    for path in sorted(directory.glob("*.jsonl")):
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue
        try:
            if path.exists() and _lock_of_the_dead(file):
                said += _take_back(file, path)
        finally:
            os.close(file)
    return said


def _lock_of_the_dead(file: int) -> bool:
    """Lock a ledger if its process is dead, waiting for the commands that it left running."""
    give_up = time.monotonic() + _ORPHANS_END_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            owner = _owner(os.pread(file, 4096, 0))
            if owner is None or owner.lives() or time.monotonic() > give_up:
                return False
            time.sleep(0.05)


def _owner(head: bytes) -> Process | None:
    """The process that a ledger belongs to; ``None`` while it is still writing that down."""
    first, newline, _ = head.partition(b"\n")
    return Process.model_validate(json.loads(first)["owner"]) if newline else None


def _take_back(file: int, path: Path) -> list[str]:
    """Undo the outstanding changes of a locked ledger, last one first, marking each."""
    said: list[str] = []
    failed = False
    for number, change in reversed(_outstanding(path.read_bytes())):
        try:
            done = change.undo()
        except (TiltyardError, OSError) as error:
            failed = True
            said.append(f"could not take back what an earlier run left: {error}")
            continue
        os.lseek(file, 0, os.SEEK_END)
        os.write(file, json.dumps({"undone": number}).encode() + b"\n")
        os.fsync(file)
        if done:
            said.append(f"an earlier run was killed: {done}")
    if not failed:
        path.unlink()
    return said


def _outstanding(data: bytes) -> list[tuple[int, Change]]:
    """Changes that are recorded and not marked as undone, in order.

    A last line without its newline was being written when the process died; the change it tells
    of was not made yet.
    """
    changes: dict[int, Change] = {}
    for line in data[: data.rfind(b"\n") + 1].splitlines():
        entry = json.loads(line)
        if "change" in entry:
            changes[entry["change"]] = _CHANGE.validate_python(entry["is"])
        elif "undone" in entry:
            changes.pop(entry["undone"], None)
    return list(changes.items())
