"""What carries a study out on another host is killed, each part at any moment of a turn.

The other host is this kernel behind a real sshd, so that a kill takes seconds, and what is left can
be looked at from here. Moments are counted in lines of the ledger there, as those of the power cuts
are (:mod:`test_power_cuts`).
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Self

import pytest

from support.hosts import needs_root
from support.kills import ledgers_in
from support.looks import read_small
from support.patience import PATIENCE_S, wait_until
from support.runs import directory_system, image_system, place, plan_of
from support.snapshots import assert_same, processes_of, snapshot
from support.sshd import Sshd, children_of, sshd
from tiltyard.executors.engine import NAME
from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import restore
from tiltyard.host.place import HERE, Place
from tiltyard.host.processes import named
from tiltyard.run.journal import TrialFinished, read_journal
from tiltyard.run.read import read_run
from tiltyard.study.model import WorkloadSpec

pytestmark = needs_root

KINDS = ("lab", "ssh", "runner", "agent")
"""The command, a connection of it, and what is behind them on the other host."""
LINES = 11
"""Of the ledger there, as many as a turn has, and the first one of a start some more."""
SOON_S = 0.5
"""Within which a kill follows a line: what comes next, a trial perhaps, is then under way."""
KNOB = "vm.vfs_cache_pressure"
TUNING = f"""
about = "one setting"
[sysctl]
{KNOB} = 77
"""
WORK = WorkloadSpec(
    name="work",
    use="iozone",
    parameters={"file": ["8M", "16M"], "record": ["4k", "64k"], "tests": ["write"]},
)


class Run:
    """A study that a command carries out, and its parts; a context, which ends the command."""

    def __init__(self, folder: StudyFolder, server: Sshd, far_state: Path) -> None:
        self._folder, self._server, self._far_state = folder, server, far_state
        self._told = self._lines = 0
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lab.kill()
        self._lab.wait()
        restore()

    def start(self) -> None:
        """Begin, or go on."""
        argv = (sys.executable, "-m", "support.runs", str(self._folder.root))
        tests = Path(__file__).resolve().parents[1]
        with self._said.open("wb") as said:
            self._lab = subprocess.Popen(argv, cwd=tests, stderr=said)

    @property
    def _said(self) -> Path:
        return self._folder.root.with_name("said")

    def await_end(self) -> int:
        """The exit status."""
        return self._lab.wait(PATIENCE_S)

    def require_done(self) -> None:
        """It has carried all out."""
        assert self.await_end() == 0, self._said.read_text()

    def lines(self) -> int:
        """How many have been added to the ledgers there so far; whole ledgers are removed."""
        before = self._told
        self._told = sum(map(_count, self._far_state.iterdir())) if self._far_state.exists() else 0
        self._lines += max(0, self._told - before)
        return self._lines

    def has_told(self, lines: int) -> bool:
        """Whether the ledgers there have got so many."""
        self._require_under_way()
        return self.lines() >= lines

    def _require_under_way(self) -> None:
        assert self._lab.poll() is None, self._said.read_text() or "the study has ended"

    def _parts(self, kind: str) -> list[int]:
        """The processes that are there now."""
        if kind == "lab":
            return [self._lab.pid]
        if kind == "ssh":
            return [pid for pid in named(("ssh",)) if pid in children_of(self._lab.pid)]
        there = self._server.processes()
        if kind == "runner":
            return [pid for pid in there if _name(pid) == NAME[:15]]
        return [pid for pid in there if _name(pid) == "tiltyard-agent"]

    def kill(self, kind: str, moments: Random) -> bool:
        """Whether one was there to be killed."""
        self._require_under_way()
        for pid in moments.sample(found := self._parts(kind), len(found)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return True
        return False


def _count(ledger: Path) -> int:
    try:
        return ledger.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def _name(pid: int) -> str:
    return (read_small(f"/proc/{pid}/comm") or "").rstrip("\n")


@pytest.fixture
def far_state(tmp_path: Path) -> Path:
    """The directory of ledgers of the other host."""
    return tmp_path / "far" / "state"


@pytest.fixture
def server(tmp_path: Path, far_state: Path) -> Iterator[Sshd]:
    with sshd(tmp_path / "far" / "server", state=far_state) as server:
        yield server


@pytest.mark.parametrize(
    ("seed", "rounds"),
    [(1, 1), *(pytest.param(n, 5, marks=pytest.mark.conformance) for n in range(2, 5))],
)
def test_kills_at_any_moment(
    tmp_path: Path,
    state: Path,
    server: Sshd,
    far_state: Path,
    seed: int,
    rounds: int,
) -> None:
    """Each kind is killed in each fifth of a turn; the host is as before, and no trial is lost."""
    moments = Random(seed)
    kills = [(kind, (part + moments.random()) / rounds) for kind in KINDS for part in range(rounds)]
    moments.shuffle(kills)
    far = {"host": server.far, "ssh_options": server.options, "tuning": ["./one.toml"]}
    systems = (image_system("ext4", "32M", **far), directory_system("here", tmp_path / "here"))
    # Seldom are there two turns between two kills; some must be left for the last one.
    plan = plan_of(systems, workloads=(WORK,), blocks=len(kills) * 3 // 2 + 2)
    folder = place(tmp_path / "study", plan)
    (folder.root / "one.toml").write_text(TUNING)
    before = snapshot(tmp_path, state)

    def require_as_before() -> None:
        wait_until(lambda: not [*server.home.iterdir()], "the copy is not removed")
        wait_until(lambda: not processes_of(far_state), "what runs there does not end")
        # The connections of a command that was killed end after it.
        wait_until(lambda: not processes_of(state), "what runs here does not end")
        assert not [*far_state.iterdir()]
        assert_same(before, snapshot(tmp_path, state))

    with Run(folder, server, far_state) as run:
        least = 1
        for number, (kind, share) in enumerate(kills):
            # A start that does not reach the host refuses to begin.
            told = partial(run.has_told, run.lines() + max(least, round(LINES * share)))
            least = 0
            wait_until(told, f"no moment for {kind}", pause_s=0.005)
            time.sleep(moments.uniform(0, SOON_S))
            wait_until(partial(run.kill, kind, moments), f"no {kind}", pause_s=0.005)
            sys.stderr.write(f"killed: {kind}, after: {_last(far_state)}\n")
            if kind == "lab":
                assert run.await_end() == -signal.SIGKILL
                if number % 2:
                    wait_until(lambda: not [*server.home.iterdir()], "it does not end by itself")
                # An agent there that was killed before its lab has left what it had made.
                for where in (HERE, Place(server.address)):
                    assert restore(where).left == ()
                require_as_before()
                run.start()
                least = 1
        run.require_done()
    require_as_before()
    entries = [entry.event for entry in read_journal(folder.journal)]
    keys = Counter(event.key for event in entries if isinstance(event, TrialFinished))
    assert set(keys.values()) == {1}
    assert len(keys) == 2 * len(plan.blocks)
    trials = read_run(folder, plan).trials
    assert {trial.outcome for trial in trials if trial.key.system == "here"} == {"done"}
    failed = [trial for trial in trials if trial.outcome != "done"]
    for trial in failed:
        sys.stderr.write(f"{trial.key.block}: {trial.reason}\n")
    assert len(failed) <= len(kills)
    assert all(trial.samples for trial in trials if trial.outcome == "done")


def _last(far_state: Path) -> str:
    """The last change that a ledger there tells of."""
    return [*ledgers_in(far_state).kinds, "nothing"][-2:][0]
