"""The image file of a study: where it lies, made at the first turn, mended in each."""

import contextlib
import errno
import fcntl
import mmap
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from tiltyard.errors import HostLacksError
from tiltyard.folder import read_all, write_all
from tiltyard.host.changes import Change, MadeDirectory, MadeFile
from tiltyard.host.changes.settings import MountedAt
from tiltyard.host.devices.extents import extents
from tiltyard.host.devices.facts import cache_under
from tiltyard.host.mounts import mount_of
from tiltyard.host.steps import MakeDirectory, Run, Step, Steps
from tiltyard.ownership import expanded
from tiltyard.phases import Phase, phase
from tiltyard.systems.kind import KindSettings, Problem, Site, Size
from tiltyard.systems.mount.checks import strangers
from tiltyard.units import format_size

# Memory in the place of a disk: a tmpfs of our own that holds an image file.
#
# What is measured then is the file system's own work, with a device that takes no time; no disk is.

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


# An image file whose every block is allocated and written before anybody is measured on it.
#
# A sparse image would make whoever writes a block first pay for its allocation in the file system
# below. Zeros are therefore written once; and whenever a file system has been made, before it is
# mounted, the ranges are written that mkfs has turned into unwritten extents (it asks the device to
# zero its journal and its tables), or an earlier turn into holes (btrfs discards what it frees).

_CHUNK = 16 * 2**20


def lay_out(path: Path, size_bytes: int, check: Callable[[], None]) -> None:
    """Make an image file of zeros, written through to the device.

    Args:
        path: must not exist.
        size_bytes: size of the image.
        check: called between chunks; may raise to stop.

    Raises:
        OSError: if there is no room for it.
    """
    with path.open("xb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
        with phase("writing the image", size_bytes) as writing:
            _write(file.fileno(), [(0, size_bytes)], check, writing, read=False)


def restore_layout(path: Path, check: Callable[[], None]) -> int:
    """Write wherever the image is not written; what it holds stays, and nobody may write to it.

    Returns:
        Bytes that had to be written; 0 where the file system below cannot tell.
    """
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        gaps = list(_gaps(file, os.fstat(file).st_size))
        size_bytes = sum(end - start for start, end in gaps)
        with phase("writing where the image has holes", size_bytes) as writing:
            _write(file, gaps, check, writing, read=True)
        return size_bytes
    finally:
        os.close(file)


def _write(
    file: int,
    ranges: Iterable[tuple[int, int]],
    check: Callable[[], None],
    writing: Phase,
    *,
    read: bool,
) -> None:
    """Write zeros, or what is read there, from each start to its end; synced.

    Past the page cache where that can be: through it, it takes several times as long and pushes out
    what others have there.
    """
    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    with contextlib.suppress(OSError):
        fcntl.fcntl(file, fcntl.F_SETFL, flags | os.O_DIRECT)
    # It begins at a page, as direct I/O wants it.
    buffer = mmap.mmap(-1, _CHUNK)
    for start, end in ranges:
        for offset in range(start, end, _CHUNK):
            check()
            piece = memoryview(buffer)[: min(_CHUNK, end - offset)]
            try:
                _write_piece(file, piece, offset, read=read)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                # The image ends within a sector, or its file system takes none after all.
                fcntl.fcntl(file, fcntl.F_SETFL, flags)
                _write_piece(file, piece, offset, read=read)
            writing.done_bytes += len(piece)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _write_piece(file: int, piece: memoryview, offset: int, *, read: bool) -> None:
    if read:
        read_all(file, piece, offset)
    write_all(file, piece, offset)


def _gaps(file: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Ranges of a file that are holes or unwritten extents, in order."""
    position = 0
    for extent in extents(file):
        if extent.start > position:
            yield position, extent.start
        if extent.is_unwritten:
            yield extent.start, min(extent.end, size_bytes)
        position = extent.end
        if extent.is_last:
            break
    else:
        return
    if position < size_bytes:
        yield position, size_bytes


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
    """No block of an image is allocated while others measure, whatever has formatted it."""

    kind: Literal["mend-image"] = "mend-image"
    path: Path

    @property
    def line(self) -> str:
        """In words."""
        return f"# write where {self.path} has got holes or unwritten extents; what it holds stays"

    @property
    def script(self) -> str:
        """All of it, as it is."""
        return f"rewrite {shlex.quote(str(self.path))}"

    def execute(self, host: Steps) -> str:
        """Write."""
        restore_layout(self.path, host.check)
        return ""


class LayOutImage(Step):
    """An image file of zeros."""

    kind: Literal["lay-out-image"] = "lay-out-image"
    path: Path
    size_bytes: int
    in_memory: bool = False

    @property
    def line(self) -> str:
        """In words."""
        return f"# write {format_size(self.size_bytes)} of zeros to {self.path}"

    @property
    def script(self) -> str:
        """Blocks of its own, then zeros in all of them."""
        path = shlex.quote(str(self.path))
        return f"fallocate --length {self.size_bytes} {path}; zeros {path}"

    @property
    def disk_bytes(self) -> int:
        """All of it, unless it is in memory."""
        return 0 if self.in_memory else self.size_bytes

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
        self.home = (site.root / expanded(at) if isinstance(at, Path) else site.work).resolve()
        """On a disk, even if the image is not."""
        place = self._memory.path if self._memory else self.home
        self.path = place / site.ledger.name(f"{slug}-{backing.image}.img")

    @property
    def is_in_memory(self) -> bool:
        """Whether a boot empties the place that it is to lie in."""
        return self._memory is not None or _is_in_memory(_existing(self.home))

    def problems(self) -> list[Problem]:
        """Room for it, and what lies under it."""
        if self._memory:
            return self._memory.problems()
        return [*strangers(self.home), *_check_home(self.home, self._size_bytes)]

    def steps(self) -> Iterator[Step]:
        """Lay it out, unless it is there."""
        if self._site.ledger.holds(MadeFile(path=self.path)):
            return
        if self._memory is not None:
            yield from self._memory.steps()
        yield LayOutImage(
            path=self.path,
            size_bytes=self._size_bytes,
            in_memory=self._memory is not None,
            lasts="run",
        )

    def mend(self) -> Step:
        """After it is formatted, and before it is mounted."""
        return MendImage(path=self.path)

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
    existing = _existing(home)
    status = os.statvfs(existing)
    free_bytes = status.f_bavail * status.f_frsize
    if free_bytes < size_bytes:
        text = f"{existing} has {format_size(free_bytes)} free, the image needs "
        return [Problem("error", text + format_size(size_bytes), "a smaller image, or backing.at")]
    if _is_in_memory(existing):
        return [Problem("warning", f"{existing} is in memory: no disk is measured")]
    return []


def _existing(path: Path) -> Path:
    """It, or the first directory above it that is there."""
    return next(each for each in (path, *path.parents) if each.exists())


def _is_in_memory(existing: Path) -> bool:
    return mount_of(existing).type in ("tmpfs", "ramfs")
