"""The study folder: which file holds which stage, and how a file is written so that it is whole.

::

    spool/
      study.toml       the question, as a person wrote it
      plan.json        frozen: systems, workloads, order, seed, constants; hashed
      journal.jsonl    what happened, appended and synced event by event
      trials/          one file a trial: the engine's output, verbatim
      findings.json    what the analysis states
      report/          index.html
      pilot.json       what a pilot found: trials in a turn, warm-up, noise and costs
      pilot/           the pilot itself: a study folder of its own

Deleting everything to the right of a stage and running again gives it back.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import UsageError


@dataclass(frozen=True)
class StudyFolder:
    """Paths of one study. Nothing is created by looking at them."""

    root: Path
    paths_from: Path | None = None
    """Where relative paths in the study file begin; the folder itself if it is not given."""

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
    def lock(self) -> Path:
        """Held while a run is going on, so that two runs cannot meet."""
        return self.root / ".lock"

    @classmethod
    def of(cls, path: Path) -> "StudyFolder":
        """The folder that a person means by a study folder or a file ``study.toml`` in it.

        Raises:
            UsageError: if there is no study file.
        """
        root = path if path.is_dir() else path.parent
        folder = cls(root)
        if not folder.study.is_file() or (path.is_file() and path.name != "study.toml"):
            raise UsageError(
                f"{path}: no study here. A study is a folder with a file study.toml; "
                f'"tiltyard new {root / "my-study"}" makes one'
            )
        return folder


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader (or a crash) sees all of it or nothing.

    Raises:
        OSError: with the file's name; what could not be written whole is removed.
    """
    write_together(path.parent, {path.name: data})


def write_together(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files that belong together: each appears whole, and none before all are on the disk.

    Args:
        folder: made if it is not there; whoever else writes into it so waits.
        files: path in the folder → its bytes.

    Raises:
        OSError: with the file's name; then every file is as it was before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    partial = {folder / name: (folder / name).with_name(_partial(name)) for name in files}
    with _alone_in(folder):
        try:
            for (path, beside), data in zip(partial.items(), files.values(), strict=True):
                _write(path, beside, data)
        except BaseException:
            for beside in partial.values():
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    beside.unlink()
            raise
        for path, beside in partial.items():
            beside.replace(path)
        for directory in {path.parent for path in partial}:
            sync_directory(directory)


def _partial(name: str) -> str:
    return f".{Path(name).name}.partial"


def _write(path: Path, beside: Path, data: bytes) -> None:
    """All of a file under the name of a part of it, synced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Two that write the same files at once take turns; without locks the later one wins."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(data: bytes) -> str:
    """SHA-256 of data, in hex."""
    return hashlib.sha256(data).hexdigest()
