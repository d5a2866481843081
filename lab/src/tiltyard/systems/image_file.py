"""The image file of a study: where it lies, made at the first turn, mended in each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from tiltyard.host.devices.facts import cache_under
from tiltyard.host.op import MakeDirectory, Mend, Mount, PutZeros
from tiltyard.host.place import Place
from tiltyard.host.steps import Step
from tiltyard.systems.kind import KindSettings, Problem, Site, Size
from tiltyard.systems.mount.checks import strangers
from tiltyard.units import format_size

# Memory in the place of a disk: a tmpfs of our own that holds an image file.
#
# What is measured then is the file system's own work, with a device that takes no time; no disk is.

_MEMINFO: Final = "/proc/meminfo"
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
        self._site = site
        self._size_bytes = size_bytes
        self._name = site.ledger.name(f"memory-{slug}-{size_bytes}")

    @property
    def path(self) -> Path:
        """Where it is mounted."""
        return self._site.scratch / self._name

    def problems(self) -> list[Problem]:
        """Room in memory; and that no disk is measured."""
        free_bytes = _available_bytes(self._site.place)
        if free_bytes < self._size_bytes:
            text = f"{format_size(free_bytes)} of memory are free, the image needs "
            return [Problem("error", text + format_size(self._size_bytes), "a smaller image")]
        return [Problem("warning", "the image is in memory: no disk is measured")]

    def steps(self) -> Iterator[Step]:
        """Mount it, unless it is there."""
        made = MakeDirectory(path=self.path, lasts="run")
        if self._site.ledger.holds(made.made(self._site.place.address)):
            return
        yield made
        size = f"size={self._size_bytes + _BESIDE_BYTES}"
        yield Mount(type="tmpfs", source="tiltyard", target=self.path, options=(size,), lasts="run")


def _available_bytes(place: Place) -> int:
    """What may be had without swapping, proc(5)."""
    fields = (line.split() for line in (place.read(_MEMINFO) or "").splitlines())
    return next(int(field[1]) * 1024 for field in fields if field[0] == "MemAvailable:")


LEAST_SCALED: Final = 512 * 2**20
"""An image is scaled no further: every file system fits, with room for small files."""


class ImageBacking(KindSettings):
    """The image file."""

    image: Size = Field(
        default=4 * 2**30,
        description="Size of the image file.",
        gt=0,
        json_schema_extra={"amount": "bytes", "least": LEAST_SCALED},
    )
    at: Literal["memory"] | Path | None = Field(
        default=None,
        description='Directory for the image file, or "memory"; the study\'s own folder if it is '
        "left out.",
    )


class ImageFile:
    """One image; systems of the same slug and size share it."""

    def __init__(self, backing: ImageBacking, site: Site, slug: str) -> None:
        """Nothing is touched yet."""
        self._at = backing.at
        self._size_bytes = backing.image
        self._site, self._place = site, site.place
        self._memory = MemoryBacking(site, backing.image, slug) if self._at == "memory" else None
        self._name = site.ledger.name(f"{slug}-{backing.image}.img")

    @property
    def home(self) -> Path:
        """A directory on a disk, even if the image is not."""
        return self._site.given(self._at) if isinstance(self._at, Path) else self._site.scratch

    @property
    def path(self) -> Path:
        """Of the image."""
        return (self._memory.path if self._memory else self.home) / self._name

    @property
    def is_in_memory(self) -> bool:
        """Whether a boot empties the place that it is to lie in."""
        return self._memory is not None or self._is_in_memory(self._existing())

    def problems(self) -> list[Problem]:
        """Room for it, and what lies under it."""
        if self._memory:
            return self._memory.problems()
        return [*strangers(self.home, self._place), *self._check_home()]

    def steps(self) -> Iterator[Step]:
        """Lay it out, unless it is there.

        Every block is allocated and written before anybody is measured: of a sparse image whoever
        writes a block first would pay for its allocation in the file system below.
        """
        laid_out = PutZeros(
            path=self.path,
            size_bytes=self._size_bytes,
            in_memory=self._memory is not None,
            lasts="run",
        )
        if self._site.ledger.holds(laid_out.made(self._place.address)):
            return
        if self._memory is not None:
            yield from self._memory.steps()
        yield laid_out

    def mend(self) -> Step:
        """After it is formatted, and before it is mounted.

        mkfs asks the device to zero its journal and its tables, which become unwritten extents, and
        btrfs discards what it frees, which becomes holes.
        """
        return Mend(path=self.path)

    def facts(self) -> dict[str, str]:
        """What lies under it."""
        below = self._place.mount_of(self.path)
        return {
            "image lies on": f"{below.type} on {below.source}",
            "write cache of the disk under it": cache_under(self.path.parent, self._place),
        }

    def _check_home(self) -> list[Problem]:
        """Room for the image, and what lies under it."""
        existing = self._existing()
        free_bytes = self._place.space(existing).free_bytes
        if free_bytes < self._size_bytes:
            text = f"{existing} has {format_size(free_bytes)} free, the image needs "
            text += format_size(self._size_bytes)
            return [Problem("error", text, "a smaller image, or backing.at")]
        if self._is_in_memory(existing):
            return [Problem("warning", f"{existing} is in memory: no disk is measured")]
        return []

    def _existing(self) -> Path:
        """Where it shall lie, or the first directory above that is there."""
        above = (self.home, *self.home.parents)
        there = self._place.find_all([*map(str, above)])
        return next(each for each in above if str(each) in there)

    def _is_in_memory(self, existing: Path) -> bool:
        return self._place.mount_of(existing).type in ("tmpfs", "ramfs")


def check_size(name: str, size_bytes: int, min_bytes: int, typical_bytes: int) -> list[Problem]:
    """An image that is too small for a file system, or for its usual form."""
    has = format_size(size_bytes)
    if size_bytes < min_bytes:
        text = f"{name} needs an image of {format_size(min_bytes)}; it has {has}"
        return [Problem("error", text, _remedy(min_bytes))]
    if size_bytes < typical_bytes:
        typical = format_size(typical_bytes)
        text = f"{name} is made with other defaults (block size …) on less than {typical}"
        return [Problem("warning", text, _remedy(typical_bytes))]
    return []


def _remedy(size_bytes: int) -> str:
    """The line of a study file that asks for a larger image."""
    return f'backing = {{ image = "{size_bytes // 2**20}M" }}'
