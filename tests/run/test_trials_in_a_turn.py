"""Several trials of a workload in one turn: rounds, names, resuming, and a refreshed system."""

from pathlib import Path

import pytest

from support.hosts import assert_as_before, host_state, needs_root
from support.runs import (
    SMOKE,
    Recording,
    Watcher,
    directory_system,
    go_on,
    image_system,
    place,
    plan_of,
)
from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.systems.directory import Directory
from tiltyard.systems.loop_image import LoopImage

OFTEN = SMOKE.model_copy(update={"trials": 3})
ONCE = SMOKE.model_copy(update={"name": "once"})


@pytest.fixture
def study(tmp_path: Path) -> tuple[StudyFolder, Plan]:
    """One block on two directories: one workload three times in each turn, one once."""
    systems = tuple(directory_system(name, tmp_path / "disk" / name) for name in "ab")
    plan = plan_of(systems, workloads=(OFTEN, ONCE), blocks=1)
    return place(tmp_path / "study", plan), plan


def told(trials: object) -> list[str]:
    """``a iozone 2`` for each trial."""
    return [f"{t.key.system} {t.key.workload} {t.key.repeat}" for t in trials]  # type: ignore[attr-defined]


IN_ROUNDS = [f"{system} {rest}" for system in "ab" for rest in
             ("iozone 1", "once 1", "iozone 2", "iozone 3")]  # fmt: skip


def test_they_come_in_rounds_and_each_is_kept(
    study: tuple[StudyFolder, Plan], engine: Engine
) -> None:
    folder, plan = study
    watcher = Watcher()
    run_study(folder, plan, engine, go_on, watcher)
    record = read_run(folder, plan)
    assert told(record.trials) == told(watcher.records) == IN_ROUNDS
    assert [trial.slot for trial in record.trials] == list(range(1, 9))
    assert len({trial.file for trial in record.trials}) == 8
    assert all(trial.outcome == "done" for trial in record.trials)
    assert len(record.prepared) == 2
    assert watcher.outlooks[-1].trials_total == watcher.outlooks[-1].trials_done == 8


@pytest.mark.parametrize("kept", range(8))
def test_a_run_that_was_killed_goes_on_with_the_next_one(
    study: tuple[StudyFolder, Plan], engine: Engine, kept: int
) -> None:
    folder, plan = study
    run_study(folder, plan, engine, go_on, Watcher())
    recording = Recording.of(folder)
    starts = [at for at, line in enumerate(recording.lines) if b'"trial_started"' in line]
    recording.killed_after(starts[kept] + 1)
    again = Watcher()
    run_study(folder, plan, engine, go_on, again)
    assert told(again.records) == IN_ROUNDS[kept:]
    assert told(read_run(folder, plan).trials) == IN_ROUNDS


def test_a_trial_that_was_finished_when_the_run_was_killed_is_adopted(
    study: tuple[StudyFolder, Plan], engine: Engine
) -> None:
    folder, plan = study
    run_study(folder, plan, engine, go_on, Watcher())
    recording = Recording.of(folder)
    places = [at for at, line in enumerate(recording.lines) if b'"trial_finished"' in line]
    third = list(plan.trials_of(plan.blocks[0]))[2]
    assert third.repeat == 2
    recording.killed_after(places[2])
    (folder.trials / third.file_name).write_bytes(recording.trials[third.file_name])
    again = Watcher()
    run_study(folder, plan, engine, go_on, again)
    assert told(again.records) == IN_ROUNDS[3:]
    assert told(read_run(folder, plan).trials) == IN_ROUNDS


def test_a_system_that_cannot_be_refreshed_fails_the_rest_of_its_turn(
    study: tuple[StudyFolder, Plan], engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Directory) -> None:
        if self._given.name == "a":
            raise TiltyardError("busy")

    monkeypatch.setattr(Directory, "refresh", refuse)
    folder, plan = study
    run_study(folder, plan, engine, go_on, Watcher())
    failed = [trial for trial in read_run(folder, plan).trials if trial.outcome == "failed"]
    assert told(failed) == ["a iozone 2", "a iozone 3"]
    assert {trial.reason for trial in failed} == {"a could not be refreshed: busy"}


@needs_root
def test_a_file_system_is_made_once_and_refreshed_between_them(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed: list[str] = []
    refresh = LoopImage.refresh

    def counting(self: LoopImage) -> None:
        refreshed.append(self._filesystem.name)
        refresh(self)

    monkeypatch.setattr(LoopImage, "refresh", counting)
    plan = plan_of((image_system("ext4", "16M"),), workloads=(OFTEN, ONCE), blocks=1)
    folder = place(tmp_path / "study", plan)
    before = host_state(tmp_path)
    run_study(folder, plan, engine, go_on, Watcher())
    assert_as_before(before, tmp_path)
    record = read_run(folder, plan)
    assert refreshed == ["ext4", "ext4"]
    assert len(record.prepared) == 1
    assert [trial.outcome for trial in record.trials] == ["done"] * 4
