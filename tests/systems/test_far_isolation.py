"""Isolation on another host, here a real ssh to this one: the agent there is asked for it."""

import os
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher, go_on, image_system, place, plan_of
from support.sshd import sshd
from tiltyard.executors.engine import Engine
from tiltyard.host.isolation import hindrance
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

CPUS = sorted(os.sched_getaffinity(0))

pytestmark = [
    needs_root,
    pytest.mark.skipif("version 1" not in hindrance((CPUS[-1],)), reason="no cpusets of version 1"),
]


class _Looking(Watcher):
    """Looks, when a trial begins, where the first process of the host may run."""

    def __init__(self) -> None:
        super().__init__()
        self.first: list[set[int]] = []

    def trial_started(self, *_: object) -> None:
        self.first.append(os.sched_getaffinity(1))


@pytest.mark.parametrize("isolate", [True, False])
def test_what_came_of_it_there_is_a_fact_and_nobody_is_moved(
    tmp_path: Path, *, isolate: bool
) -> None:
    cpu = CPUS[-1]
    before = [os.sched_getaffinity(1)]
    with sshd(tmp_path / "server", state=tmp_path / "state") as server:
        system = image_system("ext4", "16M", host=server.far, ssh_options=server.options)
        plan = plan_of((system,), blocks=1)
        conditions = plan.conditions.model_copy(update={"cpus": (cpu,), "isolate": isolate})
        plan = plan.model_copy(update={"conditions": conditions})
        folder, looking = place(tmp_path / "study", plan), _Looking()
        run_study(folder, plan, Engine.find(), go_on, looking)
    record = read_run(folder, plan)
    (trial,), (prepared,) = record.trials, record.prepared
    assert (trial.outcome, trial.reason) == ("done", None)
    assert trial.hello is not None
    assert trial.hello.conditions.cpus == [cpu]
    assert looking.first == before
    fact = prepared.facts.get("isolation", "")
    assert fact.startswith(f"others are not kept off CPU {cpu}: with control groups") == isolate
    assert record.isolation is None, "nothing is done here"
