"""What every kind of change on a host has in common; the kinds are in the modules beside it."""

from typing import ClassVar

from tiltyard.frozen import Frozen

PREFIX = "tiltyard-"
"""Whatever Tiltyard makes outside a study folder's own files has a name that begins so."""


class HostChange(Frozen):
    """Base of all changes: read back from the ledger exactly as it was written."""

    is_kept_over_boot: ClassVar[bool] = False
    """Whether a run that lets the host be booted goes on with it after that."""

    def is_same(self, other: object) -> bool:
        """Whether it changes the same thing to the same."""
        return self == other

    @property
    def way_back(self) -> str:
        """What :meth:`undo` would execute, for a dry run: a command, or words behind a ``#``."""
        return f"# take back: {self.model_dump_json()}"

    @property
    def script(self) -> str:
        """The same for a runbook (:mod:`tiltyard.recipe`)."""
        return self.way_back

    def sync(self) -> None:
        """Make it last that it is taken back, before the ledger forgets it."""
