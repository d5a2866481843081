"""Each test has a ledger of its own, and leaves nothing behind on the host."""

import shutil
from pathlib import Path

import pytest

from support.hosts import nothing_is_left, open_folder, state
from support.patience import LATEST_S
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder

__all__ = ["nothing_is_left", "open_folder", "state"]


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The real one; it fails, and does not skip, if it was not built."""
    return Engine.find()


def _copied(name: str, to: Path) -> StudyFolder:
    """A study that was carried out long ago, elsewhere."""
    shutil.copytree(Path(__file__).parent / "fixtures" / "recorded" / name, to)
    for directory in ("old", "new"):
        (to / directory).mkdir()
    return StudyFolder(to)


@pytest.fixture
def recorded_study(tmp_path: Path) -> StudyFolder:
    """A finished one."""
    return _copied("finished", tmp_path / "finished")


@pytest.fixture
def recorded_unfinished_study(tmp_path: Path) -> StudyFolder:
    """One that was killed after five of its twelve trials."""
    return _copied("unfinished", tmp_path / "unfinished")


@pytest.fixture
def patience_with_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that gets a processor late does not fail its trial: that is not what is tested."""
    monkeypatch.setattr("tiltyard.run.clients.SKEW_MAX_S", LATEST_S)
