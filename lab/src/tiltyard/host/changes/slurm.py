"""An allocation of Slurm: whole nodes that are held for us, as a change that is taken back.

Slurm's programs are called; there is no other way in. salloc(1) with ``--no-shell`` leaves the
allocation standing when it returns.
"""

import os
import time
from typing import Final, Literal

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host import commands
from tiltyard.host.changes.change import PREFIX, HostChange

_ENDS_S: Final = 60.0
_STEP_S: Final = 0.2


class HeldNodes(HostChange):
    """An allocation, known by the name of its job."""

    kind: Literal["slurm"] = "slurm"
    name: str = Field(pattern=rf"^{PREFIX}[A-Za-z0-9-]+$")

    @property
    def way_back(self) -> str:
        """The job is cancelled."""
        return f"scancel --me --name={self.name}"

    def undo(self) -> str | None:
        """Cancel it and wait until it is gone."""
        if not jobs_named(self.name):
            return None
        commands.run(("scancel", "--me", f"--name={self.name}"))
        give_up = time.monotonic() + _ENDS_S
        while jobs_named(self.name):
            if time.monotonic() > give_up:
                raise TiltyardError(f"Slurm still has the job {self.name}; later: {self.way_back}")
            time.sleep(_STEP_S)
        return f"released the nodes of Slurm's job {self.name}"


def jobs_named(name: str) -> list[tuple[str, str]]:
    """Number and nodes of our jobs of that name that are not over."""
    told = commands.run(
        ("squeue", "--noheader", f"--user={os.geteuid()}", f"--name={name}", "-o", "%i %N")
    ).stdout
    return [(words[0], words[-1]) for line in told.splitlines() if (words := line.split())]
