"""What goes wrong on one system is recorded with its reason, and the study goes on."""

from pathlib import Path

from support.hosts import assert_as_before, host_state, needs_root
from support.runs import SMOKE, Watcher, go_on, image_system, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.run.read import read_run
from tiltyard.run.record import TrialRecord
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec

pytestmark = needs_root

TOO_LARGE = WorkloadSpec(
    name="large", use="iozone", parameters={"file": "64M", "record": "1M", "tests": ["write"]}
)


def run(
    tmp_path: Path, engine: Engine, workloads: tuple[WorkloadSpec, ...], *systems: SystemSpec
) -> list[TrialRecord]:
    """One block of a study; nothing of it is left afterwards."""
    before = host_state(tmp_path)
    plan = plan_of(systems, workloads=workloads, blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    assert_as_before(before, tmp_path)
    return list(read_run(folder, plan).trials)


def test_a_full_disk(tmp_path: Path, engine: Engine) -> None:
    trials = run(tmp_path, engine, (TOO_LARGE, SMOKE), image_system("ext4", "32M"))
    assert [trial.outcome for trial in trials] == ["failed", "done"]
    assert trials[0].end is not None
    assert trials[0].end.failure is not None
    assert trials[0].end.failure.kind == "no_space"
    assert trials[0].reason == trials[0].end.failure.message


def test_a_mkfs_that_fails(tmp_path: Path, engine: Engine) -> None:
    bogus = image_system("ext2", "16M", mkfs=["-O", "nonesuch"])
    trials = run(tmp_path, engine, (SMOKE,), bogus, image_system("ext4", "16M"))
    assert [(trial.key.system, trial.outcome) for trial in trials] == [
        ("ext2", "failed"),
        ("ext4", "done"),
    ]
    reason = trials[0].reason
    assert reason is not None
    assert reason.startswith("ext2 did not come up: mkfs.ext2 ")
    assert "nvalid filesystem option" in reason
    assert trials[0].file == ""


def test_an_engine_that_is_killed(tmp_path: Path) -> None:
    """Only its first trial: the stand-in then hands over to the real engine."""
    real = Engine.find()
    marker = tmp_path / "died"
    stand_in = tmp_path / "engine"
    stand_in.write_text(
        f'#!/bin/sh\nif [ "$1" = run ] && [ ! -e {marker} ]; then touch {marker}; kill -9 $$; fi\n'
        f'exec {real.path} "$@"\n'
    )
    stand_in.chmod(0o755)
    systems = (image_system("ext2", "16M"), image_system("ext4", "16M"))
    first, second = run(tmp_path, Engine(stand_in), (SMOKE,), *systems)
    assert (first.outcome, first.reason) == ("failed", "the engine was killed by SIGKILL")
    assert second.outcome == "done"
