"""Folders that came with the repository under test: the gate believes only what was made here."""

import re
import shutil
from pathlib import Path

import pytest

from tiltyard.cli.commands import Commands
from tiltyard.cli.compare import compare
from tiltyard.cli.gate import gate
from tiltyard.cli.plan import plan
from tiltyard.cli.run import run
from tiltyard.errors import ExitCode, RefusedError
from tiltyard.folder import StudyFolder

TYPED = Commands(command=("base=./base.sh", "head=./head.sh"))
FOLDER = "gate-base-head"
SUITE = """\
question = "q"
[precision]
blocks = 7
[noise]
disturbed = "keep"
[factors]
build = { base = { path = "./base.sh" }, head = { path = "./head.sh" } }
[[workload]]
use = "program"
where = "."
command = ["{path}"]
metrics = { wall = "time" }
executions = 1
"""
FAST, SLOW = "sleep 0.01", "sleep 0.1"


def build(root: Path, **programs: str) -> None:
    """Programs of a repository, each of which notes that it was executed."""
    root.mkdir(exist_ok=True)
    for name, text in programs.items():
        path = root / f"{name}.sh"
        path.write_text(f'#!/bin/sh\necho >> "$0.ran"\n{text}\n')
        path.chmod(0o755)
    (root / "suite.toml").write_text(SUITE)


