"""What goes wrong on one system is recorded with its reason, and the study goes on."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from support.hosts import assert_as_before, host_state, needs_root
from support.looks import find_program
from support.runners import HELLO
from support.runs import SMOKE, Watcher, go_on, image_system, place, plan_of
from tiltyard.executors import runner
from tiltyard.executors.engine import Engine
from tiltyard.executors.runner import KEPT_BYTES
from tiltyard.host.ledger import Ledger
from tiltyard.host.processes import named
from tiltyard.plan.model import TrialKey
from tiltyard.run import stages, trial
from tiltyard.run.history import History
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


ENGINES = {
    "is killed": ("kill -9 $$", "the engine was killed by SIGKILL"),
    "never ends its line": (
        f"{HELLO}; exec head -c 300M /dev/zero",
        "the engine was stopped: a line of its output is longer than 16 MiB",
    ),
    "never ends": (
        HELLO + """; exec yes '{"type":"progress","data":{"done":0.5,"what":"x"}}'""",
        "the engine was stopped: its output has more than 1000000 lines",
    ),
    "floods people": (
        "head -c 500M /dev/zero >&2; printf '\\nno luck\\n' >&2; exit 1",
        "the engine ended with status 1: no luck",
    ),
    "says nothing": (
        "exec sleep 1000",
        "stopped after 0.5 s without a word: no step of it takes as long",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only in its first trial: the stand-in then hands over to the real engine."""
    misbehave, reason = ENGINES[engine]
    monkeypatch.setattr(runner, "_GRACE_S", 2.0)
    if engine == "says nothing":
        monkeypatch.setattr(stages, "SILENCE_S", 0.5)
    real = Engine.find()
    marker = tmp_path / "died"
    stand_in = tmp_path / "engine"
    stand_in.write_text(
        f'#!/bin/sh\nif [ "$1" = runner ] && [ ! -e {marker} ]; then\n'
        f"touch {marker}; {misbehave}; fi\n"
        f'exec {real.path} "$@"\n'
    )
    stand_in.chmod(0o755)
    systems = (image_system("ext2", "16M"), image_system("ext4", "16M"))
    first, second = run(tmp_path, Engine(stand_in), (SMOKE,), *systems)
    assert (first.outcome, first.reason) == ("failed", reason)
    assert (tmp_path / "study" / first.file).stat().st_size <= KEPT_BYTES
    assert second.outcome == "done"
    assert not (tmp_path / "study/work").exists() or not list((tmp_path / "study/work").iterdir())


@pytest.mark.parametrize(
    ("known", "limit_s", "why"),
    [
        ({}, 3 * 3600, "no step of it takes as long"),
        ({"budget_s": 10**6}, 3 * 3600, "no step of it takes as long"),
        ({"budget_s": 7200}, 7200, "longer than the budget of the whole study"),
        ({"budget_s": 60}, 600, "longer than the budget of the whole study"),
        ({"seconds": 100.0, "flows": [1, 2], "message": [1]}, 4000, "than it should take"),
        ({"seconds": 1.0, "transactions": 10**9}, 3 * 3600, "no step of it"),
    ],
)
def test_a_first_trial_has_a_limit(known: dict[str, Any], limit_s: float, why: str) -> None:
    budget_s = known.pop("budget_s", None)
    plan = plan_of((image_system("ext2", "16M"),), budget_s=budget_s)
    if known:
        far = plan.workloads[0].model_copy(update={"target": "far", "effective": known})
        plan = plan.model_copy(update={"workloads": (far,)})
    found = trial.limit_of(History([]), plan, "iozone")
    assert found.seconds == limit_s
    assert why in found.why


def test_the_first_trial_of_a_program_may_be_silent_as_long_as_it_says_itself() -> None:
    """It may go on for days: each command has a word."""
    plan = plan_of((image_system("ext2", "16M"),))
    servers = [{"command": ["true"], "timeout": 30.0}, {"command": ["true"]}]
    program = plan.workloads[0].model_copy(
        update={"program": {}, "effective": {"timeout": 5.0, "servers": servers}}
    )
    plan = plan.model_copy(update={"workloads": (program,)})
    found = trial.limit_of(History([]), plan, "iozone")
    assert (found.seconds, found.is_of_silence) == (2 * 5 + 2 * 90 + 1800, True)
