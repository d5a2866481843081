"""Ctrl-C and SIGTERM: taken down at once, everything finished kept, a second one is harmless."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import assert_as_before, host_state, needs_root
from support.patience import PATIENCE_S
from support.runs import Watcher, go_on, image_system, place, plan_of, wait_for_trial
from tiltyard.errors import InterruptedRunError
from tiltyard.executors.engine import Engine
from tiltyard.run.interrupt import Interrupt
from tiltyard.run.journal import Interrupted, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import WorkloadSpec

SLOW = WorkloadSpec(
    name="slow",
    use="iozone",
    parameters={
        "file": ["64M"],
        "record": [512, "1k", "2k", "4k", "8k", "16k", "32k"],
        "include_fsync": True,
    },
)
"""Longer than any test waits: it must be stopped."""
QUICK = WorkloadSpec(
    name="quick", use="iozone", parameters={"file": "128k", "record": "32k", "tests": ["write"]}
)


@needs_root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_in_the_middle_of_a_trial(tmp_path: Path, engine: Engine, number: signal.Signals) -> None:
    plan = plan_of((image_system("ext4", "128M"),), workloads=(QUICK, SLOW), blocks=1)
    folder = place(tmp_path / "study", plan)
    before = host_state(tmp_path)
    with subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_trial(folder, "slow")
        process.send_signal(number)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=PATIENCE_S)
    assert (
        f"InterruptedRunError: Everything finished is kept. Go on with: tiltyard run {folder.root}"
        in stderr.decode()
    )
    assert_as_before(before, tmp_path)
    assert not folder.work.exists()
    assert isinstance(read_journal(folder.journal)[-1].event, Interrupted)
    (kept,) = read_run(folder, plan).trials
    assert kept.key.workload == "quick"
    assert [path.name for path in folder.trials.iterdir()] == [kept.key.file_name]


class ImpatientWatcher(Watcher):
    """Presses Ctrl-C while a system is being brought up, and again."""

    def preparing(self, system: str) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


@needs_root
def test_while_a_system_is_brought_up(tmp_path: Path, engine: Engine) -> None:
    plan = plan_of((image_system("ext4", "64M"),), blocks=1)
    folder = place(tmp_path / "study", plan)
    before = host_state(tmp_path)
    with pytest.raises(InterruptedRunError):
        run_study(folder, plan, engine, go_on, ImpatientWatcher())
    assert_as_before(before, tmp_path)
    assert not read_run(folder, plan).trials
    assert run_study(folder, plan, engine, go_on, Watcher()) == "all planned blocks are done: 1"


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupt("stop") as interrupt:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(InterruptedRunError, match=r"^stop$"):
            interrupt.check()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_that_came_before_stops_what_starts_after_it() -> None:
    stopped: list[str] = []
    with Interrupt("stop") as interrupt:
        signal.raise_signal(signal.SIGTERM)
        with interrupt.stops(lambda: stopped.append("stopped")):
            pass
        signal.raise_signal(signal.SIGTERM)
    assert stopped == ["stopped"]
