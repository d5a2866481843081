"""Others are kept off a CPU, and everything is put back: also what was started meanwhile."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from support.runs import Watcher, directory_system, go_on, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.host import isolation
from tiltyard.host.changes import isolation as changes
from tiltyard.host.changes.isolation import MovedTasks, RestrictedGroups
from tiltyard.host.isolation import (
    _hierarchy,
    isolate,
    isolate_if_harmless,
    move_others,
    restrict_groups,
)
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.tasks import Task, parse_cpus, tasks
from tiltyard.plan.model import TrialKey
from tiltyard.run import runner
from tiltyard.run.observer import Outlook
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

OLD = _hierarchy("cgroup")
CPUS = sorted(os.sched_getaffinity(0))

needs_old = pytest.mark.skipif(
    OLD is None or os.geteuid() != 0 or len(CPUS) < 2,
    reason="needs root, two CPUs and cpusets of cgroup version 1: boot with "
    "systemd.unified_cgroup_hierarchy=0",
)

SLEEPS = "import signal; print(flush=True); signal.pause()"
FORKS = """
import os, signal, sys
print(flush=True)
sys.stdin.readline()
child = os.fork()
if child:
    print(child, flush=True)
signal.pause()
"""


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[str]]]:
    """Three processes; the second one has pinned itself, the third forks when it is told to."""
    started = [
        subprocess.Popen(
            (sys.executable, "-c", text), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for text in (SLEEPS, SLEEPS, FORKS)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    os.sched_setaffinity(started[1].pid, {CPUS[-1]})
    yield started
    for process in started:
        with process:
            process.kill()


def places(pids: set[int]) -> dict[int, tuple[str, str]]:
    return {task.tid: (task.group, task.cpus) for task in tasks() if task.pid in pids}


@needs_old
def test_tasks_are_moved_and_put_back_with_what_they_have_started(
    sleepers: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    assert OLD is not None
    pids = {process.pid for process in sleepers}

    def others() -> list[Task]:
        return [task for task in tasks() if task.pid in pids]

    before = places(pids)
    with Ledger(tmp_path) as ledger:
        said = move_others(ledger, OLD, str(CPUS[0]), others)
        assert said == f"3 tasks of others moved to CPU {CPUS[0]}"
        assert {cpus for _, cpus in places(pids).values()} == {str(CPUS[0])}
        last = sleepers[-1]
        assert last.stdin is not None
        assert last.stdout is not None
        last.stdin.write("\n")
        last.stdin.flush()
        child = int(last.stdout.readline())
        assert os.sched_getaffinity(child) == {CPUS[0]}
    try:
        assert places(pids) == before
        assert places({child})[child] == before[last.pid]
    finally:
        os.kill(child, signal.SIGKILL)
    assert not list(OLD.glob(f"*{ledger.token}*"))


def test_a_task_that_the_kernel_refuses_for_a_moment_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does with threads that only it may move."""
    moved = MovedTasks(root=tmp_path, group="tiltyard-x-others", origins={})
    moved.path.mkdir()
    own_cpus = ",".join(map(str, CPUS))
    (tmp_path / "cpuset.cpus").write_text(own_cpus)
    members = moved.path / "tasks"
    members.write_text(str(os.getpid()))
    tries = []

    def refused_once(task: int, _: Path) -> None:
        tries.append(task)
        if len(tries) == 1:
            raise OSError(errno.EINVAL, "Invalid argument")
        members.write_text("")

    monkeypatch.setattr(changes, "move", refused_once)
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    assert moved.undo() == "put 1 task back to their CPUs"
    assert tries == [os.getpid()] * 2


