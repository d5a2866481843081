"""What every kind of change on a host has in common; the kinds are in the modules beside it."""

from pydantic import BaseModel, ConfigDict

PREFIX = "tiltyard-"
"""Whatever Tiltyard makes outside a study folder's own files has a name that begins so."""


class HostChange(BaseModel):
    """Base of all changes: read back from the ledger exactly as it was written."""

    model_config = ConfigDict(frozen=True, extra="forbid")
