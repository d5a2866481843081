"""The steps of one turn of a system: each is in the ledger before it is taken."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tiltyard.errors import RefusedError
from tiltyard.host import commands
from tiltyard.host.changes import Change
from tiltyard.systems.kind import Site

C = TypeVar("C", bound=Change)


class Steps:
    """What was changed and executed to bring a system up, and the way back."""

    def __init__(self, site: Site) -> None:
        """None taken yet."""
        self._site = site
        self._changes: list[Change] = []
        self._executed: list[commands.Command] = []

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
        return self._site.ledger.record(change)

    def insist_alone(self, same: Callable[[Change], bool], what: str) -> None:
        """Make sure that no other run has changed the same thing: it could not be put back.

        Raises:
            RefusedError: if one has.
        """
        for pid, change in self._site.ledger.elsewhere():
            if same(change):
                raise RefusedError(
                    f"{what} is set by another run (process {pid}); wait for its end. "
                    "If it was killed: tiltyard restore"
                )

    def run(self, argv: tuple[str, ...], stdin: Path = Path(os.devnull)) -> commands.Output:
        """Take a step, and keep its command for the record."""
        self._site.check()
        output = self._site.ledger.run(argv, stdin)
        self._executed.append(output.command)
        return output

    def undo_last(self) -> None:
        """Take back the last change alone."""
        self._site.ledger.undo(self._changes[-1])
        self._changes.pop()

    def undo(self) -> None:
        """Take the changes back, last one first; each undo verifies itself."""
        while self._changes:
            self.undo_last()
        self._executed.clear()
