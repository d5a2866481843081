"""What measures has CPUs for itself, on a kernel with control groups of version 2 and two CPUs.

Nothing is written of a task of others: the kernel keeps them off, and lets them back.
"""

import json
from typing import Any

import pytest

from support.hosts import needs_root
from support.second_host import ENGINE, LAB, LIBRARIES, second_host

pytestmark = needs_root

SCRIPT = """
import json, os, signal, subprocess, sys
from pathlib import Path
from tiltyard.errors import BusyError
from tiltyard.host.isolation import isolate
from tiltyard.host.ledger import Ledger, restore
from tiltyard.host.tasks import tasks

ROOT, GROUP = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/tiltyard")
CONTROL = ROOT / "cgroup.subtree_control"
STATE = [Path("/run/state", name) for name in "abc"]
told = []

def others():
    "Where those may run who are there all the time; threads of the kernel come and go."
    return {t.tid: t.cpus for t in tasks() if not t.is_kernel and t.tid in LASTING}

LASTING = {t.tid for t in tasks()} - {os.getpid()}
BEFORE = others(), CONTROL.read_text()

def differs():
    "What is not as it was."
    allowed, control = BEFORE
    found = [(tid, allowed[tid], cpus) for tid, cpus in others().items() if cpus != allowed[tid]]
    found += [text for text in [CONTROL.read_text()] if text != control]
    return found + [str(path) for path in [GROUP] if path.exists()]

def attempt(ledger, cpus=(1,)):
    try:
        found = isolate(ledger, cpus, told.append)
        return [found.granted, found.text, found.command]
    except BusyError as error:
        return str(error)

said = {}
with Ledger(STATE[0]) as first, Ledger(STATE[1]) as second:
    said["granted"] = attempt(first)
    kept = others()
    said["off"] = [cpus for tid, cpus in kept.items() if "1" in cpus]
    argv = (*said["granted"][2], "grep", "Cpus_allowed_list", "/proc/self/status")
    said["measures on"] = subprocess.run(argv, capture_output=True, text=True).stdout
    said["second"] = attempt(second)
said["after"] = differs()

said["often"] = []
for _ in range(20):
    with Ledger(STATE[0]) as again:
        isolate(again, (1,))
    said["often"] += differs()

line = "taskset -c 1 setsid sleep 600 >/dev/null & echo $!"
stranger = int(subprocess.check_output(("sh", "-c", line)))
with Ledger(STATE[0]) as ledger:
    said["stranger"] = stranger
    said["bound"] = attempt(ledger)
    said["all"] = attempt(ledger, (0, 1))
os.kill(stranger, signal.SIGKILL)

if (child := os.fork()) == 0:
    attempt(Ledger(STATE[0]))
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
said["left"] = GROUP.exists()
with Ledger(STATE[1]) as ledger:
    said["next"] = attempt(ledger)[0]
said["told"] = told
said["after the next"] = differs()
said["nothing left"] = restore(STATE[0]) == restore(STATE[2])

(GROUP / "inside").mkdir(parents=True)
with Ledger(STATE[0]) as ledger:
    said["of a container"] = attempt(ledger)
said["still theirs"] = (GROUP / "inside").exists()
(GROUP / "inside").rmdir(), GROUP.rmdir()

CONTROL.write_text("+cpuset")
other = ROOT / "other"
other.mkdir()
(other / "cpuset.cpus").write_text("1")
(other / "cpuset.cpus.partition").write_text("root")
with Ledger(STATE[0]) as ledger:
    said["refused"] = attempt(ledger)
    said["refused and gone"] = not GROUP.exists()
said["theirs"] = (other / "cpuset.cpus.partition").read_text()
said["handed down"] = "cpuset" in CONTROL.read_text()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """What became of one attempt after another."""
    with second_host(cpus=2) as host:
        host.ask("mount -t cgroup2 cgroup2 /sys/fs/cgroup")
        known = f"PYTHONPATH={LAB}:{LIBRARIES} TILTYARD_ENGINE={ENGINE}"
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
    assert "/run/state/a/" in said["second"]


def test_what_somebody_has_bound_to_the_cpu_is_left_there(said: dict[str, Any]) -> None:
    granted, text, _ = said["bound"]
    assert not granted
    assert text == f"1 task of others bound to CPUs among these ({said['stranger']})"
    assert said["all"][:2] == [False, "no CPU would be left for others"]


def test_what_a_killed_run_left_is_put_back_by_the_next_one(said: dict[str, Any]) -> None:
    assert said["left"]
    assert said["next"]
    (told,) = said["told"]
    assert "gave the CPUs of /sys/fs/cgroup/tiltyard back" in told
    assert said["after the next"] == []
    assert said["nothing left"]


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
