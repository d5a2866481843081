"""What a plan of steps may ask of a ledger, also where nothing is executed."""

from typing import Protocol

from tiltyard.host.changes import MadeByOp


class Recorder(Protocol):
    """What a plan of steps may ask of a ledger: names, and what is changed already."""

    def name(self, use: str) -> str:
        """A file name that nobody else has."""
        ...

    def holds(self, change: MadeByOp) -> bool:
        """Whether a change is recorded and not taken back."""
        ...

    @property
    def outstanding(self) -> tuple[MadeByOp, ...]:
        """Changes that are recorded and not taken back, in order."""
        ...
