"""ZFS pools: which are imported, and the change of importing one."""

from typing import Literal

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host import commands
from tiltyard.host.changes.change import PREFIX, HostChange
from tiltyard.host.packages import find_program


class ImportedPool(HostChange):
    """A pool of ours that was made or imported on this host, and mounted with it."""

    kind: Literal["pool"] = "pool"
    pool: str = Field(pattern=rf"^{PREFIX}[A-Za-z0-9.-]+$")

    @property
    def way_back(self) -> str:
        """It is exported."""
        return f"zpool export {self.pool}"

    def undo(self) -> str | None:
        """Unmount and export it; a server that has ended took its pools with it."""
        if self.pool not in pools():
            return None
        commands.run(("zpool", "export", self.pool))
        if self.pool in pools():
            raise TiltyardError(f"{self.pool}: still imported")
        return f"exported {self.pool}"


def pools() -> tuple[str, ...]:
    """Names of the pools that are imported; none if nobody answers."""
    if find_program("zpool") is None:
        return ()
    try:
        return tuple(commands.run(("zpool", "list", "-H", "-o", "name")).stdout.split())
    except TiltyardError:
        return ()