@needs_old
def test_a_killed_run_is_put_back(sleepers: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    pids = {process.pid for process in sleepers}
    before = places(pids)
    code = f"""
import os, signal
from pathlib import Path
from tiltyard.host.isolation import _hierarchy, move_others
from tiltyard.host.ledger import Ledger
from tiltyard.host.tasks import tasks
pids = {pids!r}
ledger = Ledger(Path({str(tmp_path)!r}))
of_them = lambda: [task for task in tasks() if task.pid in pids]
move_others(ledger, _hierarchy("cgroup"), "{CPUS[0]}", of_them)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    subprocess.run((sys.executable, "-c", code), check=False, env=environment)
    assert places(pids) != before
    assert recover(tmp_path) == ["an earlier run was killed: put 3 tasks back to their CPUs"]
    assert places(pids) == before


@needs_old
def test_the_whole_host_for_a_moment(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        found = isolate(ledger, (CPUS[-1],))
        mine = os.sched_getaffinity(0)
        first = Path("/proc/1/status").read_text().partition("Cpus_allowed_list:")[2].split()[0]
    assert found.granted
    assert "threads of the kernel may still run there" in found.text
    assert set(parse_cpus(first)).isdisjoint({CPUS[-1]})
    assert mine == set(CPUS)
    assert not [task for task in tasks() if ledger.token in task.group]


def test_one_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation.os, "geteuid", lambda: 0)
    monkeypatch.setattr(isolation.os, "sched_getaffinity", lambda _: {0, 1})
    with Ledger(tmp_path) as first, Ledger(tmp_path) as second:
        first.record(MovedTasks(root=tmp_path, group="tiltyard-x-others", origins={}))
        found = isolate(second, (1,))
    assert found.text == f"another run (process {os.getpid()}) keeps others off CPUs"


def test_what_cannot_be_granted_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(tmp_path) as ledger:
        assert not isolate(ledger, tuple(CPUS)).granted
        monkeypatch.setattr(isolation, "_hierarchy", lambda _: None)
        monkeypatch.setattr(isolation.os, "geteuid", lambda: 0)
        monkeypatch.setattr(isolation.os, "sched_getaffinity", lambda _: {0, 1})
        assert isolate(ledger, (1,)).text == "this kernel has no cpusets (cgroup version 1 or 2)"
        monkeypatch.setattr(isolation.os, "geteuid", lambda: 1000)
        assert isolate(ledger, (1,)).text == "only root can keep others off a CPU"


def test_unasked_it_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither another run, nor what is bound to these CPUs, nor the study, where it fails."""
    free = Task(tid=7, pid=7, parent=1, is_kernel=False, cpus="0-1", group="/")
    bound = [free, replace(free, tid=8, pid=8, cpus="1")]
    monkeypatch.setattr(isolation, "_others", lambda: bound)
    monkeypatch.setattr(isolation.os, "geteuid", lambda: 0)
    monkeypatch.setattr(isolation.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(isolation, "_hierarchy", lambda _: tmp_path / "cgroup")
    with Ledger(tmp_path) as ledger:
        found = isolate_if_harmless(ledger, (1,))
        assert found.text == "tasks of others are bound to just these CPUs (1)"
        bound.pop()
        found = isolate_if_harmless(ledger, (1,))
        assert not found.granted
        assert found.text.startswith("this host does not take it (")
        assert not ledger.outstanding
        with Ledger(tmp_path) as other:
            other.record(MovedTasks(root=tmp_path, group="tiltyard-x-others", origins={}))
            found = isolate_if_harmless(ledger, (1,))
    assert found.text == f"another run (process {os.getpid()}) is under way"


def test_unasked_it_is_for_the_cpus_that_the_systems_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for the last one, which would move the tasks of others to the client's."""
    asked: list[tuple[int, ...]] = []

    def harmless(_: object, cpus: tuple[int, ...]) -> isolation.Isolation:
        asked.append(cpus)
        return isolation.Isolation(False, "no CPU would be left for others")

    monkeypatch.setattr(runner, "isolate_if_harmless", harmless)
    for settings in ({"client_cpus": [0], "server_cpus": [1]}, {"filesystem": "ext4"}):
        plan = SimpleNamespace(
            conditions=SimpleNamespace(isolate="auto", cpus=()),
            systems=[SimpleNamespace(settings=settings)],
            is_elsewhere=False,
        )
        context = SimpleNamespace(plan=plan, ledger=None, journal=[], observer=Mock())
        runner._isolate(context)  # type: ignore[arg-type]
    assert asked == [(0, 1), (max(os.sched_getaffinity(0)),)]


@pytest.fixture
def unified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hierarchy of version 2 in plain files; removing a group there removes its settings."""
    root = tmp_path / "cgroup"
    for name, cpus in {"system.slice": "", "user.slice": "0-3"}.items():
        (root / name).mkdir(parents=True)
        (root / name / "cgroup.procs").write_text("")
        (root / name / "cpuset.cpus").write_text(cpus)
    for name, text in {"cgroup.procs": "", "cgroup.subtree_control": "memory"}.items():
        (root / name).write_text(text)
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    return root


def settings(root: Path) -> dict[str, str]:
    return {path.parent.name: path.read_text().strip() for path in root.glob("*/cpuset.cpus")}


def test_groups_of_version_2_do_without_the_cpu(unified: Path, tmp_path: Path) -> None:
    before = settings(unified)
    with Ledger(tmp_path / "state") as ledger:
        said = restrict_groups(ledger, unified, "0,1,2")
        assert said == "2 groups of others kept to CPU 0,1,2"
        assert settings(unified) == {"system.slice": "0,1,2", "user.slice": "0,1,2"}
        (ours,) = unified.glob("tiltyard-*")
        assert (ours / "cgroup.procs").read_text() == str(os.getpid())
        assert (unified / "cgroup.subtree_control").read_text() == "+cpuset"
    assert settings(unified) == before
    assert not ours.exists()
    assert (unified / "cgroup.subtree_control").read_text() == "-cpuset"


def test_what_somebody_else_has_set_since_is_left(unified: Path, tmp_path: Path) -> None:
    with Ledger(tmp_path / "state") as ledger:
        restrict_groups(ledger, unified, "0,1,2")
        (unified / "user.slice/cpuset.cpus").write_text("2")
    assert settings(unified) == {"system.slice": "", "user.slice": "2"}


def test_undoing_what_was_never_done_does_nothing(tmp_path: Path) -> None:
    moved = MovedTasks(root=tmp_path, group="tiltyard-x-others", origins={})
    restricted = RestrictedGroups(
        root=tmp_path, group="tiltyard-x-measuring", home="/", handed_down=True, before={}, rest="0"
    )
    assert moved.undo() is None
    assert restricted.undo() is None


@needs_old
def test_a_study_that_says_nothing_of_it_has_it_where_nobody_is_harmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is bound to that CPU for the sake of other tests is left out of account."""
    found = isolation._others
    last = str(CPUS[-1])
    monkeypatch.setattr(
        isolation, "_others", lambda: [task for task in found() if task.cpus != last]
    )
    plan = plan_of((directory_system("a", tmp_path / "a"),), blocks=1)
    conditions = plan.conditions.model_copy(update={"isolate": "auto"})
    plan = plan.model_copy(update={"conditions": conditions})
    folder = place(tmp_path / "study", plan)
    first = Path("/proc/1/status")
    during = []

    class Looking(Watcher):
        def trial_started(self, key: TrialKey, slot: int, outlook: Outlook) -> None:
            during.append(first.read_text().partition("Cpus_allowed_list:")[2].split()[0])

    run_study(folder, plan, Engine.find(), go_on, Looking())
    note = read_run(folder, plan).isolation
    assert note is not None
    assert (note.granted, note.unasked) == (True, (CPUS[-1],)), note.text
    assert [CPUS[-1] in parse_cpus(cpus) for cpus in during] == [False]
