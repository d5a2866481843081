"""Isolation where it cannot be had, and its way back; a kernel that has it is in second_host."""

import contextlib
import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher, directory_system, go_on, place, plan_of
from tiltyard.errors import HostLacksError
from tiltyard.executors.engine import Engine
from tiltyard.host.host import Host
from tiltyard.host.isolation import hindrance
from tiltyard.plan.model import Plan
from tiltyard.run.read import read_run
from tiltyard.run.rehearsal import lacking
from tiltyard.run.runner import run_study


def places() -> dict[int, set[int]]:
    """Where each task may run now."""
    found = dict[int, set[int]]()
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        with contextlib.suppress(ProcessLookupError):
            found[int(task.name)] = os.sched_getaffinity(int(task.name))
    return found


def require_version_1() -> None:
    if "version 1" not in hindrance((max(os.sched_getaffinity(0)),)):
        pytest.skip("no cpusets of version 1: boot with systemd.unified_cgroup_hierarchy=0")


def asking(plan: Plan, *, isolate: bool) -> Plan:
    asked = plan.conditions.model_copy(
        update={"cpus": (max(os.sched_getaffinity(0)),), "isolate": isolate}
    )
    return plan.model_copy(update={"conditions": asked})


@needs_root
def test_with_groups_of_version_1_nothing_is_isolated_and_nobody_moved(tmp_path: Path) -> None:
    """Asked for, it is told before the first block; the run goes on."""
    require_version_1()
    plan = asking(plan_of((directory_system("a", tmp_path / "a"),), blocks=1), isolate=True)
    folder = place(tmp_path / "study", plan)
    before, during = places(), dict[int, set[int]]()

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
    require_version_1()
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


@needs_root
def test_who_is_not_root_is_told_so() -> None:
    """Nothing is looked at then, and nothing is written."""
    asked = {"op": "isolate", "cpus": [0], "group": "tiltyard-x"}
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with tempfile.TemporaryDirectory() as home:
        engine = shutil.copy(Engine.find().path, home)
        Path(home).chmod(0o755)
        with closing(Host((*nobody, engine, "agent"))) as agent:
            did = agent.change([asked])
    assert [one.text for one in did.skipped] == ["only root can keep others off a CPU"]
    assert (did.changes, did.isolated, did.ledger) == ([], None, "")
