"""What a host holds in memory of its disks, dropped: drop_caches of proc(5)."""

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.host.place import Place

_DROP = "/proc/sys/vm/drop_caches"
_COUNTED = "/proc/vmstat"
_COUNTERS = ("drop_pagecache", "drop_slab")


def drop_caches(place: Place) -> None:
    """Write back what is dirty, then drop pages, directory entries and inodes of the whole host.

    Raises:
        HostLacksError: if the host does not take it: only root may, and not in every container.
        TiltyardError: if the kernel's counters do not say that it was done.
    """
    before = _counted(place)
    place.run(("sync",))
    try:
        place.run(("sh", "-c", 'echo 3 > "$0"', _DROP))
    except TiltyardError as error:
        raise HostLacksError(f"{error}; only root can drop the caches of a host") from None
    if before and any(now <= was for was, now in zip(before, _counted(place), strict=False)):
        raise TiltyardError(f"{_DROP}: taken, but the kernel counts no caches dropped")


def _counted(place: Place) -> list[int]:
    """How often they were dropped since boot; empty where the kernel does not count that."""
    lines = (place.read(_COUNTED) or "").splitlines()
    with place.understood():
        counts = dict(line.split() for line in lines)
        return [int(counts[name]) for name in _COUNTERS if name in counts]
