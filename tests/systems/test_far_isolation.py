"""Others are kept off the CPUs that measure on another host: here, a real ssh to this one."""

import os
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher, go_on, image_system, place, plan_of
from support.sshd import sshd
from tiltyard.executors.engine import Engine
from tiltyard.host.isolation import _hierarchy
from tiltyard.host.tasks import parse_cpus
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study

OLD = _hierarchy("cgroup")
CPUS = sorted(os.sched_getaffinity(0))

pytestmark = [
    needs_root,
    pytest.mark.skipif(OLD is None or len(CPUS) < 2, reason="no cpusets of version 1, or one CPU"),
]


class _Looking(Watcher):
    """Looks, when a trial begins, where the first process of the host may run."""

    def __init__(self) -> None:
        super().__init__()
        self.first: list[set[int]] = []

    def trial_started(self, *_: object) -> None:
        listed = Path("/proc/1/status").read_text().partition("Cpus_allowed_list:")[2].split()[0]
        self.first.append(set(parse_cpus(listed)))


# For some seconds whatever else runs here has a CPU less: other tests would pin themselves to it.
@pytest.mark.parametrize("isolate", [pytest.param(True, marks=pytest.mark.conformance), False])
def test_the_engine_has_the_cpu_that_others_are_kept_off(tmp_path: Path, *, isolate: bool) -> None:
    cpu = CPUS[-1]
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
    assert trial.hello.conditions.cpus == [cpu], "it measures there, though it came by ssh"
    assert [cpu in first for first in looking.first] == [not isolate]
    fact = prepared.facts.get("isolation", "")
    assert fact.startswith(f"others are kept off CPU {cpu}: ") == isolate
    assert record.isolation is None, "nothing is done here"
    assert OLD is not None
    assert not list(OLD.glob("tiltyard-*-others"))
