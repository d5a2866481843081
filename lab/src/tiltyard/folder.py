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

import hashlib
import os
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
    """Write a file so that a reader (or a crash) sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    sync_directory(path.parent)


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
