"""Carrying out a history on a file system that is mounted."""

import errno
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import TiltyardError
from tiltyard.host import commands
from tiltyard.host.devices.extents import extents
from tiltyard.systems.state.history import History
from tiltyard.systems.state.profiles import Profile

_BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Layout:
    """Of all files under a directory."""

    files: int
    directories: int
    bytes: int
    pieces: int | None
    """Pieces that the files lie in, each without a gap; ``None`` where there is no FIEMAP."""
    score: float | None
    """Share of the blocks that follow the block before them in the file: the layout score of Smith
    and Seltzer (1997) over all files; 1 is a perfect layout."""


def layout_of(directory: Path) -> Layout:
    """The layout of all files under a directory; they must be written back."""
    files = directories = total_bytes = pieces = joints = broken = mapped = 0
    for home, names, found in os.walk(directory):
        directories += len(names)
        for name in found:
            size_bytes, own = _size_and_pieces(f"{home}/{name}")
            files += 1
            total_bytes += size_bytes
            if own:
                mapped += 1
                pieces += own
                joints += -(-size_bytes // _BLOCK_BYTES) - 1
                broken += own - 1
    score = 1 - min(1.0, broken / joints) if joints else 1.0
    return Layout(
        files=files,
        directories=directories,
        bytes=total_bytes,
        pieces=pieces if mapped else None,
        score=score if mapped else None,
    )


def _size_and_pieces(path: str) -> tuple[int, int]:
    """Size of a file, and the pieces that it lies in; 0 where that is not known."""
    file = os.open(path, os.O_RDONLY)
    try:
        found, expected = 0, None
        for extent in extents(file):
            found += extent.physical != expected
            expected = extent.physical + extent.length
        return os.fstat(file).st_size, found
    finally:
        os.close(file)


_CONTENT_BYTES = 16 * 2**20
"""Longer than the memory of any file system's compressor."""
_RECKONED_SHARE = 0.95
"""While files come and go, so much of the wanted fullness is used: the rest is for metadata."""
_SYNCS = 16
"""Write-backs for each capacity that is written: in life, time passes."""
_CLOSE = 0.005
"""How near the fullness at the end must be, as a share of the capacity."""
_ROUNDS = 64
_FULL_TIMES = 1000
_CHECKED_PIECES = 64


@dataclass(frozen=True)
class Aged:
    """What was done, and what it came to."""

    written_bytes: int
    full: float
    """Share of the space that was free when the file system was empty."""
    layout: Layout


def age(
    directory: Path,
    profile: Profile,
    seed: int,
    check: Callable[[], None],
    renew: Callable[[], object],
    *,
    to: float,
    turnover: float,
) -> Aged:
    """Let a history of that profile happen in an empty directory of a file system of its own.

    Args:
        directory: where the files are made; they stay.
        profile: how files come and go.
        seed: of all that is drawn, the contents too. They cannot be compressed.
        check: called now and then; may raise to stop.
        renew: mounts the file system anew.
        to: share of the space that is in use at the end.
        turnover: bytes written in all, in units of the capacity, if that is more.

    Raises:
        TiltyardError: if the file system does not take it.
    """
    ageing = _Ageing(directory, profile, seed, check)
    ageing.churn(to, turnover)
    full = ageing.settle(to, renew)
    return Aged(ageing.history.written_bytes, full, layout_of(directory))


class _Ageing:
    """One history, and the directory that it happens in."""

    def __init__(
        self, directory: Path, profile: Profile, seed: int, check: Callable[[], None]
    ) -> None:
        self._directory = directory
        self._capacity_bytes = self._free_bytes()
        self._profile = profile
        self._check = check
        self._random = random.Random(seed)
        self._content = memoryview(self._random.randbytes(_CONTENT_BYTES))
        self._unsynced_bytes = 0
        self._pieces = 0
        self._full_times = 0
        self.history = History(profile, self._capacity_bytes, seed)

    def churn(self, to: float, turnover: float) -> None:
        """Files come, and go as soon as the file system is full enough."""
        most = to * _RECKONED_SHARE * self._capacity_bytes
        total = turnover * self._capacity_bytes
        while self.history.written_bytes < total:
            self._write()
            while self.history.held_bytes > most and self._delete():
                pass
        while self.history.held_bytes < most:
            self._write()

    def settle(self, to: float, renew: Callable[[], object]) -> float:
        """Write or delete until the fullness is the wanted one; the fullness.

        It is read of a file system that has been mounted anew: xfs gives back what it took ahead of
        files that grow, and what was deleted, long after a sync.
        """
        for _ in range(_ROUNDS):
            renew()
            full = self._full()
            if full < to - _CLOSE:
                # A part of what is missing: it may take more than is written.
                self._write_for((to - full) / 2)
            elif full <= to + _CLOSE or not self._delete():
                break
        return full

    def _write_for(self, share: float) -> None:
        """Write so much of the capacity."""
        end = self.history.written_bytes + share * self._capacity_bytes
        while self.history.written_bytes < end:
            self._write()

    def _write(self) -> None:
        """The next piece; where there is no room, something goes first."""
        piece = self.history.write()
        path = self._directory / piece.path
        done = 0
        while done < piece.size_bytes:
            try:
                done = self._append(path, done, piece.size_bytes)
            except FileNotFoundError:
                path.parent.mkdir(parents=True)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                self._make_room()
        self._pieces += 1
        if self._pieces % _CHECKED_PIECES == 0:
            self._check()
        self._unsynced_bytes += piece.size_bytes
        if self._unsynced_bytes > self._capacity_bytes / _SYNCS:
            self._sync()

    def _append(self, path: Path, done: int, size_bytes: int) -> int:
        """Add bytes to a file; how many of them it has now."""
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            while done < size_bytes:
                begin = self._random.randrange(_CONTENT_BYTES // 2)
                done += os.write(file, self._content[begin : begin + size_bytes - done])
        finally:
            os.close(file)
        return done

    def _make_room(self) -> None:
        """A file system that is full before it is reckoned full."""
        self._full_times += 1
        if self._full_times > _FULL_TIMES or not self._delete():
            raise TiltyardError(
                f"{self._directory}: no room for a file system aged by {self._profile.name}; "
                "a larger one, or less full"
            )
        self._sync()

    def _delete(self) -> bool:
        """The next files go; whether there were any."""
        paths = self.history.delete()
        if paths and self._profile.together > 1:
            shutil.rmtree(self._directory / Path(paths[0]).parts[0])
        else:
            for path in paths:
                (self._directory / path).unlink()
        return bool(paths)

    def _full(self) -> float:
        """Share of the space that is in use."""
        return 1 - self._free_bytes() / self._capacity_bytes

    def _free_bytes(self) -> int:
        """What an ordinary user may still write."""
        status = os.statvfs(self._directory)
        return status.f_bavail * status.f_frsize

    def _sync(self) -> None:
        """Write back this file system alone; some free what was deleted only then."""
        self._unsynced_bytes = 0
        commands.run(("sync", "--file-system", str(self._directory)))
