"""What another user laid into a study folder, or owns of it, is not written to."""

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.kills import left_by_a_killed_agent
from support.runs import directory_system, place, plan_of
from support.unprivileged import NOBODY, as_user
from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.folder import StudyFolder, create_file, open_to_change, write_together
from tiltyard.host.changes import PREFIX
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.op import MakeDirectory
from tiltyard.ownership import require_ours
from tiltyard.run.lock import hold_lock

FILES = ("plan.json", "findings.json", "journal.jsonl", ".lock", "pilot.json", "resumed.log",
         "trials/a.jsonl", "report/index.html", "pilot/journal.jsonl")  # fmt: skip
DIRECTORIES = ("trials", "report", "work", "pilot", "pilot/trials")


def a_study(root: Path) -> StudyFolder:
    folder = StudyFolder(root)
    root.mkdir(parents=True)
    folder.study.write_text('question = "Which?"\n')
    return folder


@pytest.mark.parametrize("name", [*FILES, *DIRECTORIES])
def test_a_link_in_a_study_folder_is_refused_by_every_verb(tmp_path: Path, name: str) -> None:
    folder = a_study(tmp_path / "study")
    victim = tmp_path / "victim"
    victim.mkdir() if name in DIRECTORIES else victim.write_text("precious")
    link = folder.root / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(victim)
    with pytest.raises(RefusedError, match=f"{link}: a link, .* Fix: remove it"):
        StudyFolder.of(folder.root)
    with pytest.raises(RefusedError, match="a link"), hold_lock(folder):
        pass
    assert victim.is_dir() or victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["journal.jsonl", "report/index.html"])
def test_a_pipe_in_a_study_folder_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    folder = a_study(tmp_path / "study")
    (folder.root / name).parent.mkdir(exist_ok=True)
    os.mkfifo(folder.root / name)
    with pytest.raises(RefusedError, match="no file, in a place that Tiltyard writes to"):
        StudyFolder.of(folder.root)


def test_a_file_with_another_name_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    os.link(tmp_path / "precious", tmp_path / "journal.jsonl")
    with pytest.raises(RefusedError, match="another name elsewhere"):
        open_to_change(tmp_path / "journal.jsonl")