def executed(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("*.ran"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository under test, whose head is ten times slower, on a runner that is new."""
    root = tmp_path / "repository"
    build(root, base=FAST, head=SLOW)
    monkeypatch.chdir(root)
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    return root


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where whoever makes a pull request measures two programs that are the same."""
    root = tmp_path_factory.mktemp("elsewhere")
    build(root, base=FAST, head=FAST)
    with pytest.MonkeyPatch.context() as there:
        there.chdir(root)
        there.setenv("TILTYARD_STATE", str(tmp_path_factory.mktemp("their state")))
        gate(within="90%", blocks=12, commands=TYPED)
        gate(Path("suite.toml"), within="90%", trust=True)
    return root


def cut_off(folder: StudyFolder, blocks: int) -> None:
    """As if it had been killed after so many blocks."""
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    ends = [place for place, line in enumerate(lines) if b'"type":"block_checked"' in line]
    folder.journal.write_bytes(b"".join(lines[: ends[blocks - 1] + 1]))
    for path in folder.trials.iterdir():
        if path.name not in folder.journal.read_text():
            path.unlink()
    folder.findings.unlink()
    shutil.rmtree(folder.report)


def planted(elsewhere: Path, here: Path, name: str) -> StudyFolder:
    shutil.copytree(elsewhere / name, here / name)
    return StudyFolder(here / name)


def test_a_comparison_that_was_begun_elsewhere_is_not_gone_on_with(
    here: Path, elsewhere: Path
) -> None:
    cut_off(planted(elsewhere, here, FOLDER), 11)
    with pytest.raises(RefusedError, match=f"{FOLDER}/ was not made here.*--folder {FOLDER}"):
        gate(within="90%", blocks=12, commands=TYPED)
    assert executed(here) == []
    shutil.rmtree(here / FOLDER)
    assert gate(within="90%", blocks=12, commands=TYPED) == ExitCode.REGRESSION


def test_a_folder_that_is_named_is_gone_on_with_the_same_programs(
    here: Path, elsewhere: Path
) -> None:
    cut_off(planted(elsewhere, here, FOLDER), 11)
    build(here, base=FAST, head=FAST)
    done = gate(within="90%", blocks=12, commands=TYPED, folder=Path(FOLDER))
    assert done != ExitCode.TRIALS_FAILED
    assert executed(here)


def test_a_folder_that_is_named_does_not_pass_for_another_program(
    here: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_off(planted(elsewhere, here, FOLDER), 11)
    with pytest.raises(RefusedError, match=f"{FOLDER}/ is not judged: .* changed since the run"):
        gate(within="90%", blocks=12, commands=TYPED, folder=Path(FOLDER))
    assert "head.sh.ran" not in executed(here)
    assert re.search(r"block 12 head, program: \S+ of head changed", capsys.readouterr().err)


def test_a_study_that_was_measured_here_is_not_judged_for_another_build(here: Path) -> None:
    build(here, base=FAST, head=FAST)
    gate(Path("suite.toml"), within="90%", trust=True)
    build(here, base=FAST, head=SLOW)
    with pytest.raises(RefusedError, match=r"suite/ is not judged: .*head.* changed since the run"):
        gate(Path("suite.toml"), within="90%", trust=True)


def test_a_suite_that_was_finished_elsewhere_is_not_judged(here: Path, elsewhere: Path) -> None:
    planted(elsewhere, here, "suite")
    for study in ("suite.toml", "suite"):
        with pytest.raises(RefusedError, match="suite/ was not made here"):
            gate(Path(study), within="90%", trust=True)
    assert executed(here) == []
    shutil.rmtree(here / "suite")
    assert gate(Path("suite.toml"), within="90%", trust=True) == ExitCode.REGRESSION
    assert gate(Path("suite.toml"), within="90%") == ExitCode.REGRESSION, "it was made here"


@pytest.mark.parametrize("left", ["plan.json", "journal.jsonl", "trials", "pilot.json"])
def test_no_part_of_it_is_taken(here: Path, elsewhere: Path, left: str) -> None:
    folder = planted(elsewhere, here, "suite")
    (folder.root / "pilot.json").write_text("{}")
    for path in folder.root.iterdir():
        if path.name not in (left, "study.toml"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(RefusedError, match="suite/ was not made here"):
        gate(Path("suite.toml"), within="90%", trust=True)
    with pytest.raises(RefusedError, match="suite/ was not made here"):
        run(Path("suite.toml"), trust=True)
    with pytest.raises(RefusedError, match="suite/ was not made here"):
        plan(Path("suite.toml"), pilot=True, trust=True)
    assert executed(here) == []


def test_a_run_goes_on_with_what_is_named_and_the_gate_then_judges_it(
    here: Path, elsewhere: Path
) -> None:
    cut_off(planted(elsewhere, here, "suite"), 6)
    build(here, base=FAST, head=FAST)
    with pytest.raises(RefusedError, match="suite/ was not made here"):
        run(Path("suite.toml"), trust=True)
    run(Path("suite"), trust=True)
    gate(Path("suite.toml"), within="90%")


def test_an_exchanged_journal_is_not_judged_in_a_folder_of_ours(
    here: Path, elsewhere: Path
) -> None:
    """As by a checkout into a runner that stays: plan and study are ours."""
    assert gate(Path("suite.toml"), within="90%", trust=True) == ExitCode.REGRESSION
    ours = StudyFolder(here / "suite")
    shutil.copy(elsewhere / "suite/journal.jsonl", ours.journal)
    with pytest.raises(RefusedError, match="suite/ was not made here"):
        gate(Path("suite.toml"), within="90%")


def test_records_that_are_damaged_or_that_others_could_write_are_none(
    here: Path, tmp_path: Path
) -> None:
    gate(Path("suite.toml"), within="90%", trust=True)
    (record,) = (tmp_path / "state/made").iterdir()
    known = record.read_bytes()
    for damaged in (b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"journal.jsonl": 7}'):
        record.write_bytes(damaged)
        with pytest.raises(RefusedError, match="suite/ was not made here"):
            gate(Path("suite.toml"), within="90%")
    record.write_bytes(known)
    gate(Path("suite.toml"), within="90%")
    record.chmod(0o666)
    with pytest.raises(RefusedError, match="suite/ was not made here"):
        gate(Path("suite.toml"), within="90%")


def test_systems_that_were_compared_elsewhere_are_not_taken_either(
    here: Path, tmp_path: Path
) -> None:
    for name in ("old", "new"):
        (here / name).mkdir()
    (here / "postmark-old-new").mkdir()
    (here / "postmark-old-new/journal.jsonl").write_text("{}\n")
    with pytest.raises(RefusedError, match="postmark-old-new/ was not made here"):
        compare("old", "new")
