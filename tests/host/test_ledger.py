"""In which order the changes of a run are taken back, and what is said where they cannot be."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.kills import left_by_a_killed_agent
from support.snapshots import put_back_by_itself
from tiltyard.address import THIS_HOST, Address
from tiltyard.cli.restore import restore as restore_verb
from tiltyard.errors import ExitCode, HostLacksError, TiltyardError
from tiltyard.host.changes import PREFIX, MadeByOp
from tiltyard.host.host import here, hosts
from tiltyard.host.ledger import Ledger, recover, restore
from tiltyard.host.op import MakeDirectory, PutText
from tiltyard.host.place import HERE
from tiltyard.host.steps import Steps, UndoTemporarily


def made(ledger: Ledger, path: Path) -> MadeByOp:
    """A directory, and what its agent knows of it."""
    Steps(ledger).take([step := MakeDirectory(path=path)])
    return ledger.recorded(step.made())


def ops(state: Path) -> list[Path]:
    return [*state.glob("*.ops")]


def test_leaving_takes_everything_back_in_reverse_order(tmp_path: Path, state: Path) -> None:
    with Ledger() as ledger:
        outer = tmp_path / ledger.name("outer")
        made(ledger, outer)
        made(ledger, outer / ledger.name("inner"))
        assert len(ops(state)) == 1
        assert recover() == [], "what a living run has is its own"
        assert outer.exists()
    assert not outer.exists()
    assert not ops(state)


def test_one_change_can_be_taken_back_alone(tmp_path: Path) -> None:
    with Ledger() as ledger:
        first, second = (made(ledger, tmp_path / ledger.name(name)) for name in "ab")
        assert ledger.undo(first) == f"removed {tmp_path / ledger.name('a')}"
        assert ledger.undo(first) is None
        assert ledger.outstanding == (second,)
        assert not ledger.holds(first)


def test_what_is_made_again_at_once_stays_recorded(tmp_path: Path, state: Path) -> None:
    with Ledger() as ledger:
        path = tmp_path / ledger.name("a")
        change = made(ledger, path)
        UndoTemporarily(change=change).execute(Steps(ledger))
        assert not path.exists()
        assert ledger.holds(change)
        assert len(ops(state)) == 1


def test_what_an_agent_that_was_killed_had_made_is_taken_back_by_the_next(
    tmp_path: Path, state: Path
) -> None:
    with Ledger() as ledger:
        made(ledger, tmp_path / ledger.name("a"))
        os.kill(agent := here().pid, signal.SIGKILL)
        os.waitid(os.P_PID, agent, os.WEXITED | os.WNOWAIT)
        steps = Steps(ledger)
        steps.begin()
        assert not [*tmp_path.iterdir()], "a turn begins with nothing"
        assert ledger.outstanding == ()
        made(ledger, tmp_path / ledger.name("a"))
    assert not [*tmp_path.iterdir()]
    assert not ops(state)


def test_an_unwritable_state_directory_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (blocked := tmp_path / "file").touch()
    monkeypatch.setenv("TILTYARD_STATE", str(blocked / "state"))
    with (
        Ledger() as ledger,
        pytest.raises(HostLacksError, match="TILTYARD_STATE names another directory"),
    ):
        made(ledger, tmp_path / ledger.name("a"))
    hosts.close()


@pytest.mark.parametrize("kept", [False, True])
def test_what_a_killed_agent_left_is_taken_back_and_told(tmp_path: Path, kept: bool) -> None:
    (left := tmp_path / f"{PREFIX}left")
    left_by_a_killed_agent(MakeDirectory(path=left))
    told = f"an earlier run was killed: removed {left}"
    assert ([*restore().done] if kept else recover()) == [told]
    assert not left.exists()
    assert recover() == []


def test_what_could_not_be_put_back_has_an_exit_code(
    tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = (tmp_path / f"{PREFIX}{name}" for name in "ab")
    left_by_a_killed_agent(PutText(path=file, text=""), PutText(path=other, text=""))
    other.unlink()
    other.mkdir()
    assert restore_verb() == ExitCode.NOT_RESTORED
    told = capsys.readouterr()
    assert told.out == f"an earlier run was killed: removed {file}\n"
    assert told.err.startswith("could not take back what an earlier run left: ")
    other.rmdir()
    assert restore_verb() == ExitCode.DONE
    assert capsys.readouterr().out == "Nothing to restore.\n"
    assert not ops(state)


@needs_root
def test_a_failed_clean_up_says_how_to_repeat_it(tmp_path: Path, state: Path) -> None:
    ledger = Ledger()
    path = tmp_path / ledger.name("d")
    made(ledger, path)
    HERE.run(("mount", "-t", "tmpfs", "none", str(path)))
    with pytest.raises(TiltyardError, match="is mounted; try: tiltyard restore"):
        ledger.close()
    hosts.close()
    assert len(ops(state)) == 1
    HERE.run(("umount", str(path)))
    assert recover() == [f"an earlier run was killed: removed {path}"]
    assert not [*tmp_path.iterdir()]


def test_what_is_kept_over_a_boot_is_taken_up_again(tmp_path: Path, state: Path) -> None:
    ledger = Ledger()
    (image, gone) = (tmp_path / ledger.name(name) for name in ("image", "mnt"))
    Steps(ledger).take([PutText(path=image, text="x")])
    made(ledger, gone)
    kept = ledger.take_back_but_kept()
    assert [one.outlasts_boot for one in kept] == [True]
    assert not gone.exists()
    if os.geteuid() == 0:
        ledger.hand_over(("true",))
        hosts.close()
        assert len(ops(state)) == 1
        assert recover() == []
    with Ledger() as again:
        again.take_up("another", kept)
        assert (again.token == ledger.token, again.outstanding) == (False, ())
        again.take_up(ledger.token, kept)
        if os.geteuid() == 0:
            assert (again.token, again.outstanding) == (ledger.token, kept)
    ledger.close()
    assert not [*tmp_path.iterdir()]
    assert not ops(state)


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from tiltyard.host.ledger import Ledger
from tiltyard.host.op import MakeDirectory
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Steps
ledger = Ledger()
Steps(ledger).take([MakeDirectory(path=Path(sys.argv[1]) / ledger.name("d"))])
if sys.argv[2] == "works":
    script = 'sleep 1; ls -d "$0"/tiltyard-* > "$0/seen"'
    subprocess.Popen(("sh", "-c", script, sys.argv[1]), pass_fds=HERE.host.hold)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("who", ["alone", "works"])
def test_a_killed_lab_leaves_nothing_and_what_it_started_ends_before(
    tmp_path: Path, state: Path, who: str
) -> None:
    done = subprocess.run((sys.executable, "-c", KILLED, str(tmp_path), who), check=False)
    assert done.returncode == -signal.SIGKILL
    put_back_by_itself(state)
    assert not [*tmp_path.glob(f"{PREFIX}*")]
    if who == "works":
        assert (tmp_path / "seen").read_text().startswith(f"{tmp_path}/{PREFIX}")


def test_the_fix_for_each_host_can_be_pasted() -> None:
    assert THIS_HOST.restore == "tiltyard restore"
    assert Address("root@sut").restore == "tiltyard restore --host root@sut"
    there = Address("sut", ("-p", "2222", "-i", "a key"))
    assert there.restore == shlex.join(
        ("tiltyard", "restore", "--host", "sut", "--ssh-options", "-p 2222 -i 'a key'")
    )
    assert Address("n3", by="slurm", job="7").restore == "tiltyard restore --host n3"
