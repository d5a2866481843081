"""Isolation where it cannot be had, and its way back; a kernel that has it is in second_host."""

import os
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher, directory_system, go_on, place, plan_of
from tiltyard.errors import HostLacksError
from tiltyard.executors.engine import Engine
from tiltyard.host import isolation
from tiltyard.host.changes.isolation import MadePartition
from tiltyard.host.isolation import _hierarchy, isolate
from tiltyard.host.ledger import Ledger
from tiltyard.host.tasks import Task, tasks
from tiltyard.plan.model import Plan
from tiltyard.run.read import read_run
from tiltyard.run.rehearsal import lacking
from tiltyard.run.runner import run_study


def places() -> dict[int, str]:
    """Where those may run who are there all the time, and which process each is of."""
    return {task.tid: task.cpus for task in tasks()}


def asking(plan: Plan, *, isolate: bool) -> Plan:
    asked = plan.conditions.model_copy(
        update={"cpus": (max(os.sched_getaffinity(0)),), "isolate": isolate}
    )
    return plan.model_copy(update={"conditions": asked})


@needs_root
def test_with_groups_of_version_1_nothing_is_isolated_and_nobody_moved(tmp_path: Path) -> None:
    """Asked for, it is told before the first block; the run goes on."""
    if _hierarchy("cgroup") is None:
        pytest.skip("no cpusets of version 1: boot with systemd.unified_cgroup_hierarchy=0")
    plan = asking(plan_of((directory_system("a", tmp_path / "a"),), blocks=1), isolate=True)
    folder = place(tmp_path / "study", plan)
    before, during = places(), dict[int, str]()

    class Looking(Watcher):
        def trial_started(self, *_: object) -> None:
            during.update(places())

    run_study(folder, plan, Engine.find(), go_on, watcher := Looking())
    note = read_run(folder, plan).isolation
    assert note is not None
    assert not note.granted
    assert note.text.startswith("with control groups of version 1 it would be the tasks of others")
    assert f"No isolation: {note.text}" in watcher.told
    assert {tid: cpus for tid, cpus in during.items() if before.get(tid, cpus) != cpus} == {}


@needs_root
def test_check_tells_beforehand_what_the_run_will_not_grant(tmp_path: Path) -> None:
    if _hierarchy("cgroup") is None:
        pytest.skip("no cpusets of version 1: boot with systemd.unified_cgroup_hierarchy=0")
    system = directory_system("a", tmp_path / "a")
    (one,) = lacking(asking(plan_of((system,)), isolate=True).conditions, system)
    assert one.severity == "warning"
    assert one.text.startswith("no isolation: with control groups of version 1")


def test_a_cpu_that_is_not_here_is_told_before_the_first_block(tmp_path: Path) -> None:
    system = directory_system("a", tmp_path / "a")
    plan = plan_of((system,))
    asked = plan.conditions.model_copy(update={"cpus": (9999,)})
    plan = plan.model_copy(update={"conditions": asked})
    folder = place(tmp_path / "study", plan)
    with pytest.raises(HostLacksError, match=r"^conditions\.cpus: there is no CPU 9999"):
        run_study(folder, plan, Engine.find(), go_on, Watcher())
    assert not [*folder.trials.glob("*")]


def test_a_study_that_does_not_ask_for_it_has_none(tmp_path: Path) -> None:
    plan = asking(plan_of((directory_system("a", tmp_path / "a"),), blocks=1), isolate=False)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, watcher := Watcher())
    assert read_run(folder, plan).isolation is None
    assert not [text for text in watcher.told if "solation" in text]


def test_what_cannot_be_granted_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(tmp_path) as ledger:
        monkeypatch.setattr(isolation, "_hierarchy", lambda _: None)
        monkeypatch.setattr(isolation.os, "geteuid", lambda: 0)
        text = "this kernel has no cpusets (control groups of version 2)"
        assert isolate(ledger, (1,)).text == text
        monkeypatch.setattr(isolation.os, "geteuid", lambda: 1000)
        assert isolate(ledger, (1,)).text == "only root can keep others off a CPU"
        assert not ledger.outstanding


@pytest.mark.parametrize(
    ("cpus", "bound"),
    [("0-3", False), ("0-1", False), ("2", True), ("1-2", True), ("0-2", True)],
)
def test_whoever_has_chosen_cpus_among_these_is_in_the_way(cpus: str, *, bound: bool) -> None:
    task = Task(tid=7, pid=7, parent=1, is_kernel=False, cpus=cpus)
    assert isolation._is_bound(task, (2, 3), {0, 1, 2, 3}) == bound


def test_undoing_what_was_never_done_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("memory\n")
    made = MadePartition(root=tmp_path, group="tiltyard-x-measures", handed_down=False)
    assert made.undo() is None


def test_a_group_of_another_run_is_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("memory\n")
    other = tmp_path / "tiltyard/tiltyard-y-measures"
    other.mkdir(parents=True)
    (other / "cgroup.procs").touch()
    made = MadePartition(root=tmp_path, group="tiltyard-x-measures", handed_down=False)
    assert made.undo() is None
    assert other.is_dir()
