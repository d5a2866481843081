"""Killed at any moment, then the same command again: nothing lost, nothing twice, nothing left."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from support.hosts import assert_as_before, host_state, needs_root
from support.patience import PATIENCE_S
from support.runs import SMOKE, Watcher, directory_system, go_on, image_system, place, plan_of
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.history import History
from tiltyard.run.journal import TrialFinished, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

KILLS = 12


def start(folder: StudyFolder) -> subprocess.Popen[bytes]:
    """The command that carries the study on."""
    return subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
    )


def trial_files(folder: StudyFolder) -> dict[str, bytes]:
    """Finished trials, as bytes."""
    return {path.name: path.read_bytes() for path in folder.trials.glob("*.gz")}


@needs_root
def test_killed_at_random_moments(tmp_path: Path) -> None:
    systems = (image_system("ext2", "16M"), image_system("ext4", "16M"))
    twice = SMOKE.model_copy(update={"trials": 2})
    plan = plan_of(systems, workloads=(twice,), blocks=20)
    folder = place(tmp_path / "study", plan)
    before = host_state(tmp_path)
    moments = random.Random(4711)
    kept: dict[str, bytes] = {}
    kills = 0
    while True:
        with start(folder) as process:
            if kills < KILLS:
                _wait_for_events(process, folder, kills, moments.randrange(9))
                time.sleep(moments.uniform(0, 0.02))
                process.send_signal(signal.SIGKILL)
            killed = process.wait(PATIENCE_S) != 0
        files = trial_files(folder)
        assert kept.items() <= files.items(), "a finished trial was lost or run again"
        kept = files
        if not killed:
            break
        kills += 1
    assert kills >= 10
    assert_as_before(before, tmp_path)
    assert not folder.work.exists()
    _assert_complete(folder, plan)


def _wait_for_events(
    process: subprocess.Popen[bytes], folder: StudyFolder, starts: int, events: int
) -> None:
    """Until this start is in the journal and some events after it.

    Counted in events, not in seconds: a fast disk must not finish the study before the kills do.
    """
    give_up = time.monotonic() + PATIENCE_S
    seen: int | None = None
    while True:
        journal = read_journal(folder.journal)
        if len(History(journal).starts) > starts:
            seen = len(journal) if seen is None else seen
            if len(journal) >= seen + events:
                return
        assert process.poll() is None, "the study ended before it could be killed"
        assert time.monotonic() < give_up
        time.sleep(0.005)


def _assert_complete(folder: StudyFolder, plan: Plan) -> None:
    """Each trial of the plan exactly once, in the order of the plan."""
    finished = [
        entry.event.key
        for entry in read_journal(folder.journal)
        if isinstance(entry.event, TrialFinished)
    ]
    assert finished == [key for block in plan.blocks for key in plan.trials_of(block)]
    record = read_run(folder, plan)
    assert Counter(trial.outcome for trial in record.trials) == {"done": len(finished)}
    assert record.starts > 10
    assert record.stopped == f"all planned blocks are done: {len(plan.blocks)}"


@pytest.fixture
def finished(tmp_path: Path, engine: Engine) -> tuple[StudyFolder, Plan]:
    """A study that ran to its end."""
    systems = tuple(directory_system(name, tmp_path / "disk" / name) for name in "ab")
    plan = plan_of(systems, blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    return folder, plan


def cut_journal(folder: StudyFolder, event: str, number: int) -> None:
    """Make the journal end just before the n-th event of a type, as if we were killed there."""
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if f'"type":"{event}"'.encode() in line]
    folder.journal.write_bytes(b"".join(lines[: places[number]]))


def test_killed_between_the_rename_and_the_journal(
    finished: tuple[StudyFolder, Plan], engine: Engine
) -> None:
    folder, plan = finished
    before = read_run(folder, plan).trials
    files = trial_files(folder)
    cut_journal(folder, "trial_finished", 1)
    watcher = Watcher()
    run_study(folder, plan, engine, go_on, watcher)
    assert trial_files(folder) == files
    after = read_run(folder, plan)
    assert [t.key for t in after.trials] == [t.key for t in before]
    assert after.trials[1].started == before[1].started
    assert after.trials[1].samples == before[1].samples
    assert any("was finished when the run was killed" in told for told in watcher.told)
    assert not watcher.records


def test_killed_before_the_rename(finished: tuple[StudyFolder, Plan], engine: Engine) -> None:
    folder, plan = finished
    cut_journal(folder, "trial_finished", 1)
    second = folder.trials / list(plan.trials_of(plan.blocks[0]))[1].file_name
    second.rename(second.with_name(second.name + ".partial"))
    watcher = Watcher()
    run_study(folder, plan, engine, go_on, watcher)
    assert [record.key.system for record in watcher.records] == ["b"]
    assert not list(folder.trials.glob("*.partial"))
    record = read_run(folder, plan)
    assert record.resumed_blocks == (1,)
    assert record.starts == 2


def test_a_torn_journal_is_mended_and_said(
    finished: tuple[StudyFolder, Plan], engine: Engine
) -> None:
    folder, plan = finished
    cut_journal(folder, "stopped", 0)
    with folder.journal.open("ab") as journal:
        journal.write(b'{"at":"2026-')
    watcher = Watcher()
    run_study(folder, plan, engine, go_on, watcher)
    assert any("cut off, and what they tell of is measured again" in told for told in watcher.told)
    assert read_run(folder, plan).stopped is not None


def test_a_trial_that_the_journal_never_heard_of_is_not_believed(
    finished: tuple[StudyFolder, Plan], engine: Engine
) -> None:
    folder, plan = finished
    folder.journal.unlink()
    name = TrialKey(block=1, system="a", workload="iozone").file_name
    with pytest.raises(UsageError, match=f"{name}: .*knows nothing of this trial"):
        run_study(folder, plan, engine, go_on, Watcher())
