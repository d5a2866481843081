"""Two runs at once, both killed at any moment, ``tiltyard restore``: the host is as it was before.

One fills and mounts file systems on a loop device with queue settings and a limited bandwidth, and
tunes the host for one of them; the other makes network namespaces and sets kernel parameters of
the whole host. Afterwards the same commands again carry both studies to their ends.
"""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.killed import TUNING
from support.kills import holds, kill_when
from support.looks import chosen
from support.patience import PATIENCE_S
from support.runs import SMOKE, image_system, place, plan_of
from support.snapshots import assert_same, processes_of, snapshot
from tiltyard.folder import StudyFolder
from tiltyard.host.devices import loops, throttles
from tiltyard.plan.model import Plan
from tiltyard.run.read import read_run
from tiltyard.study.model import SystemSpec, WorkloadSpec

EXCHANGE = WorkloadSpec(name="exchange", use="tcp_rr", parameters={"seconds": 0.1})
CHANGES = {
    "volumes": ("put", "attached", "set", "mounted"),
    "networks": ("network", "set", "started"),
}
"""Of the host, by the run that makes them: in each round each run is killed while one is made."""
PARAMETERS = {"net.core.netdev_max_backlog": 4321, "net.core.somaxconn": 999}


def volumes(blocks: int) -> Plan:
    """File systems that are made, filled and mounted; the device and the host are tuned."""
    limit = {} if throttles.missing() else {"bandwidth": "400M"}
    queue = {"scheduler": "mq-deadline", "read_ahead": "256k", **limit}
    systems = (
        image_system("ext2", "16M", **queue, tuning=["kills.toml"]),
        image_system("ext4", "16M", **queue, state={"filled": "50%"}),
    )
    return plan_of(systems, workloads=(SMOKE,), blocks=blocks)


def networks(blocks: int) -> Plan:
    """Two pairs of namespaces; one has parameters of the host set for its turns."""
    settings = {"plain": {}, "tuned": {"sysctl": PARAMETERS, "congestion_control": "cubic"}}
    systems = tuple(
        SystemSpec.model_validate(
            {"name": name, "levels": {"sysctl": name}, "kind": "pair", "settings": each}
        )
        for name, each in settings.items()
    )
    return plan_of(systems, workloads=(EXCHANGE,), blocks=blocks)


def start(folder: StudyFolder) -> subprocess.Popen[bytes]:
    """The command that carries a study on, with children as it has them."""
    return subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
        stderr=subprocess.DEVNULL,
    )


def restore() -> list[str]:
    """``tiltyard restore``, as a person calls it; it must have put all back."""
    call = "from tiltyard.cli import main; main()"
    done = subprocess.run(
        (sys.executable, "-c", call, "restore"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if line != "Nothing to restore."]


def assert_queues_as_before(before: dict[str, str]) -> None:
    """Of the loop devices that the runs had, and that nobody else has taken meanwhile."""
    for file, value in before.items():
        if loops.backing_file(str(Path(file).parents[1])) is None:
            assert chosen(Path(file)) == value


def kill_and_restore(tmp_path: Path, state: Path, rounds: int, *, alone: bool) -> None:
    """Kill both runs in each round; see the module's text."""
    # A round has time for a few turns; there must be some left for the last one.
    blocks = rounds + 8
    plans = {"volumes": volumes(blocks), "networks": networks(blocks)}
    folders = {name: place(tmp_path / name, plan) for name, plan in plans.items()}
    (folders["volumes"].root / "kills.toml").write_text(TUNING)
    before = snapshot(tmp_path, state, alone=alone)
    moments = random.Random(4711)
    killed_with: Counter[str] = Counter()
    for number in range(rounds):
        runs = {name: start(folder) for name, folder in folders.items()}
        kinds = {name: kinds[number % len(kinds)] for name, kinds in CHANGES.items()}
        told = kill_when({run: holds(kinds[name]) for name, run in runs.items()}, state, moments)
        killed_with.update(told.kinds)
        processes_of(state)  # waits for the agents that were not killed with them
        said = restore()
        assert all(line.startswith("an earlier run was killed: ") for line in said), said
        assert_queues_as_before(told.before)
        assert_same(before, snapshot(tmp_path, state, alone=alone))
    assert {kind for kinds in CHANGES.values() for kind in kinds} <= set(killed_with)
    for run in [start(folder) for folder in folders.values()]:
        with run:
            assert run.wait(PATIENCE_S) == 0
    for name, folder in folders.items():
        trials = read_run(folder, plans[name]).trials
        assert Counter(trial.outcome for trial in trials) == {"done": 2 * blocks}
    assert_same(before, snapshot(tmp_path, state, alone=alone))
    assert processes_of(state) == []


@needs_root
def test_killed_twenty_times(tmp_path: Path, state: Path) -> None:
    kill_and_restore(tmp_path, state, 10, alone=False)


@needs_root
@pytest.mark.conformance
def test_killed_a_hundred_times(tmp_path: Path, state: Path) -> None:
    kill_and_restore(tmp_path, state, 50, alone=True)
