"""Memory in the place of a disk: a tmpfs of our own that holds an image file.

What is measured then is the file system's own work, with a device that takes no time; no disk is.
"""

from collections.abc import Iterator
from pathlib import Path

from tiltyard.host.changes import MadeDirectory
from tiltyard.host.changes.settings import MountedAt
from tiltyard.host.steps import MakeDirectory, Run, Step
from tiltyard.systems.kind import Problem, Site
from tiltyard.units import format_size

_MEMINFO = Path("/proc/meminfo")
_BESIDE_BYTES = 2**20
"""Room for what is not the image."""


class MemoryBacking:
    """Mounted before the image is made, and for as long as the image is there."""

    def __init__(self, site: Site, size_bytes: int, slug: str) -> None:
        """Nothing is touched yet.

        Args:
            site: where it is mounted.
            size_bytes: of the image.
            slug: tells it apart from that of another image.
        """
        self._ledger = site.ledger
        self._size_bytes = size_bytes
        self.path = site.work.resolve() / site.ledger.name(f"memory-{slug}-{size_bytes}")

    def problems(self) -> list[Problem]:
        """Room in memory; and that no disk is measured."""
        free_bytes = _available_bytes()
        if free_bytes < self._size_bytes:
            text = f"{format_size(free_bytes)} of memory are free, the image needs "
            return [Problem("error", text + format_size(self._size_bytes), "a smaller image")]
        return [Problem("warning", "the image is in memory: no disk is measured")]

    def steps(self) -> Iterator[Step]:
        """Mount it, unless it is there."""
        made = MadeDirectory(path=self.path)
        if self._ledger.holds(made):
            return
        yield MakeDirectory(path=self.path, lasts="run")
        size = f"size={self._size_bytes + _BESIDE_BYTES}"
        argv = ("mount", "-t", "tmpfs", "-o", size, "tiltyard", str(self.path))
        yield Run(argv=argv, change=MountedAt(target=self.path), lasts="run")


def _available_bytes() -> int:
    """What may be had without swapping, proc(5)."""
    fields = (line.split() for line in _MEMINFO.read_text().splitlines())
    return next(int(field[1]) * 1024 for field in fields if field[0] == "MemAvailable:")
