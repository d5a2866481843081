"""What a plan of steps may ask of a ledger, also where nothing is executed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from tiltyard.errors import BusyError
from tiltyard.host.changes import Change


class Recorder(Protocol):
    """What a plan of steps may ask of a ledger: names, and what is changed already."""

    path: Path

    def name(self, use: str) -> str:
        """A file name that nobody else has."""
        ...

    def holds(self, change: Change) -> bool:
        """Whether a change is recorded and not taken back."""
        ...

    @property
    def outstanding(self) -> tuple[Change, ...]:
        """Changes that are recorded and not taken back, in order."""
        ...

    def changes_of_other_processes(self) -> Iterator[tuple[int, Change]]:
        """Changes of others that are not taken back, each with the number of its process."""
        ...


def require_alone(ledger: Recorder, same: Callable[[Change], bool], what: str) -> None:
    """Make sure that no other run has changed the same thing, where something else locks it.

    Raises:
        BusyError: if one has.
    """
    for pid, change in ledger.changes_of_other_processes():
        if same(change):
            raise BusyError(
                f"{what} is taken by another run (process {pid}); wait for its end. "
                "If it was killed: tiltyard restore"
            )
