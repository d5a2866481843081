"""What a program asks for once a turn and once a study: in order, contained, and always undone."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.patience import PATIENCE_S, wait_until
from support.runs import Watcher, go_on
from support.snapshots import put_back_by_itself
from tiltyard.app.freeze import planned
from tiltyard.errors import InterruptedRunError, TrialsFailedError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import recover
from tiltyard.plan.model import Plan
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.run.runner import run_study
from tiltyard.study.problems import StudyFileError

STUDY = """\
question = "q"
[factors]
letter = ["a", "b"]
[[workload]]
use = "program"
command = ["sh", "-c", "echo trial {letter} >> {log}; cat {dir}/seed {study_dir}/built"]
executions = 2
metrics = { wall = "time" }
expect = { stdout = "same" }
study.setup = [["sh", "-c", "echo study >> {log}; echo made > {study_dir}/built"], ["BUILD"]]
study.cleanup = ["sh", "-c", "echo end of study >> {log}; test -e {study_dir}/built"]
turn.setup = [["sh", "-c", "echo setup {letter} >> {log}; echo 7 > seed"], ["SETUP"]]
turn.cleanup = ["sh", "-c", "echo cleanup {letter} >> {log}; cat {dir}/seed; CLEANUP"]
[conditions]
isolate = false
"""


@pytest.fixture
def folder(tmp_path: Path, state: Path) -> Iterator[StudyFolder]:
    """A study folder; what is trusted is forgotten after."""
    (tmp_path / "study").mkdir()
    yield StudyFolder(tmp_path / "study")
    shutil.rmtree(state / "trusted", ignore_errors=True)


def plan_of(
    folder: StudyFolder,
    engine: Engine,
    setup: str = "true",
    cleanup: str = "true",
    build: str = "true",
) -> Plan:
    """One block of two trials in each turn."""
    text = STUDY.replace("{log}", str(log(folder))).replace("CLEANUP", cleanup)
    text = text.replace("executions", "trials = 2\nexecutions")
    folder.study.write_text(text.replace("SETUP", setup).replace("BUILD", build))
    plan = planned(folder, engine, trust=True)
    short = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, short)
    return short


def log(folder: StudyFolder) -> Path:
    return folder.root.parent / "log"


def run(folder: StudyFolder, engine: Engine, plan: Plan) -> RunRecord:
    run_study(folder, plan, engine, go_on, Watcher())
    return read_run(folder, plan)


def assert_nothing_is_left(folder: StudyFolder) -> None:
    assert not list(folder.root.glob("work*"))
    assert recover() == []


def test_each_level_is_executed_in_its_place(folder: StudyFolder, engine: Engine) -> None:
    plan = plan_of(folder, engine)
    record = run(folder, engine, plan)
    assert [trial.outcome for trial in record.trials] == ["done"] * 4
    first, second = (turn.system for turn in plan.blocks[0].turns)
    turns = [
        [f"setup {name}", *[f"trial {name}"] * 4, f"cleanup {name}"] for name in (first, second)
    ]
    expected = ["study", *turns[0], *turns[1], "end of study"]
    assert log(folder).read_text().splitlines() == expected
    (prepared, _) = record.prepared
    assert [command.argv[0] for command in prepared.commands] == ["sh", "true"]
    assert_nothing_is_left(folder)


def test_a_setup_that_fails_fails_the_turn_and_is_cleaned_up(
    folder: StudyFolder, engine: Engine
) -> None:
    record = run(folder, engine, plan_of(folder, engine, setup="false"))
    (reason,) = {trial.reason for trial in record.trials}
    assert reason == "turn.setup 2, false: exit code 1, expected 0"
    lines = log(folder).read_text().splitlines()
    assert sum(line.startswith("cleanup") for line in lines) == 2
    assert not any(line.startswith("trial") for line in lines)
    assert_nothing_is_left(folder)


def test_a_cleanup_that_fails_ends_the_run(folder: StudyFolder, engine: Engine) -> None:
    plan = plan_of(folder, engine, cleanup="exit 3")
    with pytest.raises(TrialsFailedError, match=r"turn\.cleanup 1, .* exit code 3.* goes on"):
        run(folder, engine, plan)
    assert len(read_run(folder, plan).trials) == 2
    assert log(folder).read_text().splitlines()[-1] == "end of study"
    assert_nothing_is_left(folder)


def test_a_study_level_has_no_values_of_systems(folder: StudyFolder, engine: Engine) -> None:
    folder.study.write_text(STUDY.replace("echo study", "echo {letter}"))
    with pytest.raises(StudyFileError, match=r"study: .letter. is a value of one system.*Fix"):
        planned(folder, engine)


class Stopped(Watcher):
    """Asks the run to stop when a trial has ended."""

    def trial_finished(self, *_: object) -> None:  # type: ignore[override]
        os.kill(os.getpid(), signal.SIGTERM)


def test_an_interrupted_run_cleans_up(folder: StudyFolder, engine: Engine) -> None:
    plan = plan_of(folder, engine)
    with pytest.raises(InterruptedRunError):
        run_study(folder, plan, engine, go_on, Stopped())
    first, *_, cleanup, end = log(folder).read_text().splitlines()
    assert (first, cleanup[:8], end) == ("study", "cleanup ", "end of study")
    assert_nothing_is_left(folder)


@pytest.mark.parametrize("where", ["setup", "build"])
def test_a_killed_run_is_cleaned_up_once_its_setup_has_ended(
    folder: StudyFolder, engine: Engine, state: Path, where: str
) -> None:
    hang, pid = folder.root.parent / "hang", folder.root.parent / "pid"
    hang.write_text(f"#!/bin/sh\necho $$ > {pid}\nexec sleep 600\n")
    hang.chmod(0o755)
    plan_of(folder, engine, **{where: str(hang)})
    with subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
    ) as lab:
        wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"), "nothing is set up")
        lab.send_signal(signal.SIGKILL)
        lab.wait(PATIENCE_S)
    hung = Path(f"/proc/{pid.read_text().strip()}")
    wait_until(lambda: not hung.exists(), "a setup outlives the lab")
    put_back_by_itself(state)
    lines = log(folder).read_text().splitlines()
    assert lines[-1] == "end of study"
    inside = ["setup", "cleanup"] if where == "setup" else []
    assert [line.split()[0] for line in lines[1:-1]] == inside
    folder.work.rmdir()
    assert_nothing_is_left(folder)
