"""What goes wrong on one system is recorded with its reason, and the study goes on."""

import os
import signal
from pathlib import Path

import pytest

from support.hosts import assert_as_before, host_state, needs_root
from support.runs import SMOKE, Watcher, go_on, image_system, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.host.ledger import Ledger
from tiltyard.host.packages import find_program
from tiltyard.host.processes import named
from tiltyard.plan.model import TrialKey
from tiltyard.run.observer import Outlook
from tiltyard.run.read import read_run
from tiltyard.run.record import TrialRecord
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site

pytestmark = needs_root

TOO_LARGE = WorkloadSpec(
    name="large", use="iozone", parameters={"file": "64M", "record": "1M", "tests": ["write"]}
)


def run(
    tmp_path: Path,
    engine: Engine,
    workloads: tuple[WorkloadSpec, ...],
    *systems: SystemSpec,
    blocks: int = 1,
    watcher: Watcher | None = None,
) -> list[TrialRecord]:
    """A study of one block or more; nothing of it is left afterwards."""
    before = host_state(tmp_path)
    plan = plan_of(systems, workloads=workloads, blocks=blocks)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, watcher or Watcher())
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


def test_a_mount_that_fails(tmp_path: Path, engine: Engine) -> None:
    bogus = image_system("ext2", "16M", mount=["nonesuch"])
    first, second = run(tmp_path, engine, (SMOKE,), bogus, image_system("ext4", "16M"))
    assert (first.outcome, second.outcome) == ("failed", "done")
    assert first.reason is not None
    assert first.reason.startswith("ext2 did not come up: mount -t ext2 -o nonesuch ")


def test_a_file_system_that_is_read_only(tmp_path: Path, engine: Engine) -> None:
    bogus = image_system("ext2", "16M", mount=["ro"])
    first, second = run(tmp_path, engine, (SMOKE,), bogus, image_system("ext4", "16M"))
    assert (first.outcome, second.outcome) == ("failed", "done")
    assert first.reason is not None
    assert "Read-only file system" in first.reason


def test_no_room_for_the_image_at_a_later_block(tmp_path: Path, engine: Engine) -> None:
    """Another image is to be made where the first one has left no room."""
    small = tmp_path / "small"
    small.mkdir()
    with Ledger() as ledger:
        site = Site(root=small, work=small, ledger=ledger)
        up = kind("tmpfs").system("t", {"size": "40M"}, site).bring_up()
        at = {"image": "24M", "at": str(up.target)}
        one, two = (
            image_system(name, "24M", backing=at, reset="remount") for name in ("ext2", "ext4")
        )
        trials = run(tmp_path / "x", engine, (SMOKE,), one, two, blocks=2)
    outcomes = {(trial.key.block, trial.key.system): trial for trial in trials}
    assert {key: trial.outcome for key, trial in outcomes.items()} == {
        (1, "ext2"): "done",
        (1, "ext4"): "failed",
        (2, "ext4"): "failed",
        (2, "ext2"): "done",
    }
    reason = outcomes[1, "ext4"].reason
    assert reason is not None
    assert "No space left on device" in reason


@pytest.mark.skipif(find_program("ntfs-3g") is None, reason="apt-get install ntfs-3g")
def test_a_server_that_dies_in_the_middle(tmp_path: Path, engine: Engine) -> None:
    """It is killed when its first trial begins; the next turn has another one."""

    class Killer(Watcher):
        def trial_started(self, key: TrialKey, slot: int, outlook: Outlook) -> None:
            super().trial_started(key, slot, outlook)
            if (key.system, key.block) == ("ntfs-3g", 1):
                (server,) = (pid for pid in named(("ntfs-3g",)) if is_ours(pid))
                os.kill(server, signal.SIGKILL)

    def is_ours(pid: int) -> bool:
        return str(tmp_path).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()

    systems = (image_system("ntfs-3g", "16M"), image_system("ext4", "16M"))
    trials = run(tmp_path, engine, (SMOKE,), *systems, blocks=2, watcher=Killer())
    of_server = [trial for trial in trials if trial.key.system == "ntfs-3g"]
    assert [trial.outcome for trial in of_server] == ["failed", "done"]
    assert of_server[0].reason is not None
    assert of_server[0].reason.startswith("what serves the system has ended: ")
    assert [trial.outcome for trial in trials].count("failed") == 1


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
