"""What recovery makes of ledgers: their order, a boot, what is kept over it, what is damaged."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from tiltyard.cli.restore import restore as restore_verb
from tiltyard.errors import ExitCode
from tiltyard.host import processes
from tiltyard.host.changes import Change, MadeDirectory, MadeFile
from tiltyard.host.ledger import Ledger, recover, restore


def die_with(*changes: Change) -> Path:
    """A ledger with these changes whose process is as good as dead: its locks are free."""
    ledger = Ledger()
    for change in changes:
        ledger.record(change)
    os.close(ledger.hold[0])
    return ledger.path


def boot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From here on, another boot of this host than when the ledgers were written."""
    path = tmp_path / "boot_id"
    path.write_text("another-boot\n")
    monkeypatch.setattr(processes, "BOOT_ID", path)


OVERLAP = """
import os, signal, sys
from pathlib import Path
from tiltyard.host.changes import MadeDirectory, MadeFile
from tiltyard.host.ledger import Ledger, recover, state_directory
above = Path(sys.argv[1]) / "tiltyard-above"
changes = [MadeDirectory(path=above), MadeFile(path=above / "tiltyard-below")]
for number, change in enumerate(changes):
    if (child := os.fork()) == 0:
        Ledger().record(change)
        change.path.touch() if number else change.path.mkdir()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (path,) = state_directory().glob(f"{child}-*.jsonl")
    path.rename(path.with_name(f"{9 - number}-{path.name}"))
print("\\n".join(recover()))
"""


def test_overlapping_changes_are_undone_newest_first_whatever_the_process_numbers(
    tmp_path: Path,
) -> None:
    script = (sys.executable, "-c", OVERLAP, str(tmp_path))
    said = subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()
    above = tmp_path / "tiltyard-above"
    assert said == [
        f"an earlier run was killed: removed {path}" for path in (above / "tiltyard-below", above)
    ]


@needs_root
def test_what_another_host_has_changed_is_left_to_it(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts of a cluster share homes, and with them the directory of ledgers."""
    (made := tmp_path / "tiltyard-made").mkdir()
    path = die_with(MadeDirectory(path=made))
    with monkeypatch.context() as elsewhere:
        boot(elsewhere, tmp_path)
        elsewhere.setattr(processes, "host_id", lambda: "n2 0123")
        put_back = restore()
        assert (put_back.done, put_back.left) == ((), ())
        with Ledger(study=tmp_path):
            pass
        assert [*state.iterdir()] == [path]
    with monkeypatch.context() as renamed:
        renamed.setattr(processes, "host_id", lambda: "n3 0123")
        assert recover() == [f"an earlier run was killed: removed {made}"]
    assert not [*state.iterdir()]


def test_what_another_host_keeps_over_a_boot_is_not_taken_up(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(study=tmp_path)
    ledger.record(MadeFile(path=tmp_path / "tiltyard-image"))
    ledger.keep_for(tmp_path)
    with monkeypatch.context() as elsewhere:
        boot(elsewhere, tmp_path)
        elsewhere.setattr(processes, "host_id", lambda: "n2 0123")
        with Ledger(study=tmp_path) as other:
            assert other.outstanding == ()
    with Ledger(study=tmp_path) as own:
        assert own.outstanding
    assert not [*state.iterdir()]


def test_what_could_not_be_put_back_has_an_exit_code(
    tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, directory = (MadeFile(path=tmp_path / f"tiltyard-{n}") for n in "ab")
    file.path.touch()
    directory.path.mkdir()
    die_with(file, directory)
    assert restore_verb() == ExitCode.NOT_RESTORED
    told = capsys.readouterr()
    assert told.out == f"an earlier run was killed: removed {file.path}\n"
    assert told.err.startswith("could not take back what an earlier run left: ")
    directory.path.rmdir()
    assert restore_verb() == ExitCode.DONE
    assert capsys.readouterr().out == "Nothing to restore.\n"
    assert not list(state.iterdir())


def test_a_line_of_a_newer_version_is_not_guessed(state: Path) -> None:
    path = die_with()
    with path.open("a") as file:
        file.write(json.dumps({"change": 1, "at_ns": 1, "is": {"kind": "moved-the-moon"}}) + "\n")
    found = restore()
    assert found.done == ()
    assert found.left == (
        f"could not take back what an earlier run left: {path}:2: not a line that this version "
        "of Tiltyard knows; the version that wrote it can put back what it tells of",
    )
    path.unlink()


def test_a_recovery_in_the_middle_of_a_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that is made but not locked yet looks like one that a dead process left empty."""
    begun = []

    def late(file: int, operation: int) -> None:
        if not begun:
            begun.append(file)
            assert recover() == []
        real(file, operation)

    real = fcntl.flock
    with monkeypatch.context() as patched:
        patched.setattr("tiltyard.host.ledger.fcntl.flock", late)
        ledger = Ledger()
    with ledger:
        assert begun
        assert ledger.path.exists()
        assert len(ledger.path.read_text().splitlines()) == 1


def test_what_is_kept_over_a_boot_is_taken_up_again(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study"
    ledger = Ledger(study=study)
    image = ledger.record(MadeFile(path=tmp_path / ledger.name("image")))
    image.path.touch()
    scratch = ledger.record(MadeDirectory(path=tmp_path / ledger.name("mnt")))
    scratch.path.mkdir()
    ledger.keep_for(study)
    assert not scratch.path.exists()
    boot(monkeypatch, tmp_path)
    assert recover() == []
    with Ledger(study=tmp_path / "other") as other:
        assert other.token != ledger.token
    with Ledger(study=study) as again:
        assert (again.token, again.holds(image)) == (ledger.token, True)
        assert again.path.name.startswith(f"{os.getpid()}-")
        assert again.record(MadeFile(path=tmp_path / again.name("more"))) is not None
        assert recover() == []
    assert not image.path.exists()
    assert not list(state.iterdir())


def test_restore_gives_up_what_is_kept_over_a_boot(tmp_path: Path, state: Path) -> None:
    ledger = Ledger()
    image = ledger.record(MadeFile(path=tmp_path / ledger.name("image")))
    image.path.touch()
    ledger.keep_for(tmp_path / "study")
    assert recover() == []
    assert restore().done == (f"an earlier run was killed: removed {image.path}",)
    assert not list(state.iterdir())


def test_what_was_taken_up_and_killed_again_is_taken_back(tmp_path: Path) -> None:
    study = tmp_path / "study"
    ledger = Ledger()
    image = ledger.record(MadeFile(path=tmp_path / ledger.name("image")))
    image.path.touch()
    ledger.keep_for(study)
    again = Ledger(study=study)
    os.close(again.hold[0])
    assert recover() == [f"an earlier run was killed: removed {image.path}"]
