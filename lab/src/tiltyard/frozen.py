"""The base of data that is written, kept and passed on."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Never changed, and without keys that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")
