"""The kernel is told of the trials' files before they are read, and of not too many."""

from pathlib import Path

import pytest

from tiltyard.folder import StudyFolder, sha256, will_be_read
from tiltyard.plan.model import TrialKey
from tiltyard.run import read
from tiltyard.run.journal import TrialFinished

TRIALS = 3 * read.AHEAD


def finished(block: int) -> TrialFinished:
    key = TrialKey(block=block, system="a", workload="w")
    return TrialFinished(
        key=key, slot=block, started="", elapsed_s=1, outcome="done", reason=None,
        file=f"trials/{block}", sha256=sha256(b""),
    )  # fmt: skip


def test_files_are_announced_some_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is there: that is told where a file is read."""
    told: list[Path] = []

    def tell(path: Path) -> None:
        told.append(path)
        will_be_read(path)

    monkeypatch.setattr(read, "will_be_read", tell)
    folder, events = StudyFolder(tmp_path), [finished(block) for block in range(TRIALS)]
    for number, event in enumerate(read.announced(folder, events)):
        assert event is events[number]
        assert len(told) == min(number + 1 + read.AHEAD, TRIALS)
    assert told == [tmp_path / event.file for event in events]
