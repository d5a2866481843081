"""The canary: it runs on the real engine, and its chart tells noise from a change."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest

from support.runs import GATES, Watcher, directory_system, go_on, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.run import canary
from tiltyard.run.canary import check_canary
from tiltyard.run.history import History
from tiltyard.run.journal import CanaryRun
from tiltyard.run.runner import run_study
from tiltyard.study.model import GatesSpec

LIMIT = 0.03
WHEN: tuple[Literal["before"], Literal["after"]] = ("before", "after")


def runs(cpu_s: list[float], disk_s: list[float] | None = None) -> list[CanaryRun]:
    """Two canaries a block, from block 1 on."""
    disks: Sequence[float | None] = disk_s or [None] * len(cpu_s)
    return [
        CanaryRun(block=1 + place // 2, when=WHEN[place % 2], cpu_s=cpu, disk_s=disk)
        for place, (cpu, disk) in enumerate(zip(cpu_s, disks, strict=True))
    ]


def texts(found: list[CanaryRun]) -> list[str]:
    """The reasons of the last block."""
    return [reason.text for reason in check_canary(found, found[-1].block, LIMIT)]


def test_a_change_beyond_the_limit_spoils() -> None:
    steady = [0.300, 0.301, 0.299, 0.300, 0.302, 0.300]
    assert texts(runs([*steady, 0.308, 0.301])) == []
    assert texts(runs([*steady, 0.301, 0.330])) == [
        "the canary's computing after the block took 10.0 % longer than usual in this run "
        "(limit 3.0 %)"
    ]
    assert texts(runs([*steady, 0.270, 0.300])) == [
        "the canary's computing before the block took 11.1 % shorter than usual in this run "
        "(limit 3.0 %)"
    ]


def test_few_canaries_tell_nothing() -> None:
    assert texts(runs([0.3, 0.3, 0.3, 0.3, 0.9, 0.9])) == []


def test_the_limit_grows_with_the_noise_of_the_session() -> None:
    noisy = [0.30, 0.27, 0.33, 0.29, 0.32, 0.28]
    assert texts(runs([*noisy, 0.36, 0.31])) == []


def test_a_disk_may_vary_more() -> None:
    disk_s = [0.020, 0.0201, 0.0199, 0.02, 0.0202, 0.02]
    assert texts(runs([0.3] * 8, [*disk_s, 0.0215, 0.02])) == []
    assert texts(runs([0.3] * 8, [*disk_s, 0.0225, 0.02])) == [
        "the canary's writing before the block took 12.5 % longer than usual in this run "
        "(limit 9.0 %)"
    ]


def test_a_canary_that_failed_is_not_available() -> None:
    missing = [
        CanaryRun(block=1 + place // 2, when="before", cpu_s=None, disk_s=None)
        for place in range(8)
    ]
    assert texts(missing) == []


def test_clean_blocks_are_rarely_spoiled() -> None:
    rng = np.random.default_rng(11)
    spoiled = checked = 0
    for _ in range(20):
        found = runs((0.3 * np.exp(rng.normal(0, 0.01, 40))).tolist())
        for block in range(4, 21):
            checked += 1
            spoiled += bool(list(check_canary(found[: 2 * block], block, LIMIT)))
    assert spoiled <= 0.02 * checked


def test_a_run_with_gates_has_one_before_and_one_after_each_block(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(canary._COMPUTE, "operations", 100_000)
    monkeypatch.setattr(canary, "_WORTH_S", 0.0)
    systems = tuple(directory_system(name, tmp_path / "disk" / name) for name in "ab")
    gates = GATES.model_copy(update={"spoiled": "keep"})
    plan = plan_of(systems, blocks=2, gates=gates)
    plan = plan.model_copy(
        update={
            "workloads": tuple(
                workload.model_copy(update={"target": "directory"}) for workload in plan.workloads
            )
        }
    )
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    found = History.read(folder.journal).canaries
    assert [(run.block, run.when) for run in found] == [
        (1, "before"), (1, "after"), (2, "before"), (2, "after"),
    ]  # fmt: skip
    assert all(run.cpu_s and run.disk_s for run in found)
    assert not folder.work.exists(), "a canary leaves nothing behind"


def test_nothing_is_executed_here_for_systems_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "_WORTH_S", 0.0)
    plan = SimpleNamespace(gates=GATES, is_elsewhere=True)
    # Whatever else it asked of a run is not there.
    canary.run_canary(SimpleNamespace(plan=plan), 1, "before")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gates", "worth_s"),
    [
        (None, 0.0),
        (GATES.model_copy(update={"canary": 0.0, "spoiled": "keep"}), 0.0),
        (GATES.model_copy(update={"spoiled": "keep"}), canary._WORTH_S),
    ],
)
def test_a_study_may_do_without_and_one_of_short_blocks_does(
    tmp_path: Path,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    gates: GatesSpec | None,
    worth_s: float,
) -> None:
    monkeypatch.setattr(canary, "_WORTH_S", worth_s)
    systems = (directory_system("a", tmp_path / "disk" / "a"),)
    plan = plan_of(systems, blocks=2, gates=gates)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    assert History.read(folder.journal).canaries == []
