"""Before a trial: let what was written earlier reach the disk, so that nobody pays for others.

The host has come to rest when nothing is waiting to be written and no task has waited for a disk
in the last moment. (The kernel's own averages, ``avg10``, remember the trial before for half a
minute, so pressure is taken from its totals.) On a busy host that never comes, so patience ends
after a tenth of a trial, two seconds at most; what it then looked like is in the journal. CPU time
and heat are not waited for: neighbours do not stop because we wait, and the gates see both.

Before a trial of less than a second nothing is waited for where we have written next to nothing:
what others do during the trial is in its telemetry.
"""

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tiltyard.host.host import Host
from tiltyard.host.place import HERE, Place

_MEMINFO: Final = "/proc/meminfo"
_PRESSURE: Final = "/proc/pressure/io"
_TOTAL: Final = re.compile(r"^some .*total=(\d{1,18})$", re.MULTILINE)
_DIRTY: Final = re.compile(r"^(?:Dirty|Writeback): *(\d{1,15})", re.MULTILINE)
CALM_BYTES: Final = 2**20
_CALM_SHARE = 0.2
_LIMIT_S = 2.0
_STEP_S = 0.05
_STEP_THERE_S: Final = 0.2
"""On another host the way there and back is a part of it."""


@dataclass(frozen=True)
class Settled:
    """How it went."""

    elapsed_s: float
    dirty_bytes: int
    """Dirty or under write-back at the end. Ours is written: sync(2) waits for it on Linux."""
    waiting_share: float | None
    """Share of the last moment in which a task waited for a disk; ``None``: not available."""


def settle(
    check: Callable[[], None],
    place: Place = HERE,
    *,
    brief: bool = False,
    trial_s: float | None = None,
) -> Settled:
    """Sync, then give other users of the host's disks a moment to come to rest.

    Args:
        check: called between steps; may raise to stop.
        place: the host that the trial will run on.
        brief: the trial takes less than a second, and nothing of ours waits to be written.
        trial_s: how long the trial takes, where that is known.

    Raises:
        UnreachableError: if that is another host, and it is not reached.
    """
    began, host = time.monotonic(), place.host
    limit_s = _LIMIT_S if trial_s is None else min(_LIMIT_S, trial_s / 10)
    if brief and not place.ssh:
        dirty = _dirty_bytes(host.read(files=[_MEMINFO]).files)
        return Settled(time.monotonic() - began, dirty, waiting_share=None)
    if place.ssh:
        host.run(["sync"])
    else:
        os.sync()
    while True:
        share, dirty = _look(host, _STEP_THERE_S if place.ssh else _STEP_S)
        elapsed_s = time.monotonic() - began
        if (dirty <= CALM_BYTES and (share or 0.0) <= _CALM_SHARE) or elapsed_s >= limit_s:
            return Settled(elapsed_s=elapsed_s, dirty_bytes=dirty, waiting_share=share)
        check()


def _look(host: Host, step_s: float) -> tuple[float | None, int]:
    """One step: the share of it in which a task waited for a disk, and bytes that are dirty."""
    before, began = host.read(files=[_PRESSURE]).files, time.monotonic()
    time.sleep(step_s)
    now = host.read(files=[_PRESSURE, _MEMINFO]).files
    elapsed_us = 1e6 * (time.monotonic() - began)
    waited_us = [_TOTAL.search(seen.get(_PRESSURE, "")) for seen in (before, now)]
    share = None
    if waited_us[0] and waited_us[1]:
        share = min(1.0, (int(waited_us[1][1]) - int(waited_us[0][1])) / elapsed_us)
    return share, _dirty_bytes(now)


def _dirty_bytes(files: Mapping[str, str]) -> int:
    """Page cache that is not on disk yet."""
    found = _DIRTY.findall(files.get(_MEMINFO, ""))
    return sum(int(kib) * 1024 for kib in found)
