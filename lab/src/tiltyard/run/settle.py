"""Before a trial: let what was written earlier reach the disk, so that nobody pays for others."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CALM_BYTES = 2**20
_LIMIT_S = 2.0
_STEP_S = 0.05


@dataclass(frozen=True)
class Settled:
    """How it went."""

    elapsed_s: float
    dirty_bytes: int
    """Dirty or under write-back at the end. Ours is written: sync(2) waits for it on Linux."""


def settle(check: Callable[[], None]) -> Settled:
    """Sync, then give other writers of this host a moment to come to rest.

    Args:
        check: called between steps; may raise to stop.
    """
    began = time.monotonic()
    os.sync()
    while (dirty := _dirty_bytes()) > _CALM_BYTES and time.monotonic() - began < _LIMIT_S:
        check()
        time.sleep(_STEP_S)
    return Settled(elapsed_s=time.monotonic() - began, dirty_bytes=dirty)


def _dirty_bytes() -> int:
    """Page cache that is not on disk yet."""
    lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
    return sum(int(lines[name].split()[0]) * 1024 for name in ("Dirty", "Writeback"))
