"""What measures has CPUs for itself, on a kernel with control groups of version 2 and two CPUs.

Nothing is written of a task of others: the kernel keeps them off, and lets them back.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.hosts import needs_root
from support.patience import wait_until
from support.runs import Watcher, go_on, place, plan_of
from support.second_host import ENGINE, PYTHON_PATH, SecondHost, second_host
from tiltyard.executors.engine import Engine
from tiltyard.host.isolation import isolate
from tiltyard.host.ledger import Ledger, restore
from tiltyard.host.place import Place
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec

pytestmark = needs_root

SCRIPT = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
from tiltyard.errors import BusyError
from tiltyard.host.host import here, hosts
from tiltyard.host.isolation import isolate
from tiltyard.host.ledger import Ledger, recover, restore

def switch(state):
    "From now on ledgers are there."
    os.environ["TILTYARD_STATE"] = str(state)
    hosts.close()

ROOT, GROUP = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/tiltyard")
CONTROL = ROOT / "cgroup.subtree_control"
STATE = [Path("/run/state", name) for name in "abc"]
switch(STATE[0])
told = []

def tasks():
    "Where each may run now."
    found = {}
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        try:
            found[int(task.name)] = os.sched_getaffinity(int(task.name))
        except ProcessLookupError:
            pass
    return found

def others():
    "Those that are there all the time; threads of the kernel come and go."
    return {tid: cpus for tid, cpus in tasks().items() if tid in LASTING}

AGENT = here().pid
LINES = Path("/proc").glob("[0-9]*/cmdline")
COMMANDS = {int(line.parent.name): line.read_text() for line in LINES}
LASTING = {tid for tid in tasks() if COMMANDS.get(tid)} - {os.getpid(), AGENT}
BEFORE = others(), CONTROL.read_text()

def differs():
    "What is not as it was."
    allowed, control = BEFORE
    found = [tid for tid, cpus in others().items() if cpus != allowed[tid]]
    found += [text for text in [CONTROL.read_text()] if text != control]
    return found + [str(path) for path in [GROUP] if path.exists()]

def attempt(ledger, cpus=(1,)):
    try:
        found = isolate(ledger, cpus, told.append)
        return [found.granted, found.text, found.command]
    except BusyError as error:
        return str(error)

said = {}
with Ledger() as first, Ledger() as second:
    said["granted"] = attempt(first)
    kept = others()
    said["off"] = [tid for tid, cpus in kept.items() if 1 in cpus]
    argv = (*said["granted"][2], "grep", "Cpus_allowed_list", "/proc/self/status")
    said["measures on"] = subprocess.run(argv, capture_output=True, text=True).stdout
    said["second"] = attempt(second)
said["after"] = differs()

said["often"] = []
for _ in range(20):
    with Ledger() as again:
        isolate(again, (1,))
    said["often"] += differs()

# The kernel gives the CPUs of a group that is removed back some time later.
wait = "until taskset -c 1 true 2>/dev/null; do sleep 0.1; done;"
line = f"{wait} taskset -c 1 setsid sleep 600 >/dev/null & echo $!"
stranger = int(subprocess.check_output(("sh", "-c", line)))
while os.sched_getaffinity(stranger) != {1}:
    time.sleep(0.05)
with Ledger() as ledger:
    said["stranger"] = stranger
    said["bound"] = attempt(ledger)
    said["all"] = attempt(ledger, (0, 1))
os.kill(stranger, signal.SIGKILL)

def killed(*agents):
    "A run that has the CPU and is killed, perhaps with its agent."
    switch(STATE[0])
    if (child := os.fork()) == 0:
        attempt(Ledger())
        for agent in agents:
            os.kill(agent().pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    while not agents and GROUP.exists():
        time.sleep(0.05)
    said["left"].append(GROUP.exists())

said["left"], said["next"], said["told"] = [], [], []
for agents in ((), (here,)):
    killed(*agents)
    switch(STATE[1])
    with Ledger() as ledger:
        said["next"].append(attempt(ledger)[0])
    said["next"] += differs()
    said["told"].append(told.copy())
    told.clear()
    said["nothing left"] = []
    for state in STATE:
        switch(state)
        said["nothing left"] += [*restore().done, *restore().left]
killed(here)
said["recovered"] = [recover(), differs()]

(GROUP / "inside").mkdir(parents=True)
with Ledger() as ledger:
    said["of a container"] = attempt(ledger)
said["still theirs"] = (GROUP / "inside").exists()
(GROUP / "inside").rmdir(), GROUP.rmdir()

CONTROL.write_text("+cpuset")
other = ROOT / "other"
other.mkdir()
(other / "cpuset.cpus").write_text("1")
(other / "cpuset.cpus.partition").write_text("root")
with Ledger() as ledger:
    said["refused"] = attempt(ledger)
    said["refused and gone"] = not GROUP.exists()
said["theirs"] = (other / "cpuset.cpus.partition").read_text()
said["handed down"] = "cpuset" in CONTROL.read_text()
(other / "cpuset.cpus.partition").write_text("member")
other.rmdir(), CONTROL.write_text("-cpuset")
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def host() -> Iterator[SecondHost]:
    """A host with two CPUs, and control groups of version 2."""
    with second_host(cpus=2) as host:
        host.ask("mount -t cgroup2 cgroup2 /sys/fs/cgroup")
        yield host


@pytest.fixture(scope="module")
def said(host: SecondHost) -> dict[str, Any]:
    """What became of one attempt after another."""
    known = f"PYTHONPATH={PYTHON_PATH} TILTYARD_ENGINE={ENGINE}"
    run = f"{known} python3 - <<'END'\n{SCRIPT}\nEND\n"
    return dict(json.loads(host.ask(run)))


def test_others_are_kept_off_while_what_measures_has_the_cpu(said: dict[str, Any]) -> None:
    granted, text, _ = said["granted"]
    assert granted, text
    assert text.startswith("CPU 1 for what measures alone; ")
    assert said["off"] == []
    assert said["measures on"].split() == ["Cpus_allowed_list:", "1"]
    assert said["after"] == []


def test_cpus_are_back_with_others_when_they_are_said_to_be(said: dict[str, Any]) -> None:
    """Of a partition that is only removed, the kernel gives them back some time later."""
    assert said["often"] == []


def test_the_second_run_is_told_who_has_it(said: dict[str, Any]) -> None:
    assert said["second"].startswith("CPU 1 is taken by another run (process ")
    assert "/run/state/a)" in said["second"]


def test_what_somebody_has_bound_to_the_cpu_is_left_there(said: dict[str, Any]) -> None:
    granted, text, _ = said["bound"]
    assert not granted
    assert text == f"1 task of others bound to CPUs among these ({said['stranger']})"
    assert said["all"][:2] == [False, "no CPU would be left for others"]


def test_what_a_killed_run_left_is_put_back_by_the_next_one(said: dict[str, Any]) -> None:
    """Where its agent was killed, too; else that has done it. A recovery does it as well."""
    assert said["left"] == [False, True, True]
    assert said["next"] == [True, True]
    nothing, (line,) = said["told"]
    assert nothing == []
    assert "gave the CPUs of /sys/fs/cgroup/tiltyard back" in line
    assert said["nothing left"] == []
    (line,), differs = said["recovered"]
    assert "gave the CPUs of /sys/fs/cgroup/tiltyard back" in line
    assert differs == []


def test_a_group_that_another_one_made_is_never_removed(said: dict[str, Any]) -> None:
    assert said["of a container"].startswith("/sys/fs/cgroup/tiltyard is taken by another run")
    assert said["still theirs"]


def test_what_somebody_has_alone_stays_with_him(said: dict[str, Any]) -> None:
    """To ask the kernel for it would make his partition invalid, for good."""
    granted, text, _ = said["refused"]
    assert not granted
    assert text.startswith("others have only CPU 0: ")
    assert said["refused and gone"]
    assert said["theirs"].strip() == "root"
    assert said["handed down"], "somebody else has begun to use it"


def is_taken(host: SecondHost) -> bool:
    return "tiltyard" in host.ask("ls /sys/fs/cgroup")


def test_a_run_has_the_cpu_of_another_host_to_its_end(host: SecondHost, tmp_path: Path) -> None:
    """For two systems there it is asked for once."""
    far = {"host": host.far, "ssh_options": host.options}
    systems = tuple(
        SystemSpec(name=size, levels={"size": size}, kind="tmpfs", settings={"size": size, **far})
        for size in ("8M", "9M")
    )
    plan = plan_of(systems, blocks=1)
    conditions = plan.conditions.model_copy(update={"cpus": (1,), "isolate": True})
    plan = plan.model_copy(update={"conditions": conditions})
    folder = place(tmp_path / "study", plan)
    seen = list[bool]()

    class Looking(Watcher):
        def trial_started(self, *_: object) -> None:
            seen.append(is_taken(host))

    run_study(folder, plan, Engine.find(), go_on, Looking())
    record = read_run(folder, plan)
    assert [(trial.outcome, trial.reason) for trial in record.trials] == [("done", None)] * 2
    assert seen == [True, True]
    for prepared in record.prepared:
        fact = prepared.facts["isolation"]
        assert fact.startswith("others are kept off CPU 1: CPU 1 for what measures alone; "), fact
    for trial in record.trials:
        assert trial.hello is not None
        assert trial.hello.conditions.cpus == [1]
    assert not is_taken(host)


@pytest.mark.parametrize("who", ["lab", "agent"])
def test_whoever_is_killed_another_host_gets_its_cpus_back(
    host: SecondHost, tmp_path: Path, who: str
) -> None:
    """By its agent, which loses its input; where that was killed, by the next one there."""
    there = Place(host.address)
    reads, writes = os.pipe()
    if (child := os.fork()) == 0:
        found = isolate(Ledger(), (1,), place=there)
        os.write(writes, found.text.encode())
        if who == "agent":
            host.ask(f"kill -9 {there.host.engine.split('/')[2]}")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        assert pipe.read().startswith("CPU 1 for what measures alone; ")
    if who == "agent":
        assert is_taken(host)
        restore(there)
    wait_until(lambda: not is_taken(host), "the CPU is not given back")
