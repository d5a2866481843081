"""What a study brings is named, and executed only after a person has said that it is trusted."""

import os
import shutil
import socket
import stat
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import pytest

from support.hosts import needs_root
from support.marked import marked
from tiltyard.app.clean import remove_tree
from tiltyard.app.freeze import planned
from tiltyard.cli.check import check
from tiltyard.cli.compare import compare
from tiltyard.cli.plan import plan
from tiltyard.cli.run import run
from tiltyard.errors import ExitCode, RefusedError, TiltyardError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.run.record import Amendment
from tiltyard.run.trust import _digest
from tiltyard.study.model import Study

HEAD = 'question = "q"\n[precision]\nblocks = 7\n'
PROXY = """
[factors]
directory = {{ a = "/tmp", b = "/var/tmp" }}
[systems]
host = "nobody@127.0.0.1"
ssh_options = ["-oProxyCommand=touch {proof}"]
"""
FUSE = """
[factors]
mount = { a = [], b = ["noatime"] }
[systems]
type = "fuse"
source = "./evil"
"""
KERNEL = """
[factors]
memory = ["64M", "128M"]
[systems]
filesystem = "tmpfs"
kernel = "./touch"
"""
EVIL = "#!/bin/sh\ntouch {proof}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyFolder:
    """Of a study; whoever is in it stands there, as a person would."""
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    root = tmp_path / "study"
    root.mkdir()
    monkeypatch.chdir(root)
    return StudyFolder(root)


def proof(folder: StudyFolder) -> Path:
    """A file that is there if what the study brings was executed."""
    return folder.root.parent / "proof"


def bring(folder: StudyFolder, kind: str) -> None:
    """A study with something of its own, and that beside it."""
    evil = folder.root / "evil"
    evil.write_text(EVIL.format(proof=proof(folder)))
    evil.chmod(0o755)
    marked(Path("/usr/bin/touch"), folder.root / "touch")
    text = {"proxy": PROXY.format(proof=proof(folder)), "fuse": FUSE, "kernel": KERNEL}[kind]
    folder.study.write_text(HEAD + text)


def traces(folder: StudyFolder) -> list[str]:
    """What the programs of the studies above leave behind: touch(1) makes what it is told.

    As a machine it works in a directory that is removed, and says why it has ended.
    """
    made = ["proof"] if proof(folder).exists() else []
    said = (path for path in folder.root.glob("consoles/*") if "touch: " in path.read_text())
    return made + [str(path.relative_to(folder.root)) for path in said]


WHAT = {
    "proxy": 'Brings    ssh_options: option "-oProxyCommand=touch {proof}" of ssh (a, b)',
    "fuse": 'Brings    source: program "./evil", which serves it (a, b)',
    "kernel": "Brings    kernel: program {root}/touch (64M, 128M)",
}


@needs_root
@pytest.mark.parametrize("kind", WHAT)
def test_check_names_it_and_executes_nothing_of_it(
    kind: str, folder: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    bring(folder, kind)
    assert check(folder.root) == ExitCode.REFUSED
    said = capsys.readouterr().out
    assert WHAT[kind].format(proof=proof(folder), root=folder.root) in said.splitlines()
    assert "Refused   This study brings programs" in said
    assert "Ready" not in said
    assert check(folder.root, dry_run=True) == ExitCode.REFUSED
    assert traces(folder) == []


@needs_root
@pytest.mark.parametrize("kind", WHAT)
def test_no_run_and_no_pilot_begins_with_it(kind: str, folder: StudyFolder) -> None:
    bring(folder, kind)
    with pytest.raises(RefusedError, match="tiltyard check"):
        run(folder.root)
    with pytest.raises(RefusedError, match="--trust"):
        plan(folder.root, pilot=True)
    with pytest.raises(UsageError, match="nothing is known of the noise"):
        plan(folder.root)
    assert traces(folder) == []
    assert not folder.plan.exists()
    assert not folder.pilot.root.exists()


def trust(folder: StudyFolder) -> None:
    """A run that is told to trust what the study brings, and does not come far with it."""
    with pytest.raises(TiltyardError):
        run(folder.root, trust=True, wait="0 s")


@needs_root
@pytest.mark.parametrize("kind", WHAT)
def test_it_is_executed_by_a_run_that_is_told_to(kind: str, folder: StudyFolder) -> None:
    bring(folder, kind)
    trust(folder)
    made = traces(folder)
    assert made, "or the tests above show nothing"
    for name in made:
        (folder.root.parent if name == "proof" else folder.root).joinpath(name).unlink()
    assert check(folder.root) == ExitCode.DONE
    assert traces(folder) == [], "check executes nothing of it, trusted or not"


@needs_root
def test_a_program_that_is_no_kernel_is_not_executed_by_whoever_trusts_it(
    folder: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    bring(folder, "kernel")
    shutil.copy("/usr/bin/touch", folder.root / "touch")
    assert check(folder.root) == ExitCode.REFUSED
    assert f"Brings    kernel: kernel {folder.root}/touch (64M" in capsys.readouterr().out
    with pytest.raises(TiltyardError, match="touch is no kernel that can be booted here"):
        run(folder.root, trust=True, wait="0 s")
    assert traces(folder) == []


def test_trust_is_asked_for_once_and_again_when_something_is_changed(folder: StudyFolder) -> None:
    bring(folder, "proxy")
    trust(folder)
    assert check(folder.root) == ExitCode.DONE
    folder.study.write_text(folder.study.read_text().replace("touch", "touch -a"))
    assert check(folder.root) == ExitCode.REFUSED


def test_trust_holds_for_the_contents_of_a_file(folder: StudyFolder) -> None:
    bring(folder, "kernel")
    trust(folder)
    assert check(folder.root, rehearse=False) != ExitCode.REFUSED
    marked(Path("/usr/bin/env"), folder.root / "touch")
    assert check(folder.root, rehearse=False) == ExitCode.REFUSED


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077], ids=oct)
def umask(folder: StudyFolder, request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_trust_lasts_and_is_nobody_elses_to_give_whatever_the_umask_is(folder: StudyFolder) -> None:
    bring(folder, "proxy")
    trust(folder)
    assert check(folder.root) == ExitCode.DONE
    state = folder.root.parent / "state"
    (record,) = (state / "trusted").iterdir()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (state, state / "trusted", record)]
    assert modes == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("which", ["record", "directory"])
