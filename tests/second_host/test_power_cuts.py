"""The power of another host is cut: a guest with its own kernel and disk, which loses what it had
not synced."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from support.hosts import needs_root
from support.kills import ledgers_in
from support.patience import PATIENCE_S, wait_until
from support.runs import Watcher, directory_system, go_on, image_system, place, plan_of
from support.second_host import DISK, HOME, STATE, SecondHost, second_host
from tiltyard.errors import TrialsFailedError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import restore
from tiltyard.host.place import Place
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.journal import TrialFinished, read_journal
from tiltyard.run.observer import Outlook
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec

pytestmark = needs_root

DIRECTORY = DISK / "given"
KNOB = "vm.vfs_cache_pressure"
WORK = WorkloadSpec(
    name="work",
    use="iozone",
    parameters={"file": ["1M", "2M", "4M"], "record": ["4k", "64k"], "tests": ["write"]},
)
"""Brief here, and long enough on an emulated processor to be cut in the middle."""


@pytest.fixture(scope="module")
def booted() -> Iterator[SecondHost]:
    """One for all tests: emulated, it takes seconds to boot."""
    with second_host() as host:
        host.ask(f"mkdir {DIRECTORY}; sync")
        yield host


@pytest.fixture
def host(booted: SecondHost) -> Iterator[SecondHost]:
    """Afterwards it has power, and nothing of ours is left there."""
    if not booted.has_power:
        booted.boot()
    yield booted
    assert booted.has_power
    assert left_there(booted) == ""


def left_there(host: SecondHost) -> str:
    """What is in directories that Tiltyard uses, behind loop devices, running, and set."""
    look = f"find {HOME} {DIRECTORY} {STATE} -mindepth 1; losetup -a; pgrep -x tiltyard-engine"
    return host.ask(f"{look}; sysctl {KNOB} | grep -v ' = 100$'; true")


def there(host: SecondHost, name: str = "there") -> SystemSpec:
    """A directory of the guest's disk."""
    settings = {"host": host.far, "ssh_options": host.options, "directory": str(DIRECTORY)}
    return SystemSpec.model_validate(
        {"name": name, "levels": {"where": name}, "kind": "remote", "settings": settings}
    )


def outcomes(folder: StudyFolder, plan: Plan) -> dict[tuple[int, str], str | None]:
    """(block, system) → why its trial failed, if it did; no trial is there twice."""
    entries = [entry.event for entry in read_journal(folder.journal)]
    keys = [event.key for event in entries if isinstance(event, TrialFinished)]
    assert len(keys) == len(set(keys))
    trials = read_run(folder, plan).trials
    assert [trial.key for trial in trials] == keys
    assert all(trial.samples for trial in trials if trial.outcome == "done")
    return {(trial.key.block, trial.key.system): trial.reason for trial in trials}


class _Cutting(Watcher):
    """Cuts the power in the middle of the first trial there, and boots before a block."""

    def __init__(self, host: SecondHost, *, silent: bool, boots_before: int = 0) -> None:
        super().__init__()
        self._host, self._silent, self._boots_before = host, silent, boots_before
        self._here = True
        self.cuts = 0

    def block_started(self, block: int, of: int) -> None:
        super().block_started(block, of)
        if block == self._boots_before:
            self._host.boot()

    def trial_started(self, key: TrialKey, slot: int, outlook: Outlook) -> None:
        super().trial_started(key, slot, outlook)
        self._here = key.system == "here"

    def progress(self, fraction: float, what: str) -> None:
        super().progress(fraction, what)
        if not self._here and not self.cuts:
            self._host.cut_power(silent=self._silent)
            self.cuts += 1


def _require_a_study_goes_on(tmp_path: Path, host: SecondHost, *, silent: bool) -> None:
    plan = plan_of((there(host), directory_system("here", tmp_path / "here")),
                   workloads=(WORK,), blocks=3)  # fmt: skip
    folder = place(tmp_path / "study", plan)
    watcher = _Cutting(host, silent=silent, boots_before=3)
    run_study(folder, plan, Engine.find(), go_on, watcher)
    assert watcher.cuts == 1
    why = outcomes(folder, plan)
    assert [key for key in sorted(why) if why[key]] == [(1, "there"), (2, "there")]
    assert f"lost the connection to {host.far}: " in str(why[1, "there"])
    assert f"there did not come up: cannot reach {host.far}: " in str(why[2, "there"])
    assert [note for note in watcher.told if "that is tried again" in note]


def test_a_study_goes_on_while_a_host_has_no_power(tmp_path: Path, host: SecondHost) -> None:
    """Elsewhere, and there when it has booted; what the cut has left there is removed then."""
    _require_a_study_goes_on(tmp_path, host, silent=False)


@pytest.mark.conformance
def test_a_study_goes_on_after_a_host_fell_silent(tmp_path: Path, host: SecondHost) -> None:
    _require_a_study_goes_on(tmp_path, host, silent=True)


