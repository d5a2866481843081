"""Lines around brief trials wait for their sync: what a kill, a power cut and a bad disk leave."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.faulty_fs import Fault, faulty
from support.hosts import needs_root
from support.patience import PATIENCE_S, wait_until
from support.runs import NOISE_LIMITS, Watcher, go_on
from tiltyard.app.freeze import planned
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run import journal as journals
from tiltyard.run.journal import Journal, Stopped, TrialFinished, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

STUDY = """\
question = "q"
[factors]
number = [1, 2]
[[workload]]
use = "program"
command = ["true", "{number}"]
executions = 1
[conditions]
isolate = false
"""
BLOCKS = 12


@pytest.fixture
def folder(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StudyFolder]:
    """A study of trials that are over at once; what is trusted is forgotten after."""
    monkeypatch.setattr(journals, "LATEST_S", 600.0)
    (tmp_path / "study").mkdir()
    yield StudyFolder(tmp_path / "study")
    shutil.rmtree(state / "trusted", ignore_errors=True)


def plan_of(folder: StudyFolder, engine: Engine, blocks: int = BLOCKS) -> Plan:
    folder.study.write_text(STUDY)
    plan = planned(folder, engine, trust=True)
    kept = NOISE_LIMITS.model_copy(update={"disturbed": "keep"})
    update = {"blocks": plan.blocks[:blocks], "spares": (), "noise_limits": kept}
    folder.plan.unlink()
    write_plan(folder, plan.model_copy(update=update))
    return read_plan(folder)


def run_without_its_end(folder: StudyFolder, engine: Engine, plan: Plan) -> list[bytes]:
    """A finished run whose journal ends with lines that have waited; its lines."""
    run_study(folder, plan, engine, go_on, Watcher())
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    waited = [number for number, line in enumerate(lines) if b'"waits":true' in line]
    assert len(waited) > 20
    folder.journal.write_bytes(b"".join(lines[: waited[-1] + 1]))
    return lines[: waited[-1] + 1]


def goes_on(folder: StudyFolder, engine: Engine, plan: Plan) -> Watcher:
    """To the end: every trial once, all as the journal says."""
    watcher = Watcher()
    run_study(folder, plan, engine, go_on, watcher)
    record = read_run(folder, plan)
    keys = [key for block in plan.blocks for key in plan.trials_of(block)]
    assert [trial.key for trial in record.trials] == keys
    assert {trial.outcome for trial in record.trials} == {"done"}
    return watcher


def other_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the host has been booted."""
    monkeypatch.setattr("tiltyard.run.runner.boot_id", lambda: "another boot")


