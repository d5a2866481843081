import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.hosts import needs_root
from tiltyard.errors import HostLacksError, RefusedError, TiltyardError
from tiltyard.host import changes
from tiltyard.host.changes import MadeDirectory, MadeFile
from tiltyard.host.commands import run
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.steps import Steps, UndoTemporarily


def lines(ledger: Ledger) -> list[dict[str, object]]:
    return [json.loads(line) for line in ledger.path.read_text().splitlines()]


def test_a_change_is_on_disk_before_it_is_made(tmp_path: Path) -> None:
    with Ledger() as ledger:
        path = tmp_path / ledger.name("file")
        ledger.record(MadeFile(path=path))
        last = lines(ledger)[-1]
        assert (last["change"], last["is"]) == (1, {"kind": "file", "path": str(path)})
        assert not path.exists()


def test_leaving_takes_everything_back_in_reverse_order(tmp_path: Path) -> None:
    with Ledger() as ledger:
        outer = tmp_path / ledger.name("outer")
        ledger.record(MadeDirectory(path=outer))
        outer.mkdir()
        inner = outer / ledger.name("inner")
        ledger.record(MadeFile(path=inner))
        inner.touch()
    assert not outer.exists()
    assert not ledger.path.exists()


def test_one_change_can_be_taken_back_alone(tmp_path: Path) -> None:
    with Ledger() as ledger:
        made = ledger.record(MadeFile(path=tmp_path / ledger.name("a")))
        made.path.touch()
        assert ledger.holds(made)
        assert ledger.undo(made) == f"removed {made.path}"
        assert ledger.undo(made) is None
        assert lines(ledger)[-1] == {"undone": 1}


def test_the_ledger_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    with Ledger() as ledger:
        made = ledger.record(MadeFile(path=tmp_path / ledger.name("a")))
        made.path.touch()
        assert recover() == []
        assert made.path.exists()


@pytest.mark.parametrize("path", ["/tmp", "relative/tiltyard-x", "/srv/data"])
def test_a_damaged_ledger_cannot_name_somebodys_files(path: str) -> None:
    with pytest.raises(RefusedError, match="does not begin with tiltyard-"):
        MadeDirectory(path=Path(path)).undo()
    with pytest.raises(RefusedError, match="does not begin with tiltyard-"):
        MadeFile(path=Path(path)).undo()


def test_a_link_in_place_of_a_directory_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").touch()
    link = tmp_path / "tiltyard-link"
    link.symlink_to(precious)
    assert MadeDirectory(path=link).undo() is None
    assert (precious / "data").exists()


def test_an_unwritable_state_directory_names_the_way_out(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(HostLacksError, match="TILTYARD_STATE names another directory"):
        Ledger(blocked / "state")


def died(script: str, *arguments: str) -> None:
    """Run a script that kills itself."""
    done = subprocess.run((sys.executable, "-c", script, *arguments), check=False)
    assert done.returncode == -9


MAKES_AND_DIES = """
import os, signal, subprocess, sys
from pathlib import Path
from tiltyard.host.changes import MadeFile
from tiltyard.host.ledger import Ledger
ledger = Ledger()
made = ledger.record(MadeFile(path=Path(sys.argv[1]) / ledger.name("a")))
made.path.touch()
if sys.argv[2] == "orphan":
    subprocess.Popen(("sleep", "0.8"), pass_fds=ledger.hold, start_new_session=True)
if sys.argv[2] == "torn":
    os.write(ledger.hold[0], b'{"change": 2, "is": {"kind": "fi')
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["plain", "torn"])
def test_what_a_killed_process_left_is_taken_back(tmp_path: Path, how: str) -> None:
    died(MAKES_AND_DIES, str(tmp_path), how)
    (left,) = tmp_path.iterdir()
    assert recover() == [f"an earlier run was killed: removed {left}"]
    assert not left.exists()
    assert recover() == []


def test_recovery_waits_for_commands_that_the_dead_left_running(tmp_path: Path) -> None:
    began = time.monotonic()
    died(MAKES_AND_DIES, str(tmp_path), "orphan")
    assert len(recover()) == 1
    assert time.monotonic() - began > 0.7


def test_what_cannot_be_taken_back_is_said_and_kept(tmp_path: Path, state: Path) -> None:
    died(MAKES_AND_DIES, str(tmp_path), "plain")
    (left,) = tmp_path.iterdir()
    left.unlink()
    left.mkdir()
    assert "could not take back" in recover()[0]
    assert len(list(state.iterdir())) == 1
    left.rmdir()
    assert recover() == []


@needs_root
def test_a_directory_that_somebody_has_mounted_on_stays(tmp_path: Path) -> None:
    target = tmp_path / "tiltyard-mnt"
    target.mkdir()
    run(("mount", "-t", "tmpfs", "none", str(target)))
    try:
        (target / "precious").touch()
        with pytest.raises(RefusedError, match="is mounted"):
            MadeDirectory(path=target).undo()
        assert (target / "precious").exists()
    finally:
        run(("umount", str(target)))


@needs_root
def test_a_failed_clean_up_says_how_to_repeat_it(tmp_path: Path) -> None:
    ledger = Ledger()
    made = ledger.record(MadeDirectory(path=tmp_path / ledger.name("d")))
    made.path.mkdir()
    run(("mount", "-t", "tmpfs", "none", str(made.path)))
    with pytest.raises(TiltyardError, match="tiltyard restore"):
        ledger.close()
    run(("umount", str(made.path)))
    assert recover() == [f"an earlier run was killed: removed {made.path}"]
    assert not list(tmp_path.iterdir())


def test_what_the_ledger_keeps_need_not_be_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that is made again in the next turn costs no sync; one that is forgotten does."""
    synced: list[Path] = []
    monkeypatch.setattr(changes, "sync_directory", synced.append)
    with Ledger() as ledger:
        made = ledger.record(MadeDirectory(path=tmp_path / ledger.name("a")))
        made.path.mkdir()
        UndoTemporarily(change=made).execute(Steps(ledger, lambda: None))
        assert not made.path.exists()
        assert synced == []
        made.path.mkdir()
        ledger.undo(made)
    assert synced == [tmp_path]
