"""ZFS pools of ours: an op, by which the agent knows that one is imported, and exports it."""

import shlex
from typing import Literal

from tiltyard.host.steps import Op, Text


class ImportPool(Op):
    """A pool that is not imported, and is from here on; one that the turn has imported stays so."""

    kind: Literal["pool"] = "pool"
    pool: str
    argv: tuple[str, ...] = ()
    """Imports it. Empty: the command that makes it does, and comes next."""
    again: bool = False
    """Whether it is exported before; the agent's ledger has it all the time."""

    def op(self, text: Text) -> dict[str, object]:
        """Which, and how."""
        argv = [*map(text, self.argv)]
        return {"op": "pool", "name": text(self.pool), "argv": argv, "again": self.again}

    @property
    def line(self) -> str:
        """The command, or in words."""
        if not self.argv:
            return f"# the command that makes {self.pool} imports it, too"
        return f"# {self._how}: {shlex.join(self.argv)}"

    @property
    def _how(self) -> str:
        return f"zpool export {self.pool}, then" if self.again else "unless it is imported"

    @property
    def script(self) -> str:
        """The same for a shell."""
        if not self.argv:
            return ""
        command, pool = shlex.join(self.argv), shlex.quote(self.pool)
        if self.again:
            return f"zpool export {pool}; {command}"
        return f"zpool list {pool} >/dev/null 2>&1 || {command}"

    @property
    def way_back(self) -> str:
        """It is exported; where a command of ours comes next that of the mount does it before."""
        export = f"zpool export {self.pool}"
        if self.again:
            return ""
        return export if self.argv else f"# {export}, unless that is done"