def test_a_record_that_others_could_write_is_no_trust_and_is_told_with_its_fix(
    which: str, folder: StudyFolder
) -> None:
    bring(folder, "proxy")
    trust(folder)
    (record,) = (folder.root.parent / "state" / "trusted").iterdir()
    (record if which == "record" else record.parent).chmod(0o777)
    assert check(folder.root) == ExitCode.REFUSED
    with pytest.raises(RefusedError, match=rf"others could have written {record}\. Fix: .*--trust"):
        run(folder.root)
    assert traces(folder) == ["proof"]
    trust(folder)
    assert check(folder.root) == ExitCode.DONE


def test_what_a_study_does_not_bring_is_rehearsed_all_the_same(
    folder: StudyFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    there = folder.root.parent
    folder.study.write_text(
        f'{HEAD}[factors.setup]\nhere = {{ directory = "{there}" }}\n'
        f'other = {{ directory = "{there}/missing" }}\n'
        'far = { host = "nobody@127.0.0.1", directory = "/tmp", ssh_options = ["-S", "/x"] }\n'
    )
    assert check(folder.root) == ExitCode.HOST_LACKS
    said = capsys.readouterr().out
    assert f"Error     other: {there}/missing does not exist" in said
    assert "Error     far" not in said
    assert 'Brings    ssh_options: option "-S" of ssh (far)' in said


def test_harmless_options_of_ssh_are_no_question(folder: StudyFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    folder.study.write_text(
        HEAD
        + PROXY.replace('"-oProxyCommand=touch {proof}"', f'"-F", "none", "-p", "{port}"').format()
    )
    assert check(folder.root) == ExitCode.HOST_LACKS, "nobody answers there, but it was asked"


def test_what_is_typed_is_trusted_and_a_plan_that_was_there_is_not(
    folder: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BegunError(Exception):
        """It was trusted, and would run now."""

    def begun(
        made: StudyFolder,
        engine: Engine,
        study: Study | None,
        *,
        scale: Fraction | None,
        amendment: Amendment,
        show_output: bool,
    ) -> NoReturn:
        assert not amendment.keep
        assert not show_output
        planned(made, engine, scale, study=study)
        raise BegunError

    monkeypatch.setattr("tiltyard.cli.run.carried_out", begun)
    made = StudyFolder(folder.root / "made")
    typed = ("qdisc=pfifo limit 9", "qdisc=netem delay 1ms distribution ./mine")
    with pytest.raises(BegunError):
        compare(*typed, folder=made.root)
    made.plan.write_text(made.plan.read_text().replace("./mine", "./evil"))
    with pytest.raises(RefusedError, match=r"qdisc: .*\./evil"):
        compare(*typed, folder=made.root)


def test_a_deep_directory_is_looked_at_to_its_end(tmp_path: Path) -> None:
    inside = tmp_path.joinpath(*["d"] * 1500)
    at = os.open(tmp_path, os.O_PATH)
    for _ in range(1500):
        os.mkdir("d", dir_fd=at)
        at, above = os.open("d", os.O_PATH, dir_fd=at), at
        os.close(above)
    os.close(at)
    (inside / "file").write_text("one")
    before = _digest(tmp_path)
    (inside / "file").write_text("other")
    assert _digest(tmp_path) != before
    remove_tree(tmp_path / "d")