def test_the_same_command_goes_on_after_a_cut_during_bring_up(
    tmp_path: Path, host: SecondHost, state: Path
) -> None:
    """As a run that was not cut: nothing of the turn is written down as a result."""
    plan = plan_of((image_there(host), image_there(host, "ext2")), workloads=(WORK,), blocks=1)
    folder = place(tmp_path / "study", plan)

    def cut() -> None:
        last = host.disk.synced + 1
        wait_until(lambda: host.disk.synced >= last, "no change there")
        host.cut_power(silent=False)

    cutting = threading.Thread(target=cut)
    cutting.start()
    watcher = Watcher()
    with pytest.raises(TrialsFailedError, match=r"no system came up: ext. did not come up: "):
        run_study(folder, plan, Engine.find(), go_on, watcher)
    cutting.join()
    assert outcomes(folder, plan) == {}
    assert [note for note in watcher.told if "is left there. Fix: tiltyard restore" in note]
    host.boot()
    assert not restore(Place(host.address)).left
    assert not [*state.iterdir()]
    run_study(folder, plan, Engine.find(), go_on, watcher)
    assert outcomes(folder, plan) == {(1, "ext4"): None, (1, "ext2"): None}


LINES = 11
"""Of the guest's ledger, as many as a turn has: its changes, and each that is undone."""
PAUSE_S = 2.0
"""About as long as one of them takes, or a trial, on an emulated processor."""
TUNING = f"""
about = "one setting"
[sysctl]
{KNOB} = 77
"""


def image_there(host: SecondHost, filesystem: str = "ext4", **more: object) -> SystemSpec:
    """A file system on an image that is made there."""
    return image_system(filesystem, "16M", host=host.far, ssh_options=host.options, **more)


def _cut_after(
    process: "subprocess.Popen[bytes]", host: SecondHost, lines: int, moments: Random
) -> None:
    """Cut the power when the guest has synced so many lines of its ledger, and soon after."""
    last, writes = host.disk.synced + lines, host.disk.writes

    def is_time() -> bool:
        assert process.poll() is None, "the study ended before the power was cut"
        return host.disk.synced >= last and host.disk.writes > writes

    wait_until(is_time, "nothing is changed there", pause_s=0.001)
    time.sleep(moments.uniform(0, PAUSE_S))
    host.cut_power(silent=False)


def _on_disk(host: SecondHost, scratch: Path) -> str:
    """The last change that the ledger of the guest's agent tells of: where the cut was."""
    (copy := scratch / "copy").mkdir(exist_ok=True)
    (copy / "1.ops").write_text(host.ask(f"cat {STATE}/*.ops 2>/dev/null || true"))
    return [*ledgers_in(copy).kinds, "nothing"][-2:][0]


@pytest.mark.parametrize(
    ("seed", "cuts"),
    [(1, 2), *(pytest.param(n, 4, marks=pytest.mark.conformance) for n in range(2, 17))],
)
def test_cuts_at_any_moment_of_a_turn(
    tmp_path: Path, host: SecondHost, state: Path, seed: int, cuts: int
) -> None:
    """The copy, mkfs, mount, tuning, trials, the way down: each cut in another part of a turn."""
    tuned = image_there(host, tuning=["./one.toml"])
    plan = plan_of((tuned,), workloads=(WORK,), blocks=cuts + 1)
    folder = place(tmp_path / "study", plan)
    (folder.root / "one.toml").write_text(TUNING)
    moments = Random(seed)
    parts = moments.sample(range(cuts), cuts)
    while True:
        argv = (sys.executable, "-m", "support.runs", str(folder.root))
        tests = Path(__file__).resolve().parents[1]
        with subprocess.Popen(argv, cwd=tests, stderr=subprocess.PIPE) as process:
            if not parts:
                _, said = process.communicate(timeout=PATIENCE_S)
                assert process.returncode == 0, said
                break
            share = (parts.pop() + moments.random()) / cuts
            _cut_after(process, host, round(LINES * share), moments)
            process.communicate(timeout=PATIENCE_S)
        is_done = process.returncode == 0
        if is_done:
            # The cut was in the last turn: the next start has nothing to do there.
            parts.clear()
        host.boot()
        sys.stderr.write(f"cut after: {_on_disk(host, tmp_path)}\n")
        if is_done or len(parts) % 2:
            # A person asks for it, as it was told; else the next start of the study does it.
            assert not restore(Place(host.address)).left
            assert left_there(host) == ""
    why = outcomes(folder, plan)
    assert [*why] == [(block.number, "ext4") for block in plan.blocks]
    failed = [reason for reason in why.values() if reason]
    assert len(failed) <= cuts
    far = re.escape(str(host.far))
    gone = f"the agent on {far} that has prepared it has ended"
    way = re.compile(rf"{gone}$|({gone}: )?(lost the connection to|cannot reach) {far}: ")
    assert all(map(way.match, failed)), failed
    assert not [*state.iterdir()]
