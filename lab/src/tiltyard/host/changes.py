"""What agents have changed of their hosts: each has it in its own ledger there."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from tiltyard.address import THIS_HOST, Address
from tiltyard.frozen import Frozen

PREFIX = "tiltyard-"
"""Whatever Tiltyard makes outside a study folder's own files has a name that begins so."""


class MadeByOp(Frozen):
    """A change that an op has made."""

    kind: Literal["op"] = "op"
    op: str
    """As the agent was told, in JSON: tells it from others."""
    back: str
    """What takes it back, for a dry run: a command, or words behind a ``#``."""
    back_script: str
    """The same for a runbook (:mod:`tiltyard.recipe`)."""
    address: Address = THIS_HOST
    """Of its host."""
    outlasts_boot: bool = False
    """Whether it is there after a boot of the host: files and directories on a disk."""
    ledger: str = ""
    """Name of the agent's ledger; empty as long as it is not made."""
    number: int = 0
    """Its number in it."""

    def is_same(self, other: "MadeByOp") -> bool:
        """The same op on the same host, whoever has made it."""
        return (self.op, self.address) == (other.op, other.address)


class KeptCopy(MadeByOp):
    """A copy that an agent has made of a device, and what is known of it."""

    kind: Literal["kept-copy"] = "kept-copy"  # type: ignore[assignment]
    path: Path
    sha256: str
    """In hex."""
    facts: str
    """What a reader must know of what was copied, as JSON."""

    def is_same(self, other: MadeByOp) -> bool:
        """The same file on the same host."""
        own = (self.path, self.address)
        return isinstance(other, KeptCopy) and own == (other.path, other.address)


AnyChange = Annotated[MadeByOp | KeptCopy, Field(discriminator="kind")]
"""One of either kind, as JSON has it."""
