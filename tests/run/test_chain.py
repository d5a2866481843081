"""The chain of a journal and its seal: what was changed is refused by file and line."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from support.chained import chained, unchained
from support.runs import Watcher, directory_system, go_on, place, plan_of
from tiltyard.app.report import STYLES, findings_of, require_seal
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, sha256, write_whole
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan
from tiltyard.report.terminal import verdicts
from tiltyard.run import settle
from tiltyard.run.history import History
from tiltyard.run.journal import Journal, Stopped, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

Lines = list[bytes]
TAMPERED: dict[str, Callable[[Lines, int], Lines]] = {
    "edited": lambda lines, n: [
        *lines[:n],
        lines[n].replace(b'"t_s":', b'"t_s":1'),
        *lines[n + 1 :],
    ],
    "deleted": lambda lines, n: lines[:n] + lines[n + 1 :],
    "doubled": lambda lines, n: lines[: n + 1] + lines[n:],
    "swapped": lambda lines, n: [*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]],
    "without its hash": lambda lines, n: [
        *lines[:n],
        re.sub(rb',"chain":"\w+"', b"", lines[n]),
        *lines[n + 1 :],
    ],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyFolder, Plan]:
    """A finished study of two blocks."""
    root = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILTYARD_STATE", str(root / "state"))
        patch.setattr(settle, "_LIMIT_S", 0.0)
        systems = tuple(directory_system(name, root / name) for name in "ab")
        plan = plan_of(systems, blocks=2).model_copy(update={"study_sha256": sha256(b"")})
        folder = place(root / "study", plan)
        write_whole(folder.study, b"")
        write_whole(folder.plan, plan.document())
        run_study(folder, plan, Engine.find(), go_on, Watcher())
    return folder, plan


@pytest.mark.parametrize("how", TAMPERED)
def test_a_line_that_was_tampered_with_is_refused_by_its_number(
    tmp_path: Path, run: tuple[StudyFolder, Plan], how: str
) -> None:
    lines = run[0].journal.read_bytes().splitlines(keepends=True)
    path = tmp_path / "journal.jsonl"
    for place_ in range(1, len(lines) - 1):
        path.write_bytes(b"".join(TAMPERED[how](lines, place_)))
        with pytest.raises(UsageError, match=rf"journal\.jsonl:({place_ + 1}|{place_ + 2}): "):
            read_journal(path)
        with pytest.raises(UsageError):
            Journal.open(path)


def test_no_byte_of_a_journal_can_be_changed_unnoticed(
    tmp_path: Path, run: tuple[StudyFolder, Plan]
) -> None:
    """Each line once, at a place that goes through it; also in the last line."""
    lines = run[0].journal.read_bytes().splitlines(keepends=True)
    path = tmp_path / "journal.jsonl"
    for number, line in enumerate(lines):
        at = (7919 * number) % (len(line) - 1)
        changed = line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]
        path.write_bytes(b"".join([*lines[:number], changed, *lines[number + 1 :]]))
        with pytest.raises(UsageError, match=rf"journal\.jsonl:{number + 1}: "):
            read_journal(path)


def test_another_plan_changes_the_seal(run: tuple[StudyFolder, Plan], tmp_path: Path) -> None:
    """The first line names the plan, so every later hash covers it."""
    path = tmp_path / "journal.jsonl"
    other = run[0].journal.read_bytes().replace(run[1].hash.encode(), b"0" * 64)
    path.write_bytes(other)
    with pytest.raises(UsageError, match=r"journal\.jsonl:1: its hash does not follow"):
        read_journal(path)


def test_the_seal_is_in_the_terminal_and_in_every_style(run: tuple[StudyFolder, Plan]) -> None:
    findings = findings_of(run[0].root)
    seal = History.read(run[0].journal).seal
    assert re.fullmatch("[0-9a-f]{64}", seal)
    assert findings.seal == seal
    for style in STYLES:
        assert dict(style.compose(findings).colophon)["seal"] == seal
    said = Console(width=80, no_color=True)
    with said.capture() as printed:
        said.print(verdicts(findings))
    assert re.search(rf"^Seal +{seal}$", printed.get(), re.MULTILINE)


def test_a_study_that_is_not_what_its_seal_names_is_refused(
    run: tuple[StudyFolder, Plan], tmp_path: Path
) -> None:
    """An unkeyed chain can be made anew: only a seal that was kept tells."""
    folder = StudyFolder(Path(shutil.copytree(run[0].root, tmp_path / "copy")))
    findings = findings_of(folder.root)
    require_seal(folder.root, findings, findings.seal.upper())
    with pytest.raises(UsageError, match="is no seal: 64 hexadecimal digits"):
        require_seal(folder.root, findings, findings.seal[:12])
    edited = (line.replace(b'"pid":', b'"pid":1') for line in unchained(folder.journal))
    folder.journal.write_bytes(chained(edited))
    with pytest.raises(UsageError, match=r"journal\.jsonl: its seal is \w+, not \w+"):
        require_seal(folder.root, findings_of(folder.root), findings.seal)


def test_lines_without_hashes_are_none_of_a_journal(
    run: tuple[StudyFolder, Plan], tmp_path: Path
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(unchained(run[0].journal)))
    with pytest.raises(
        UsageError, match=r"journal\.jsonl:1: .*: it has no hash at its end\. Fix: "
    ):
        read_journal(path)


def test_a_recorded_study_reports(recorded_study: StudyFolder) -> None:
    findings = findings_of(recorded_study.root)
    assert (findings.blocks_done, findings.trials_kept) == (6, 12)
    assert len(findings.seal) == 64


def test_a_recorded_study_goes_on_and_what_is_new_is_covered(
    recorded_unfinished_study: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "_LIMIT_S", 0.0)
    folder, plan = recorded_unfinished_study, read_plan(recorded_unfinished_study)
    before = folder.journal.read_bytes()
    kept = {trial.key: trial for trial in read_run(folder, plan).trials}
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    trials = {trial.key: trial for trial in read_run(folder, plan).trials}
    assert (len(kept), len(trials)) == (5, 12)
    assert all(trials[key] == trial for key, trial in kept.items())
    after = folder.journal.read_bytes()
    assert after.startswith(before)
    new = after.removeprefix(before)
    number = after[: len(before) + new.index(b'"slot":')].count(b"\n") + 1
    folder.journal.write_bytes(before + new.replace(b'"slot":', b'"slot":1', 1))
    with pytest.raises(UsageError, match=rf"journal\.jsonl:{number}: its hash does not follow"):
        read_run(folder, plan)


def test_a_line_is_covered_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for reason in ("x", "y"):
        journal, _ = Journal.open(path)
        with journal:
            journal.append(Stopped(reason=reason))
    assert [e.event for e in read_journal(path)] == [Stopped(reason="x"), Stopped(reason="y")]
    path.write_bytes(path.read_bytes().replace(b'"y"', b'"z"'))
    with pytest.raises(UsageError, match=r"journal\.jsonl:2: its hash does not follow"):
        Journal.open(path)
