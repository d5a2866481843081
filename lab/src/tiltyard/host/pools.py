"""ZFS pools of ours: an op, by which the agent knows that one is imported, and exports it."""

import shlex
from typing import Literal

from tiltyard.host.steps import Op, Text


class ImportPool(Op):
    """A pool that is ours once it is imported."""

    kind: Literal["pool"] = "pool"
    pool: str
    argv: tuple[str, ...] = ()
    """Imports it. Empty: the command that makes it does."""
    again: bool = False
    """Whether it is exported before; the agent's ledger has it all the time."""

    def op(self, text: Text) -> dict[str, object]:
        """Which, and how."""
        argv = [*map(text, self.argv)]
        return {"op": "pool", "pool": self.pool, "argv": argv, "again": self.again}

    @property
    def line(self) -> str:
        """The command, or in words."""
        if not self.argv:
            return f"# the command that makes {self.pool} imports it, too"
        before = f"zpool export {self.pool}; " if self.again else ""
        return before + shlex.join(self.argv)

    @property
    def way_back(self) -> str:
        """It is exported, unless it is known already."""
        return "" if self.again else f"zpool export {self.pool}"
