"""The image file of a study: where it lies, made at the first turn, mended at the later ones."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from tiltyard.errors import HostLacksError
from tiltyard.host.changes import Change, MadeFile
from tiltyard.host.devices.facts import cache_under
from tiltyard.host.mounts import mount_of
from tiltyard.host.steps import Step, Steps
from tiltyard.systems.image import lay_out, restore_layout
from tiltyard.systems.kind import KindSettings, Problem, Site, Size
from tiltyard.systems.memory_backing import MemoryBacking
from tiltyard.units import format_size

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


class MendImage(Step):
    """Zeros wherever an image has got holes."""

    kind: Literal["mend-image"] = "mend-image"
    path: Path

    @property
    def line(self) -> str:
        """In words."""
        return f"# write zeros where {self.path} has got holes"

    def execute(self, host: Steps) -> str:
        """Write them."""
        restore_layout(self.path, host.check)
        return ""


class LayOutImage(Step):
    """An image file of zeros."""

    kind: Literal["lay-out-image"] = "lay-out-image"
    path: Path
    size_bytes: int

    @property
    def line(self) -> str:
        """In words."""
        return f"# write {format_size(self.size_bytes)} of zeros to {self.path}"

    def changes(self) -> Sequence[Change]:
        """The file."""
        return (MadeFile(path=self.path),)

    def execute(self, host: Steps) -> str:
        """Write it; a part of it is removed at once.

        Raises:
            HostLacksError: if there is no room for it.
        """
        try:
            lay_out(self.path, self.size_bytes, host.check)
        except BaseException as error:
            host.ledger.undo(MadeFile(path=self.path))
            if isinstance(error, OSError):
                raise HostLacksError(f"{self.path}: {error.strerror}") from error
            raise
        return ""


class ImageFile:
    """One image; systems of the same slug and size share it."""

    def __init__(self, backing: ImageBacking, site: Site, slug: str) -> None:
        """Nothing is touched yet."""
        at = backing.at
        self._size_bytes = backing.image
        self._site = site
        self._memory = MemoryBacking(site, backing.image, slug) if at == "memory" else None
        self.home = (site.root / at.expanduser() if isinstance(at, Path) else site.work).resolve()
        """On a disk, even if the image is not."""
        place = self._memory.path if self._memory else self.home
        self.path = place / site.ledger.name(f"{slug}-{backing.image}.img")

    def problems(self) -> list[Problem]:
        """Room for it, and what lies under it."""
        return self._memory.problems() if self._memory else _check_home(self.home, self._size_bytes)

    def steps(self, *, mend: bool) -> Iterator[Step]:
        """Lay it out, unless it is there.

        Args:
            mend: whether to write what earlier turns have turned back into holes.
        """
        if self._site.ledger.holds(MadeFile(path=self.path)):
            if mend:
                yield MendImage(path=self.path)
            return
        if self._memory is not None:
            yield from self._memory.steps()
        yield LayOutImage(path=self.path, size_bytes=self._size_bytes, lasts="run")

    def facts(self) -> dict[str, str]:
        """What lies under it."""
        below = mount_of(self.path)
        return {
            "image lies on": f"{below.type} on {below.source}",
            "write cache of the disk under it": cache_under(self.path.parent),
        }


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


def _check_home(home: Path, size_bytes: int) -> list[Problem]:
    """Room for the image, and what lies under it."""
    existing = next(path for path in (home, *home.parents) if path.exists())
    status = os.statvfs(existing)
    free_bytes = status.f_bavail * status.f_frsize
    if free_bytes < size_bytes:
        text = f"{existing} has {format_size(free_bytes)} free, the image needs "
        return [Problem("error", text + format_size(size_bytes), "a smaller image, or backing.at")]
    if mount_of(existing).type in ("tmpfs", "ramfs"):
        return [Problem("warning", f"{existing} is in memory: no disk is measured")]
    return []
