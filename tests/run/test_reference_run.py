"""The reference run: it runs on the real engine, and its chart tells noise from a change."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from support.patience import wait_until
from support.runs import NOISE_LIMITS, Watcher, directory_system, go_on, place, plan_of
from support.sshd import Sshd, sshd
from tiltyard.executors.engine import Engine
from tiltyard.host.place import Place
from tiltyard.run import reference_run
from tiltyard.run.history import History
from tiltyard.run.journal import ReferenceRun
from tiltyard.run.reference_run import check_reference
from tiltyard.run.runner import run_study
from tiltyard.study.model import NoiseLimits, SystemSpec

LIMIT = 0.03
WHEN: tuple[Literal["before"], Literal["after"]] = ("before", "after")


def runs(cpu_s: list[float], disk_s: list[float] | None = None) -> list[ReferenceRun]:
    """Two reference runs a block, from block 1 on."""
    disks: Sequence[float | None] = disk_s or [None] * len(cpu_s)
    return [
        ReferenceRun(block=1 + place // 2, when=WHEN[place % 2], cpu_s=cpu, disk_s=disk)
        for place, (cpu, disk) in enumerate(zip(cpu_s, disks, strict=True))
    ]


def texts(found: list[ReferenceRun]) -> list[str]:
    """The reasons of the last block."""
    return [reason.text for reason in check_reference(found, found[-1].block, LIMIT)]


def test_a_change_beyond_the_limit_disturbs() -> None:
    steady = [0.300, 0.301, 0.299, 0.300, 0.302, 0.300]
    assert texts(runs([*steady, 0.308, 0.301])) == []
    assert texts(runs([*steady, 0.301, 0.330])) == [
        "the reference run's computing after the block took 10.0 % longer than usual in this run "
        "(limit 3.0 %)"
    ]
    assert texts(runs([*steady, 0.270, 0.300])) == [
        "the reference run's computing before the block took 11.1 % shorter than usual in this run "
        "(limit 3.0 %)"
    ]


def test_few_reference_runs_tell_nothing() -> None:
    assert texts(runs([0.3, 0.3, 0.3, 0.3, 0.9, 0.9])) == []


def test_the_limit_grows_with_the_noise_of_the_session() -> None:
    noisy = [0.30, 0.27, 0.33, 0.29, 0.32, 0.28]
    assert texts(runs([*noisy, 0.36, 0.31])) == []


def test_a_disk_may_vary_more() -> None:
    disk_s = [0.020, 0.0201, 0.0199, 0.02, 0.0202, 0.02]
    assert texts(runs([0.3] * 8, [*disk_s, 0.0215, 0.02])) == []
    assert texts(runs([0.3] * 8, [*disk_s, 0.0225, 0.02])) == [
        "the reference run's writing before the block took 12.5 % longer than usual in this run "
        "(limit 9.0 %)"
    ]


def test_a_reference_run_that_failed_is_not_available() -> None:
    missing = [
        ReferenceRun(block=1 + place // 2, when="before", cpu_s=None, disk_s=None)
        for place in range(8)
    ]
    assert texts(missing) == []


def test_clean_blocks_are_rarely_disturbed() -> None:
    rng = np.random.default_rng(11)
    disturbed = checked = 0
    for _ in range(20):
        found = runs((0.3 * np.exp(rng.normal(0, 0.01, 40))).tolist())
        for block in range(4, 21):
            checked += 1
            disturbed += bool(list(check_reference(found[: 2 * block], block, LIMIT)))
    assert disturbed <= 0.02 * checked


def test_a_run_with_gates_has_one_before_and_one_after_each_block(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reference_run._COMPUTE, "operations", 100_000)
    monkeypatch.setattr(reference_run, "_WORTH_S", 0.0)
    systems = tuple(directory_system(name, tmp_path / "disk" / name) for name in "ab")
    noise_limits = NOISE_LIMITS.model_copy(update={"disturbed": "keep"})
    plan = plan_of(systems, blocks=2, noise_limits=noise_limits)
    plan = plan.model_copy(
        update={
            "workloads": tuple(
                workload.model_copy(update={"target": "directory"}) for workload in plan.workloads
            )
        }
    )
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    found = History.read(folder.journal).reference_runs
    assert [(run.block, run.when) for run in found] == [
        (1, "before"), (1, "after"), (2, "before"), (2, "after"),
    ]  # fmt: skip
    assert all(run.cpu_s and run.disk_s for run in found)
    assert not folder.work.exists(), "a reference run leaves nothing behind"


def test_each_host_has_its_own_chart() -> None:
    """One that is twice as fast as the other is not taken for one that has changed."""
    slow = runs([0.6, 0.601, 0.599, 0.6, 0.602, 0.6, 0.66, 0.6])
    far = [run.model_copy(update={"host": "bench@srv1"}) for run in slow]
    near = runs([0.3, 0.301, 0.299, 0.3, 0.302, 0.3, 0.301, 0.3])
    both = [run for pair in zip(near, far, strict=True) for run in pair]
    assert texts(both) == [
        "the reference run's computing on bench@srv1 before the block took 10.0 % longer than "
        "usual in this run (limit 3.0 %)"
    ]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    """Another host, on which nothing is left."""
    with sshd(tmp_path / "far") as server:
        yield server
        assert not list(server.home.iterdir())


def there(server: Sshd, tmp_path: Path) -> SystemSpec:
    """A directory of it."""
    (directory := tmp_path / "there").mkdir()
    settings = {
        "host": server.far, "ssh_options": server.options, "directory": str(directory),
    }  # fmt: skip
    return SystemSpec.model_validate(
        {"name": "there", "levels": {"on": "there"}, "kind": "remote", "settings": settings}
    )


class _Ending(Watcher):
    """Ends the connection to the agent of a host when a block begins."""

    def __init__(self, server: Sshd, block: int) -> None:
        super().__init__()
        self._place, self._block = Place(server.address), block

    def block_started(self, block: int, of: int) -> None:
        super().block_started(block, of)
        if block == self._block:
            agent = self._place.host
            os.kill(agent.pid, signal.SIGKILL)
            wait_until(lambda: not agent.is_there, "it does not end")


@pytest.mark.parametrize("alone", [False, True])
def test_it_runs_on_each_host_of_the_study(
    tmp_path: Path,
    engine: Engine,
    server: Sshd,
    monkeypatch: pytest.MonkeyPatch,
    *,
    alone: bool,
) -> None:
    """By the engine of its agent, and by that of another one where that has ended."""
    monkeypatch.setitem(reference_run._COMPUTE, "operations", 100_000)
    monkeypatch.setattr(reference_run, "_WORTH_S", 0.0)
    here = () if alone else (directory_system("here", tmp_path / "disk"),)
    systems = (*here, there(server, tmp_path))
    plan = plan_of(
        systems, blocks=3, noise_limits=NOISE_LIMITS.model_copy(update={"disturbed": "keep"})
    )
    workloads = [one.model_copy(update={"target": "directory"}) for one in plan.workloads]
    plan = plan.model_copy(update={"workloads": tuple(workloads)})
    folder = place(tmp_path / "study", plan)
    watcher = _Ending(server, 2)
    run_study(folder, plan, engine, go_on, watcher)
    found = History.read(folder.journal).reference_runs
    hosts = [server.far] if alone else ["", server.far]
    assert [(run.block, run.when, run.host) for run in found] == [
        (block, when, host) for block in (1, 2, 3) for when in WHEN for host in hosts
    ]
    assert all(run.cpu_s and run.disk_s for run in found)
    assert all(trial.outcome == "done" for trial in watcher.records)


@pytest.mark.parametrize(
    ("noise_limits", "worth_s"),
    [
        (None, 0.0),
        (NOISE_LIMITS.model_copy(update={"reference_run": 0.0, "disturbed": "keep"}), 0.0),
        (NOISE_LIMITS.model_copy(update={"disturbed": "keep"}), reference_run._WORTH_S),
    ],
)
def test_a_study_may_do_without_and_one_of_short_blocks_does(
    tmp_path: Path,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    noise_limits: NoiseLimits | None,
    worth_s: float,
) -> None:
    monkeypatch.setattr(reference_run, "_WORTH_S", worth_s)
    systems = (directory_system("a", tmp_path / "disk" / "a"),)
    plan = plan_of(systems, blocks=2, noise_limits=noise_limits)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    assert History.read(folder.journal).reference_runs == []
