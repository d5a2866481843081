"""What a plan of steps may ask of a ledger, also where nothing is executed."""

from pathlib import Path
from typing import Protocol

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
