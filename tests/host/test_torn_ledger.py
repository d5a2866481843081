"""A change is made only if its line of the ledger is whole, whatever the disk does meanwhile."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.faulty_fs import READ_ONLY, SHORT, Fault, faulty
from support.hosts import needs_root
from support.small_disk import filled_and_freed, small_disk
from tiltyard.cli.restore import restore as restore_verb
from tiltyard.errors import ExitCode
from tiltyard.host.changes import MadeFile
from tiltyard.host.ledger import Ledger, recover, restore
from tiltyard.host.recovery import read_ledger

DIES_LEAVING = """
import os, signal, sys
from pathlib import Path
from tiltyard.host.changes import MadeFile
from tiltyard.host.ledger import Ledger
ledger = Ledger()
for name in sys.argv[1:]:
    ledger.record(MadeFile(path=Path(name))).path.touch()
print(ledger.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def left_by_a_dead_process(*files: Path) -> Path:
    """The ledger of a process that made files and was killed."""
    argv = (sys.executable, "-c", DIES_LEAVING, *map(str, files))
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return Path(done.stdout.strip())


@contextlib.contextmanager
def failing(errors: list[OSError], path: Path) -> Iterator[None]:
    """What fails in here is kept, and told of that file."""
    try:
        yield
    except OSError as error:
        errors.append(error)
    assert all(error.filename == str(path) for error in errors)


@needs_root
def test_on_a_disk_that_fills_and_frees_each_line_is_whole_or_refused(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 256 * 1024) as disk:
        state = disk / "state"
        ledger = Ledger(state)
        recorded: list[MadeFile] = []
        refused: list[OSError] = []
        long = "/".join(["d" * 200] * 7)
        with filled_and_freed(disk, seed=4711, rounds=100_000, pause_s=0.001):
            for number in range(400):
                change = MadeFile(path=tmp_path / long / f"tiltyard-{number}")
                with failing(refused, ledger.path):
                    recorded.append(ledger.record(change))
                with failing(refused, ledger.path):
                    while len(recorded) > 20:
                        ledger.undo(recorded[0])
                        recorded.pop(0)
        told = read_ledger(ledger.path)
        assert refused
        assert told.broken == []
        assert [one.change for one in told.outstanding.values()] == recorded
        ledger.close()
        assert not list(state.iterdir())


@needs_root
@pytest.mark.parametrize("what", ["ENOSPC", "EIO", "EDQUOT", READ_ONLY])
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_change_that_cannot_be_written_down_is_refused(
    tmp_path: Path, call: str, what: str
) -> None:
    if (call, what) == ("fsync", READ_ONLY):
        what = "EROFS"
    with faulty(tmp_path / "disk", tmp_path / "faulty", [Fault(call, 3, what)]) as injected:
        ledger = Ledger(tmp_path / "faulty")
        first, second = (MadeFile(path=tmp_path / f"tiltyard-{n}") for n in "ab")
        ledger.record(first)
        with pytest.raises(OSError, match="jsonl"):
            ledger.record(second)
        assert injected.read_text().startswith(f"{call} 3 {what} ")
        told = read_ledger(tmp_path / "disk" / ledger.path.name)
        assert [one.change for one in told.outstanding.values()] == [first]
        os.close(ledger.hold[0])


@needs_root
def test_a_short_or_interrupted_write_goes_on(tmp_path: Path) -> None:
    faults = [*(Fault("write", n, SHORT) for n in range(2, 9)), Fault("write", 10, "EINTR")]
    with faulty(tmp_path / "disk", tmp_path / "faulty", faults) as injected:
        with Ledger(tmp_path / "faulty") as ledger:
            made = [ledger.record(MadeFile(path=tmp_path / f"tiltyard-{n}")) for n in "abc"]
            told = read_ledger(ledger.path)
            assert [one.change for one in told.outstanding.values()] == made
            assert told.broken == []
        assert len(injected.read_text().splitlines()) == len(faults)
        assert not list((tmp_path / "disk").glob("*.jsonl"))


def test_a_line_that_could_not_be_cut_back_is_cut_before_the_next(tmp_path: Path) -> None:
    with Ledger() as ledger:
        os.write(ledger.hold[0], b'{"change": 1, "at_ns": 17, "is": {"ki')
        made = ledger.record(MadeFile(path=tmp_path / "tiltyard-a"))
        told = read_ledger(ledger.path)
        assert ([one.change for one in told.outstanding.values()], told.broken) == ([made], [])


@pytest.mark.parametrize("whole", ["before", "behind it in the same line"])
def test_a_broken_line_hides_no_other(
    tmp_path: Path, whole: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"tiltyard-{n}" for n in "abc"]
    path = left_by_a_dead_process(*files)
    owner, a, b, c = path.read_bytes().splitlines(keepends=True)
    half = b[:30] + (b"\n" if whole == "before" else b"")
    path.write_bytes(owner + a + half + c)
    told = f"{path}:3: 1 broken line: what they record may still be changed on this host"
    assert restore_verb() == ExitCode.NOT_RESTORED
    said = capsys.readouterr()
    assert [file.exists() for file in files] == [False, True, False]
    assert said.out.count("an earlier run was killed: removed") == 2
    assert said.err.startswith(told)
    assert "Fix: look at what is left of the line" in said.err
    assert [line.startswith(told) for line in recover()] == [True], (
        "it is named until it is seen to"
    )
    path.unlink()
    assert recover() == []


def test_undoing_goes_on_where_there_is_no_room_to_write_that_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tiltyard-a"
    left_by_a_dead_process(file)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("tiltyard.host.recovery.append", full)
        assert restore().done == (f"an earlier run was killed: removed {file}",)
    assert recover() == []


def test_an_owner_that_cannot_be_written_leaves_nothing(
    state: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("tiltyard.host.ledger.append", full)
        with pytest.raises(Exception, match="No space left on device"):
            Ledger()
    assert not list(state.iterdir())


def test_each_line_is_still_one_object(tmp_path: Path) -> None:
    with Ledger() as ledger:
        ledger.record(MadeFile(path=tmp_path / "tiltyard-a"))
        lines = ledger.path.read_text().splitlines()
        assert [next(iter(json.loads(line))) for line in lines] == ["owner", "change"]
