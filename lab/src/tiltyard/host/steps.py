"""Steps that change a host: each is in the ledger before it is taken, and can be taken back."""

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from tiltyard.errors import BusyError
from tiltyard.host import commands
from tiltyard.host.changes import Change, MadeDirectory
from tiltyard.host.ledger import Ledger
from tiltyard.host.servers import Server

C = TypeVar("C", bound=Change)


class Steps:
    """What was changed and executed, and the way back."""

    def __init__(self, ledger: Ledger, check: Callable[[], None] = lambda: None) -> None:
        """None taken yet.

        Args:
            ledger: keeps the changes.
            check: called before each step; raises if a person has asked to stop.
        """
        self.ledger = ledger
        self.check = check
        self._changes: list[Change] = []
        self._executed: list[commands.Command] = []
        self._servers: list[Server] = []

    def __bool__(self) -> bool:
        """Whether something is to be taken back."""
        return bool(self._changes)

    @property
    def executed(self) -> tuple[commands.Command, ...]:
        """The commands, in order."""
        return tuple(self._executed)

    def record(self, change: C) -> C:
        """Write down a change that is about to be made."""
        self._changes.append(change)
        return self.ledger.record(change)

    @contextlib.contextmanager
    def alone(self, same: Callable[[Change], bool], what: str) -> Iterator[None]:
        """Make sure that no other run has changed the same thing: it could not be put back.

        As long as the block lasts none can find out the same, so a change is recorded in it.

        Raises:
            BusyError: if one has.
        """
        with self.ledger.locked():
            self.insist_alone(same, what)
            yield

    def insist_alone(self, same: Callable[[Change], bool], what: str) -> None:
        """The same, where something else keeps others away.

        Raises:
            BusyError: if another run has changed the same thing.
        """
        for pid, change in self.ledger.elsewhere():
            if same(change):
                raise BusyError(
                    f"{what} is taken by another run (process {pid}); wait for its end. "
                    "If it was killed: tiltyard restore"
                )

    def run(
        self,
        argv: tuple[str, ...],
        stdin: Path = Path(os.devnull),
        environment: Mapping[str, str] | None = None,
        stand_in: str = "",
    ) -> commands.Output:
        """Take a step, and keep its command for the record.

        ``stand_in`` is what a dry run takes for its output.
        """
        self.check()
        output = self.ledger.run(argv, stdin, environment, stand_in)
        self._executed.append(output.command)
        return output

    @property
    def dry(self) -> bool:
        """Whether the steps are only told, so that there is nothing to look at after them."""
        return self.ledger.dry

    def act(self, said: str, action: Callable[[], object]) -> None:
        """Take a step that needs no command; ``said`` is what a dry run tells of it."""
        self.check()
        self.ledger.act(said, action)

    def make_directory(self, path: Path) -> None:
        """A directory of ours."""
        made = self.record(MadeDirectory(path=path))
        self.act(f"make directory {path}", made.path.mkdir)

    def start(
        self, argv: tuple[str, ...], environment: Mapping[str, str], ready: Callable[[], bool]
    ) -> None:
        """Start a process that stays, and wait until it is ready.

        Args:
            argv: the command.
            environment: carries the mark of the change that is recorded of it.
            ready: says that it serves.

        Raises:
            TiltyardError: if it does not; the recorded change ends it.
        """
        self.check()
        if self.dry:
            self.ledger.act(f"start, and wait until it serves: {shlex.join(argv)}", ready)
            return
        server = Server(argv, environment)
        self._servers.append(server)
        self._executed.append(server.wait_until(ready, self.check))

    def undo_last(self) -> None:
        """Take back the last change alone."""
        self.ledger.undo(self._changes[-1])
        self._changes.pop()
        self._servers = [server for server in self._servers if not server.ended()]

    def undo(self) -> None:
        """Take the changes back, last one first; each undo verifies itself."""
        while self._changes:
            self.undo_last()
        self._executed.clear()