def test_what_is_written_replaces_a_link_and_never_follows_one(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").symlink_to(victim / "file")
    (folder / ".file.partial").symlink_to(victim / "file")
    (folder / "report").symlink_to(victim)
    write_together(folder, {"file": b"new"})
    with pytest.raises(OSError, match="report"):
        write_together(folder, {"report/file": b"new"})
    with pytest.raises(OSError, match="report"):
        create_file(folder / "report/other")
    with pytest.raises(OSError, match="exists"):
        create_file(folder / ".file.partial")
    assert ((folder / "file").read_text(), (folder / "file").is_symlink()) == ("new", False)
    assert [(one.name, one.read_text()) for one in victim.iterdir()] == [("file", "precious")]


def test_what_a_dead_process_left_half_written_goes_with_the_next_one(tmp_path: Path) -> None:
    left = tmp_path / f".plan.json.{'0' * 16}.partial"
    other = tmp_path / f".findings.json.{'0' * 16}.partial"
    left.touch()
    other.touch()
    write_together(tmp_path, {"plan.json": b"{}"})
    assert sorted(tmp_path.iterdir()) == sorted([other, tmp_path / "plan.json"])


def theirs(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY)


def for_all(path: Path) -> None:
    path.chmod(0o777)


@needs_root
@pytest.mark.parametrize(
    ("disturb", "told"),
    [(theirs, "belongs to user nobody"), (for_all, r"others can write to it \(mode 0777\)")],
)
def test_root_writes_to_no_folder_of_others(
    tmp_path: Path, disturb: Callable[[Path], None], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_study(tmp_path / "study")
    disturb(folder.root)
    with pytest.raises(RefusedError, match=f"study: not used: {told}. Fix: name another"):
        folder.require_own()
    if disturb is theirs:
        monkeypatch.setenv("SUDO_UID", str(NOBODY))
        folder.require_own()


@needs_root
@pytest.mark.parametrize("disturb", [theirs, for_all])
def test_root_writes_to_no_folder_that_others_can_exchange(
    tmp_path: Path, disturb: Callable[[Path], None]
) -> None:
    above = tmp_path / "above"
    folder = a_study(above / "study")
    link = tmp_path / "link"
    link.symlink_to(folder.root)
    disturb(above)
    for root in (folder.root, link, link / ".." / "study"):
        with pytest.raises(RefusedError, match=f"not used: {above} "):
            StudyFolder(root).require_own()
    above.chmod(0o1777)
    os.chown(above, 0, 0)
    StudyFolder(link).require_own()
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(RefusedError, match=f"not used: {link} belongs to user nobody"):
        StudyFolder(link).require_own()


@needs_root
def test_an_ordinary_user_writes_to_his_own_folder_and_to_no_other_users() -> None:
    foreign = Path(tempfile.mkdtemp(prefix="foreign-"))
    os.chown(foreign, 1, 1)
    try:

        def user(home: Path) -> None:
            own = a_study(home / "own")
            own.root.chmod(0o777)
            with hold_lock(own):
                pass
            with pytest.raises(RefusedError, match="belongs to user daemon"):
                StudyFolder(foreign).require_own()
            (own.root / "report").symlink_to(home)
            with pytest.raises(RefusedError, match="a link"):
                StudyFolder.of(own.root)

        as_user(user)
    finally:
        foreign.rmdir()


SWAPS = """
import contextlib, os, random, sys
folder, victim, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
os.chdir(folder)
draw = random.Random(seed)
print("ready", flush=True)
while True:
    name = draw.choice(["report", "findings.json", "plan.json", "report/index.html"])
    aim = victim if name == "report" else victim + "/index.html"
    with contextlib.suppress(OSError):
        os.symlink(aim, ".link")
    with contextlib.suppress(OSError):
        if name == "report":
            os.rename("report", f".gone-{draw.randrange(10**9)}")
        os.rename(".link", name)
    for made in os.listdir("."):
        if made.endswith(".partial"):
            with contextlib.suppress(OSError):
                os.unlink(made)
            with contextlib.suppress(OSError):
                os.symlink(victim + "/index.html", made)
    if name == "report":
        with contextlib.suppress(OSError):
            os.unlink("report")
"""


@needs_root
def test_who_swaps_names_while_root_writes_gains_nothing(tmp_path: Path) -> None:
    """The primitive alone, in a folder of the other user, which is refused to a study."""
    victim, folder = tmp_path / "victim", tmp_path / "theirs"
    victim.mkdir()
    (victim / "index.html").write_text("precious")
    for above in (tmp_path, *tmp_path.parents[:-2]):
        above.chmod(0o711)
    folder.mkdir()
    theirs(folder)
    argv = (sys.executable, "-c", SWAPS, str(folder), str(victim), "4711")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as attacker:
        try:
            assert attacker.stdout is not None
            assert attacker.stdout.readline() == "ready\n"
            failed = 0
            for number in itertools.count():
                text = f"{number}".encode() * 500
                names = ("findings.json", "plan.json", "report/index.html")
                try:
                    write_together(folder, dict.fromkeys(names, text))
                except OSError:
                    failed += 1
                if number >= 400 and failed:
                    break
        finally:
            attacker.kill()
    assert [(one.name, one.read_text()) for one in victim.iterdir()] == [("index.html", "precious")]


def others_write(path: Path) -> None:
    path.chmod(0o775)


@needs_root
@pytest.mark.parametrize("disturb", [theirs, for_all, others_write])
def test_a_state_directory_or_ledger_of_others_is_refused(
    state: Path, disturb: Callable[[Path], None], tmp_path: Path
) -> None:
    made = tmp_path / f"{PREFIX}made"
    did = left_by_a_killed_agent(MakeDirectory(path=made))
    ledger = state / f"{did.ledger}.ops"
    for disturbed in (ledger, state):
        disturb(disturbed)
        if disturbed == ledger:
            (left,) = recover()
            assert f"{ledger}: another user has a hand in it. Fix: chown" in left
        for use in (recover, Ledger) if disturbed == state else ():
            with pytest.raises(RefusedError, match=f"^{disturbed}: not used: .* Fix: "):
                use()
        assert made.exists()
        os.chown(disturbed, 0, 0)
        disturbed.chmod(0o700 if disturbed == state else 0o600)
    assert recover() == [f"an earlier run was killed: removed {made}"]


@needs_root
def test_a_state_directory_that_is_to_be_made_below_one_of_others_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs(tmp_path)
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    try:
        with pytest.raises(RefusedError, match=f"{tmp_path} belongs to user nobody"):
            Ledger()
    finally:
        os.chown(tmp_path, 0, 0)


def test_what_is_not_there_may_be_made(tmp_path: Path) -> None:
    require_ours(tmp_path / "a/b/c", "nothing")


def test_a_run_in_a_folder_with_a_link_ends_before_anything_is_made(tmp_path: Path) -> None:
    folder = place(tmp_path / "study", plan_of((directory_system("a", tmp_path / "a"),)))
    (folder.root / ".lock").symlink_to(tmp_path / "victim")
    before = sorted(folder.root.iterdir())
    with pytest.raises(TiltyardError, match="a link"), hold_lock(folder):
        pass
    assert sorted(folder.root.iterdir()) == before
    assert not (tmp_path / "victim").exists()
