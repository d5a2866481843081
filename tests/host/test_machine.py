"""One run at a time changes the machine, also where two have state directories of their own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from support.hosts import needs_root
from support.kills import agents_of
from support.patience import PATIENCE_S
from support.snapshots import processes_of
from support.watcher import LOCK
from tiltyard.errors import BusyError, ExitCode
from tiltyard.host import sysctls
from tiltyard.host.isolation import Isolate
from tiltyard.host.ledger import Ledger
from tiltyard.host.settings import SetValue
from tiltyard.host.steps import Steps

pytestmark = needs_root

KEY = "vm.dirty_expire_centisecs"
LONGEST_S = 2.0
"""Longer than one needs to begin."""
TILTYARD = (sys.executable, "-c", "from tiltyard.cli import main; main()")


class Holds:
    """``tiltyard tuning hold`` with a state directory of its own, until it is ended."""

    def __init__(self, home: Path, name: str, value: int) -> None:
        self.state = home / f"state-{name}"
        (profile := home / f"{name}.toml").write_text(f'about = "x"\n[sysctl]\n{KEY} = {value}\n')
        command = ("sh", "-c", "echo ready; exec cat")
        self._process = subprocess.Popen(
            (*TILTYARD, "tuning", "hold", str(profile), "--", *command),
            env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.pid = self._process.pid
        self.is_holding = False

    @property
    def ledgers(self) -> list[Path]:
        """Its agent's."""
        return [*self.state.glob("*.ops")]

    @property
    def holds(self) -> bool:
        """Whether it has set what it holds; waits until it has, or has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline() == "ready\n"

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "TILTYARD_STATE": str(self.state), "COLUMNS": "1000"}

    def refused(self) -> str:
        """What it said when it ended with 4."""
        _, said = self._process.communicate(timeout=PATIENCE_S)
        assert self._process.returncode == ExitCode.REFUSED, said
        return said

    def kill(self) -> None:
        """At once, and its agent: nobody takes back what it has set."""
        for agent in agents_of(self.pid) if self._process.poll() is None else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(agent, signal.SIGKILL)
        self.kill_alone()

    def kill_alone(self) -> None:
        """At once, and its command ends with it."""
        self._process.kill()
        self._process.communicate(timeout=PATIENCE_S)

    def press_ctrl_c(self) -> None:
        """As a terminal does."""
        os.killpg(self.pid, signal.SIGINT)
        self._process.communicate(timeout=PATIENCE_S)

    def restore(self, code: int = ExitCode.DONE) -> str:
        """By the verb; what it says of what is left."""
        done = subprocess.run(
            (*TILTYARD, "restore"), env=self._environment, check=False, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stderr


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[[str, int], Holds]]:
    before, made = sysctls.read(KEY), list[Holds]()

    def begun(name: str, value: int) -> Holds:
        made.append(Holds(tmp_path, name, value))
        return made[-1]

    yield begun
    for one in made:
        one.kill_alone()
        processes_of(one.state)  # waits for its agent
        if one.ledgers:
            one.restore()
    assert sysctls.read(KEY) == before


@pytest.fixture
def hold(begin: Callable[[str, int], Holds]) -> Callable[[str, int], Holds]:
    """The same, waited for until it holds, or has been refused."""

    def held(name: str, value: int) -> Holds:
        one = begin(name, value)
        one.is_holding = one.holds
        return one

    return held


ENDS = {"killed": Holds.kill, "lab killed": Holds.kill_alone, "Ctrl-C": Holds.press_ctrl_c}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_who_comes_second_is_told_who_holds_the_machine_and_changes_nothing(
    hold: Callable[[str, int], Holds], end: Callable[[Holds], None]
) -> None:
    before = sysctls.read(KEY)
    first = hold("a", 2801)
    assert sysctls.read(KEY) == "2801"
    said = hold("b", 2700).refused()
    assert f"{KEY} is taken by another run (process {first.pid}, {first.state})" in said
    assert sysctls.read(KEY) == "2801"
    end(first)
    first.restore()
    assert sysctls.read(KEY) == before


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_what_a_killed_holder_left_is_put_back_before_the_next_one_begins(
    hold: Callable[[str, int], Holds], end: Callable[[Holds], None], order: str
) -> None:
    before = sysctls.read(KEY)
    (first := hold("a", 2801)).kill()
    assert sysctls.read(KEY) == "2801"
    second = hold("b", 2700)
    assert second.is_holding
    assert sysctls.read(KEY) == "2700"
    assert not first.ledgers, "it is put back, and its record is gone"
    end(second)
    for name in order:
        {"a": first, "b": second}[name].restore()
    assert sysctls.read(KEY) == before


@pytest.mark.parametrize("rounds", [6, pytest.param(500, marks=pytest.mark.conformance)])
def test_two_runs_that_are_killed_at_any_moment_leave_what_was_before_both(
    begin: Callable[[str, int], Holds], rounds: int
) -> None:
    before, random = sysctls.read(KEY), Random(rounds)
    for _ in range(rounds):
        both = [begin("a", 2801), begin("b", 2700)]
        random.shuffle(both)
        for one in both:
            time.sleep(random.uniform(0, LONGEST_S))
            random.choice([*ENDS.values()])(one)
        random.shuffle(both)
        for one in both:
            one.restore()
        assert sysctls.read(KEY) == before
        assert not [path for one in both for path in one.ledgers]
        assert not LOCK.exists()


def test_the_next_one_does_not_begin_where_that_cannot_be_put_back(
    hold: Callable[[str, int], Holds],
) -> None:
    (first := hold("a", 2801)).kill()
    (ledger,) = first.ledgers
    kept = ledger.read_text()
    with ledger.open("a") as file:
        file.write('{"change": 99, "at_ns": 1, "is": {"kind": "moved-the-moon"}}\n')
    said = hold("b", 2700).refused()
    assert f"process {first.pid} has left this machine changed: {ledger}:" in said
    assert f"; then: TILTYARD_STATE={first.state} tiltyard restore" in said
    ledger.write_text(kept)


def test_what_a_living_run_holds_is_not_put_back_for_a_dead_one(
    hold: Callable[[str, int], Holds],
) -> None:
    before = sysctls.read(KEY)
    (first := hold("a", 2801)).kill()
    LOCK.unlink()  # So the second one does not know of it.
    second = hold("b", 2700)
    said = first.restore(ExitCode.NOT_RESTORED)
    assert f"process {second.pid}, {second.state})" in said
    assert sysctls.read(KEY) == "2700"
    assert first.ledgers
    second.press_ctrl_c()
    first.restore()
    assert not first.ledgers
    assert sysctls.read(KEY) == before


def test_the_machine_is_let_go_when_nothing_of_it_is_changed(state: Path) -> None:
    before = sysctls.read(KEY)
    op = SetValue(name=KEY, path=str(sysctls.path_of(KEY)), value="2801", before=before)
    with Ledger() as first, Ledger() as second:
        (steps := Steps(second)).take((op,))
        second.let_go_of_machine()
        with pytest.raises(BusyError, match=f"process {os.getpid()}, {state}"):
            first.hold_machine("it")
        steps.undo()
        assert sysctls.read(KEY) == before
        assert not LOCK.exists()
        first.hold_machine("it")
    assert not LOCK.exists()


def test_which_changes_are_of_the_whole_machine() -> None:
    def of_machine(path: str) -> str:
        return SetValue(name="it", path=path, before="1", value="2").of_machine

    assert of_machine("/proc/sys/vm/swappiness") == "it"
    assert of_machine("/sys/block/sda/queue/nr_requests") == "it"
    assert of_machine("/sys/block/loop0/queue/nr_requests") == ""
    assert Isolate(cpus=(1, 2), group="tiltyard-measures").of_machine == "CPU 1-2"


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/sys/../../etc/x", "/sys/x/", "/proc/1/mem"])
def test_only_settings_of_the_kernel_are_set(path: str) -> None:
    with pytest.raises(ValueError, match="should match pattern"):
        SetValue(name="it", path=path, before="0", value="1")