def test_a_trial_that_did_not_reach_the_disk_is_run_again(
    folder: StudyFolder, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(folder, engine)
    run_without_its_end(folder, engine, plan)
    finished = [e.event for e in read_journal(folder.journal)]
    trials = [event for event in finished if isinstance(event, TrialFinished)]
    lost = folder.root / trials[-3].file
    lost.write_bytes(bytes(100))
    other_boot(monkeypatch)
    watcher = goes_on(folder, engine, plan)
    assert any("what they tell of is measured again" in said for said in watcher.told)
    assert len(watcher.records) == 3


@pytest.mark.parametrize("damage", ["cut", "zeros"])
def test_lines_that_did_not_reach_the_disk_are_cut_off(
    folder: StudyFolder, engine: Engine, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """Files of trials may be there of which no line is left."""
    plan = plan_of(folder, engine)
    lines = run_without_its_end(folder, engine, plan)
    kept, lost = lines[:-9], lines[-9:]
    if damage == "zeros":
        lost[1] = bytes(len(lost[1]) - 1) + b"\n"
    whole = b"".join(kept) + (b"".join(lost) if damage == "zeros" else lost[0][:50])
    folder.journal.write_bytes(whole)
    assert len(read_journal(folder.journal)) == len(kept) + (damage == "zeros")
    other_boot(monkeypatch)
    goes_on(folder, engine, plan)


def test_a_damaged_line_before_one_that_was_synced_is_no_power_cut(
    folder: StudyFolder, engine: Engine
) -> None:
    plan = plan_of(folder, engine)
    run_study(folder, plan, engine, go_on, Watcher())
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    lines[-5] = bytes(len(lines[-5]) - 1) + b"\n"
    folder.journal.write_bytes(b"".join(lines))
    with pytest.raises(UsageError, match="not a line of a journal"):
        read_journal(folder.journal)


def test_a_file_of_the_same_boot_that_nobody_knows_is_not_removed(
    folder: StudyFolder, engine: Engine
) -> None:
    plan = plan_of(folder, engine)
    lines = run_without_its_end(folder, engine, plan)
    begun = next(n for n, line in enumerate(lines) if b'"type":"trial_started"' in line)
    folder.journal.write_bytes(b"".join(lines[:begun]))
    with pytest.raises(UsageError, match="knows nothing of this trial"):
        run_study(folder, plan, engine, go_on, Watcher())


def test_nothing_is_lost_by_a_kill(folder: StudyFolder, engine: Engine) -> None:
    plan = plan_of(folder, engine, blocks=20)
    with subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
    ) as lab:
        wait_until(lambda: len(list(folder.trials.glob("b*.gz"))) > 20, "nothing is measured")
        lab.send_signal(signal.SIGKILL)
        lab.wait(PATIENCE_S)
    wait_until(lambda: is_free(folder), "the last trial does not end")
    there = len(list(folder.trials.glob("b*.gz")))
    watcher = goes_on(folder, engine, plan)
    assert len(watcher.records) == 2 * len(plan.blocks) - there


def is_free(folder: StudyFolder) -> bool:
    """Whether nothing of the run that was killed is left to hold its lock."""
    with folder.lock.open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@needs_root
def test_a_disk_that_fails_when_it_syncs_leaves_what_was_synced(tmp_path: Path) -> None:
    """The journal ends there, and files of which nothing is known are gone."""
    with faulty(tmp_path / "shown", tmp_path / "faulty", [Fault("fsync", 3, "EIO")]):
        folder = tmp_path / "faulty"
        with Journal.open(folder / "journal.jsonl")[0] as journal:
            journal.append(Stopped(reason="synced"))
            journal.append(Stopped(reason="waits"), waits=True)
            file = folder / "trial"
            file.write_bytes(b"x")
            journal.owe(file)
            with pytest.raises(OSError, match="faulty"):
                journal.append(Stopped(reason="fails"))
            assert not file.exists()
            journal.append(Stopped(reason="goes on"))
        entries = read_journal(folder / "journal.jsonl")
    reasons = [entry.event.reason for entry in entries if isinstance(entry.event, Stopped)]
    assert reasons == ["synced", "goes on"]


@needs_root
def test_a_full_disk_is_one_error_and_keeps_what_waits(tmp_path: Path) -> None:
    with faulty(tmp_path / "shown", tmp_path / "faulty", [Fault("write", 3, "ENOSPC")]):
        path = tmp_path / "faulty" / "journal.jsonl"
        with Journal.open(path)[0] as journal:
            journal.append(Stopped(reason="synced"))
            journal.append(Stopped(reason="waits"), waits=True)
            with pytest.raises(OSError, match=r"No space left.*journal\.jsonl"):
                journal.append(Stopped(reason="has no room"), waits=True)
        assert [entry.waits for entry in read_journal(path)] == [False, True]


def test_all_is_on_the_disk_at_the_end_and_a_second_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    path = tmp_path / "journal.jsonl"
    with Journal.open(path)[0] as journal:
        journal.append(Stopped(reason="1"))
        at = path.stat().st_size
        assert synced[-1] == at
        journal.append(Stopped(reason="2"), waits=True)
        assert synced[-1] == at
        monkeypatch.setattr(journals, "LATEST_S", 0.0)
        journal.append(Stopped(reason="3"), waits=True)
        assert synced[-1] == path.stat().st_size
        monkeypatch.setattr(journals, "LATEST_S", 600.0)
        journal.append(Stopped(reason="4"), waits=True)
    assert synced[-1] == path.stat().st_size
    assert [entry.waits for entry in read_journal(path)] == [False, True, False, True]
