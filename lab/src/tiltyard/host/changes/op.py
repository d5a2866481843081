"""What a host's agent has changed by an op, and has in its own ledger there."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tiltyard.errors import RefusedError, UnreachableError
from tiltyard.host.changes.change import HostChange
from tiltyard.host.commands import shown
from tiltyard.host.host import hosts
from tiltyard.host.place import Place


class MadeByOp(HostChange):
    """A change of an agent. In our ledger it is only where it outlasts the agent: over a boot."""

    kind: Literal["op"] = "op"
    op: str
    """As the agent was told, in JSON: tells it from others."""
    back: str
    """See :attr:`HostChange.way_back`."""
    back_script: str
    """See :attr:`HostChange.script`."""
    ssh: tuple[str, ...] = ()
    outlasts_boot: bool = False
    ledger: str = ""
    """Name of the agent's ledger; empty as long as it is not made."""
    number: int = 0
    """Its number in it."""

    @property
    def is_kept_over_boot(self) -> bool:  # type: ignore[override]  # each has its own
        """Of files and directories on a disk."""
        return self.outlasts_boot

    @property
    def way_back(self) -> str:
        """As its op says."""
        return self.back

    @property
    def script(self) -> str:
        """As its op says."""
        return self.back_script

    def is_same(self, other: object) -> bool:
        """The same op on the same host, whoever has made it."""
        return isinstance(other, MadeByOp) and (self.op, self.ssh) == (other.op, other.ssh)

    def undo(self) -> str | None:
        """The agent takes it back; another one does if that has ended without doing so."""
        return self.undo_for()

    def undo_for(self, *, still: bool = False, others: Sequence["MadeByOp"] = ()) -> str | None:
        """The same.

        Args:
            still: it is made again at once, so that the agent's ledger shall not forget it.
            others: of the same ledger, which are taken back with it, last first.
        """
        if not self.ledger:
            return None
        numbers = [self.number, *(other.number for other in others)]
        found = Place(self.ssh).ask(lambda host: host.undo(self.ledger, numbers, still=still))
        if found.left:
            raise RefusedError("; ".join(map(shown, found.left)))
        return "; ".join(map(shown, found.done)) or None


class KeptCopy(MadeByOp):
    """A copy that an agent has made of a device, and what is known of it."""

    kind: Literal["kept-copy"] = "kept-copy"  # type: ignore[assignment]
    path: Path
    sha256: str
    """In hex."""
    facts: str
    """What a reader must know of what was copied, as JSON."""

    def is_same(self, other: object) -> bool:
        """The same file on the same host."""
        return isinstance(other, KeptCopy) and (self.path, self.ssh) == (other.path, other.ssh)


class UsedAgent(HostChange):
    """An agent of another host that has changed it: where that dies the next one takes it back."""

    kind: Literal["agent"] = "agent"
    ssh: tuple[str, ...]
    run: str = ""
    """For whom it keeps what outlasts a boot of that host; empty: for nobody."""

    @property
    def way_back(self) -> str:
        """What it has left is looked for."""
        return f"# put back what is left changed on {Place(self.ssh)}"

    def undo(self) -> str | None:
        """Have what dead ones left put back.

        Raises:
            UnreachableError: if the host is not reached.
            RefusedError: if something stays changed there.
        """
        place = Place(self.ssh)
        try:
            found = place.ask(lambda host: host.recover(kept_for=self.run))
        except UnreachableError as error:
            if (later := place.after_the_job(str(error))) is None:
                raise UnreachableError(
                    f"{error}; what was changed there and is not put back yet is left there"
                ) from None
            try:
                found = later.ask(lambda host: host.recover(kept_for=self.run))
            finally:
                hosts.end(later.ssh)  # As long as it is there, its job has the node.
        if found.left:
            raise RefusedError("; ".join(f"{place}: {shown(left)}" for left in found.left))
        return "; ".join(f"{place}: {shown(done)}" for done in found.done) or None
