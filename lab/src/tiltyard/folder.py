"""The study folder: which file holds which stage, and how a file is written so that it is whole.

::

    spool/
      study.toml       the question, as a person wrote it
      plan.json        frozen: systems, workloads, order, seed, constants; hashed
      journal.jsonl    what happened, appended and synced event by event
      trials/          one file a trial: the engine's output, verbatim, compressed
      findings.json    what the analysis states
      report/          index.html
      pilot.json       what a pilot found: trials in a turn, warm-up, noise and costs
      pilot/           the pilot itself: a study folder of its own

Deleting everything to the right of a stage and running again gives it back.
"""

import contextlib
import errno
import fcntl
import functools
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from tiltyard.errors import RefusedError, UsageError
from tiltyard.ownership import (
    held_open,
    named_in_errors,
    require_ours,
    require_plain,
    require_plain_inside,
)
from tiltyard.study_path import no_study, study_path

HASHED: Final = ", SHA-256 "
"""Stands between a file and its hash in a fact of a system."""
PARTIAL: Final = ".partial"
"""What the name of a file ends in that is not whole yet."""
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to make a file that is not there."""
_CHUNK: Final = 1 << 16
_FETCHED: Final = 1 << 20
"""Bytes of a file that are fetched before it is read; further ones while it is."""


@dataclass(frozen=True)
class StudyFolder:
    """Paths of one study. Nothing is created by looking at them."""

    root: Path
    paths_from: Path | None = None
    """Where relative paths in the study file begin; the folder itself if it is not given."""
    written_in: Path | None = None
    """Where the study file lies that was copied into the folder, if one was."""

    @property
    def study(self) -> Path:
        """The study file."""
        return self.root / "study.toml"

    @property
    def plan(self) -> Path:
        """The frozen plan."""
        return self.root / "plan.json"

    @property
    def journal(self) -> Path:
        """The append-only record of the run."""
        return self.root / "journal.jsonl"

    @property
    def trials(self) -> Path:
        """Folder of the trials, verbatim."""
        return self.root / "trials"

    @property
    def findings(self) -> Path:
        """What the analysis states."""
        return self.root / "findings.json"

    @property
    def report(self) -> Path:
        """Folder of the report."""
        return self.root / "report"

    @property
    def work(self) -> Path:
        """Scratch space of a run (images, mount points); empty between runs."""
        return self.root / "work"

    @property
    def pilot_findings(self) -> Path:
        """What a pilot found; a plan is frozen with it."""
        return self.root / "pilot.json"

    @property
    def pilot(self) -> "StudyFolder":
        """The pilot: a study of its own, about the same systems where they are."""
        return StudyFolder(self.root / "pilot", paths_from=self.paths_from or self.root)

    @property
    def sessions(self) -> Path:
        """Folders of the sessions after the first one."""
        return self.root / "sessions"

    def session(self, number: int) -> "StudyFolder":
        """The folder of a session; the first one is carried out in the study's own folder."""
        if number == 1:
            return self
        return StudyFolder(self.sessions / str(number), paths_from=self.study_root)

    @property
    def lost(self) -> Path:
        """What there was of a session when the host of a placement was lost, one folder each."""
        return self.root / "lost"

    @property
    def study_root(self) -> Path:
        """The study's own folder, also of a session."""
        return self.paths_from or self.root

    @property
    def origin(self) -> str:
        """Where the study file was written, relative to the study's folder; empty: there."""
        path = os.path.relpath(self.written_in or self.study_root, self.study_root)
        return "" if path == os.curdir else path

    @property
    def placed_lock(self) -> Path:
        """Held by the one process that has hosts of a placement carry the sessions out."""
        return self.root / ".placed"

    @property
    def lock(self) -> Path:
        """Held while a run is going on, so that two runs cannot meet."""
        return self.root / ".lock"

    @property
    def resumed(self) -> Path:
        """What a run says that goes on by itself after a boot of the host."""
        return self.root / "resumed.log"

    def require_plain(self) -> None:
        """Refuse a folder where links or devices lie in the place of what we write.

        Raises:
            RefusedError: it names the first.
        """
        files = (self.plan, self.journal, self.findings, self.pilot_findings, self.lock)
        for file in (*files, self.resumed):
            require_plain(file)
        folders = (self.trials, self.report, self.work, self.pilot.root, self.sessions)
        for directory in folders:
            require_plain(directory, is_directory=True)
        for directory in (self.trials, self.report):
            require_plain_inside(directory)
        if self.pilot.root.exists():
            self.pilot.require_plain()
        if self.sessions.exists():
            for folder in self.sessions.iterdir():
                require_plain(folder, is_directory=True)
                StudyFolder(folder).require_plain()

    def require_own(self) -> None:
        """Refuse to write to a folder in which another user has a hand.

        Raises:
            RefusedError: if it is another user's, or :meth:`require_plain` raises it.
        """
        mend = "name another folder with --folder or --output, or make it yours: chown, chmod o-w"
        # For an ordinary user names that nobody guesses, and no links, are enough.
        require_ours(self.root, mend, others=0 if os.geteuid() else stat.S_IWOTH)
        self.require_plain()

    @classmethod
    def of(cls, path: Path) -> "StudyFolder":
        """The folder that a person means; of a study file elsewhere, the one that it is run in.

        Raises:
            UsageError: if there is none.
            RefusedError: if links lie in it where Tiltyard writes.
        """
        found = study_path(path)
        folder = cls(found.with_suffix("") if found.is_file() else found)
        if not folder.study.is_file():
            raise UsageError(no_study(path))
        folder.require_plain()
        return folder


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader (or a crash) sees all of it or nothing.

    Raises:
        OSError: with the file's name; what could not be written whole is removed.
    """
    write_together(path.parent, {path.name: data})


def write_together(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files that belong together: each appears whole, and none before all are on the disk.

    No link in the folder is followed: what another user lays into it is replaced, or refused.

    Args:
        folder: made if it is not there; whoever else writes into it so waits.
        files: path in the folder → its bytes.

    Raises:
        OSError: with the file's name. Up to the first renaming every file is as it was before;
            where a renaming itself fails, each file is the old one or the new one, whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder) as (root, is_alone), contextlib.ExitStack() as held:
        inside = _Inside(folder, root, held)
        parts: list[_Part] = []
        try:
            for name, data in files.items():
                path = folder / name
                parts.append(_Part(path, inside.directory(Path(name).parent), _partial(path.name)))
                parts[-1].write(data, sweep=is_alone)
            for part in parts:
                part.take_its_place()
        except BaseException:  # Ctrl-C too
            for part in parts:
                part.discard()
            raise
        for directory in {part.directory for part in parts}:
            os.fsync(directory)


def partial_beside(path: Path) -> Path:
    """Where a file may be until it is whole; nobody can guess its name."""
    return path.with_name(_partial(path.name))


def create_file(path: Path) -> BinaryIO:
    """Make a file that is not there, in a directory that is none of a link.

    Raises:
        OSError: with the file's name.
    """
    with named_in_errors(path):
        directory = os.open(path.parent, _DIRECTORY)
        try:
            return os.fdopen(os.open(path.name, NEW, 0o666, dir_fd=directory), "wb")
        finally:
            os.close(directory)


def open_to_change(path: Path, flags: int = 0) -> int:
    """Open a file, or make it, for reading and writing: not through a link, and no other's.

    Args:
        path: of the file.
        flags: further ones of open(2).

    Raises:
        RefusedError: if it is a link, no file, or has a second name somewhere else.
        OSError: with the file's name.
    """
    require_plain(path)
    flags |= os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with held_open(path.parent) as above, named_in_errors(path):
        file = os.open(path.name, flags, 0o644, dir_fd=above)
        found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        return file
    os.close(file)
    raise RefusedError(
        f"{path}: not written to: it has another name elsewhere. Fix: put a copy in its place"
    )


def write_all(file: int, data: bytes | memoryview, offset: int) -> None:
    """All of it, at that place, however little of it each call takes.

    Raises:
        OSError: a part of it may be there.
    """
    data = memoryview(data)
    while data:
        done = os.pwrite(file, data, offset)
        data, offset = data[done:], offset + done


def read_all(file: int, buffer: bytearray | memoryview, offset: int) -> None:
    """Fill a buffer from that place, however little each call gives.

    Raises:
        OSError: also if the file ends before.
    """
    left = memoryview(buffer)
    while left:
        done = os.preadv(file, [left], offset)
        if not done:
            raise OSError(errno.EIO, f"ends at byte {offset}")
        left, offset = left[done:], offset + done


def _partial(name: str) -> str:
    return f".{name}.{secrets.token_hex(8)}{PARTIAL}"


class _Inside:
    """Directories in a folder, held open so that no other ones can take their places."""

    def __init__(self, folder: Path, root: int, held: contextlib.ExitStack) -> None:
        self._folder = folder
        self._held = held
        self._open = {Path(): root}

    def directory(self, path: Path) -> int:
        """Open; made if it is not there."""
        if path not in self._open:
            above = self.directory(path.parent)
            with named_in_errors(self._folder / path):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(path.name, dir_fd=above)
                self._open[path] = os.open(path.name, _DIRECTORY, dir_fd=above)
            self._held.callback(os.close, self._open[path])
        return self._open[path]


@dataclass(frozen=True)
class _Part:
    """A file under a name of its own, until it is whole."""

    path: Path
    """What it shall be."""
    directory: int
    """Where it is, open."""
    name: str
    """What it is called until then."""

    def write(self, data: bytes, *, sweep: bool) -> None:
        """All of it, synced; ``sweep``: what a dead process left of the same file goes."""
        with named_in_errors(self.path):
            for name in self._left_behind() if sweep else ():
                os.unlink(name, dir_fd=self.directory)
            with os.fdopen(os.open(self.name, NEW, 0o666, dir_fd=self.directory), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())

    def take_its_place(self) -> None:
        """Replace what is there."""
        with named_in_errors(self.path):
            os.replace(
                self.name, self.path.name, src_dir_fd=self.directory, dst_dir_fd=self.directory
            )

    def discard(self) -> None:
        """It goes, if it is still there."""
        with contextlib.suppress(OSError):
            os.unlink(self.name, dir_fd=self.directory)

    def _left_behind(self) -> list[str]:
        own = re.compile(rf"\.{re.escape(self.path.name)}\.[0-9a-f]{{16}}{re.escape(PARTIAL)}")
        with os.scandir(self.directory) as entries:
            return [one.name for one in entries if own.fullmatch(one.name) and not one.is_dir()]


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[tuple[int, bool]]:
    """Two that write the same files at once take turns; without locks the later one wins.

    Yields:
        The folder, open, and whether nobody else writes into it so.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        is_alone = False
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
            is_alone = True
        yield handle, is_alone
    finally:
        os.close(handle)


def will_be_read(path: Path) -> None:
    """Have the kernel fetch the begin of a file meanwhile; what is wrong with it, reading tells."""
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.posix_fadvise(file, 0, _FETCHED, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(file)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    _sync(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def sync_file(path: Path) -> None:
    """Make what was written to a file durable.

    Raises:
        OSError: with the file's name.
    """
    _sync(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _sync(path: Path, flags: int) -> None:
    with named_in_errors(path):
        handle = os.open(path, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sha256(data: bytes) -> str:
    """SHA-256 of data, in hex."""
    return hashlib.sha256(data).hexdigest()


def hashed(path: Path) -> str:
    """A file with its hash, as a fact tells it."""
    return f"{path}{HASHED}{hash_of(path)}"


def hash_of(path: Path) -> str:
    """SHA-256 of a file, in hex; computed again only where it was written, or exchanged.

    Raises:
        OSError: with the file's name; also if it is a pipe or a device, which might never end.
    """
    found = path.stat()
    return _hash_of(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@functools.lru_cache(maxsize=1024)
def _hash_of(path: Path, *_: int) -> str:
    with named_in_errors(path):
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as contents:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(errno.EINVAL, "is no file")
            return hashlib.file_digest(contents, "sha256").hexdigest()
