"""Processes by identity. A bare pid is not one: numbers are reused, and zombies still have one."""

import os
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Process(BaseModel):
    """A process of this or an earlier boot."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pid: int
    started_ticks: int
    """Clock ticks since boot (field 22 of ``/proc/PID/stat``)."""
    boot: str

    @classmethod
    def current(cls) -> Self:
        """This process."""
        pid = os.getpid()
        _, started = _state_and_start(pid) or ("R", 0)
        return cls(pid=pid, started_ticks=started, boot=_BOOT_ID.read_text().strip())

    def lives(self) -> bool:
        """Whether it still runs; a zombie that nobody reaps does not."""
        if _BOOT_ID.read_text().strip() != self.boot:
            return False
        now = _state_and_start(self.pid)
        return now is not None and now[0] not in "ZX" and now[1] == self.started_ticks


def _state_and_start(pid: int) -> tuple[str, int] | None:
    """State letter and start time of a process, or ``None`` if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(") ")[2].split()
    return fields[0], int(fields[19])
