"""Studies of directories here and on "another host": a real ssh to a server on loopback."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.networks import left_behind
from support.patience import wait_until
from support.runs import SMOKE, Watcher, directory_system, go_on, place, plan_of, wait_for_trial
from support.snapshots import put_back_by_itself
from support.sshd import Sshd, again, children_of, sshd
from tiltyard.app.freeze import planned
from tiltyard.errors import TrialsFailedError
from tiltyard.executors.engine import Engine
from tiltyard.executors.runner import Runner
from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import recover
from tiltyard.plan.store import write_plan
from tiltyard.run.observer import Outlook
from tiltyard.run.read import read_run
from tiltyard.run.record import TrialRecord
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec

LONG = WorkloadSpec(
    name="long",
    use="iozone",
    parameters={
        "file": [f"{size}M" for size in range(4, 65)],
        "record": [512, "1k", "2k", "4k", "8k", "16k", "32k", "64k"],
    },
)
"""Longer than any test waits: it must be stopped."""
CUT = WorkloadSpec(
    name="cut", use="iozone", parameters={"file": [f"{size}M" for size in range(4, 41)]}
)
"""Long enough to be cut, and not too long to be done in the next block."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    """Afterwards nothing runs there, and nothing of ours is left in the home or the directory."""
    with sshd(tmp_path / "server") as server:
        there = server.home.with_name("there")
        there.mkdir()
        yield server
        assert not list(there.iterdir())
        assert not list(server.home.iterdir())
        assert left_behind(str(there)) == []


def there(server: Sshd, **settings: object) -> SystemSpec:
    """A system of kind ``remote``."""
    known = {
        "host": server.far,
        "ssh_options": server.options,
        "directory": str(server.home.with_name("there")),
    }
    return SystemSpec.model_validate(
        {
            "name": "there",
            "levels": {"where": "there"},
            "kind": "remote",
            "settings": {**known, **settings},
        }
    )


def here(tmp_path: Path) -> SystemSpec:
    return directory_system("here", tmp_path / "here")


def start(folder: StudyFolder) -> "subprocess.Popen[bytes]":
    """A run of its own, which may be killed."""
    return subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
        stderr=subprocess.DEVNULL,
    )


def test_one_study_here_and_there(tmp_path: Path, server: Sshd) -> None:
    plan = plan_of((here(tmp_path), there(server)), blocks=2)
    folder = place(tmp_path / "study", plan)
    watcher = Watcher()
    run_study(folder, plan, Engine.find(), go_on, watcher)
    record = read_run(folder, plan)
    assert [trial.reason for trial in record.trials] == [None] * 4
    assert all(trial.samples for trial in record.trials)
    (far, *_) = [trial for trial in record.trials if trial.key.system == "there"]
    assert far.telemetry is not None
    assert far.telemetry.swapped_pages is not None
    assert (far.telemetry.servers_s, far.telemetry.external_s) == (None, None)
    assert far.foreign_s is not None
    assert far.end is not None
    assert far.end.usage.user_s + far.end.usage.system_s > 0
    facts = {prepared.system: prepared.facts for prepared in record.prepared}
    assert facts["there"]["host"] == server.far
    assert facts["there"]["file system"] == facts["here"]["file system"]


class _Looking(Watcher):
    """Sees which runners are there after each trial, without their forks."""

    def __init__(self, server: Sshd) -> None:
        super().__init__()
        self._server = server
        self.seen: list[list[int]] = []

    def trial_finished(self, trial: TrialRecord, outlook: Outlook) -> None:
        super().trial_finished(trial, outlook)
        engines = engines_under(self._server.home)
        forks = {fork for engine in engines for fork in children_of(engine)}
        self.seen.append([engine for engine in engines if engine not in forks])


def test_trials_of_a_turn_have_one_engine_and_one_connection(tmp_path: Path, server: Sshd) -> None:
    again = SMOKE.model_copy(update={"name": "again"})
    plan = plan_of((there(server),), workloads=(SMOKE, again), blocks=1)
    watcher = _Looking(server)
    run_study(place(tmp_path / "study", plan), plan, Engine.find(), go_on, watcher)
    first, second = watcher.seen
    assert len(first) == 1
    assert first == second


def test_a_delay_is_injected_there_too(tmp_path: Path, server: Sshd) -> None:
    plan = plan_of((there(server, inject_ns=1000),), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    (trial,) = read_run(folder, plan).trials
    assert trial.end is not None
    assert trial.end.counters["InjectedDelays"] > 0


class _Killing(Watcher):
    """Kills what executes the first trial."""

    def __init__(self, server: Sshd) -> None:
        super().__init__()
        self._server = server

    def progress(self, fraction: float, what: str) -> None:
        engines = engines_under(self._server.home)
        for number in (signal.SIGSTOP, signal.SIGKILL):  # So that none speaks of another's end.
            for engine in engines:
                os.kill(engine, number)


def test_an_engine_that_is_killed_there(tmp_path: Path, server: Sshd) -> None:
    plan = plan_of((there(server),), workloads=(LONG,), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, _Killing(server))
    (trial,) = read_run(folder, plan).trials
    assert trial.reason is not None
    assert trial.reason.startswith("the engine ended with status 137")


class _Cutting(Watcher):
    """Cuts the connection in the middle of the first trial, as a failing network would."""

    def __init__(self, server: Sshd) -> None:
        super().__init__()
        self._server = server
        self.engines: list[int] = []

    def progress(self, fraction: float, what: str) -> None:
        if self.engines:
            return
        self.engines = engines_under(self._server.home)
        assert self.engines
        for session in self._server.sessions():
            # One whose connection was closed before may still be ending.
            with contextlib.suppress(ProcessLookupError):
                os.kill(session, signal.SIGKILL)


def engines_under(directory: Path) -> list[int]:
    """Runners of the engine that was sent to a directory; its file is removed at once."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                is_sent = (entry / "exe").readlink().is_relative_to(directory)
                if is_sent and b"\0runner\0" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_a_lost_connection_fails_one_turn(tmp_path: Path, server: Sshd) -> None:
    """The agent there has taken back what it had made for it."""
    plan = plan_of((there(server),), workloads=(CUT, SMOKE), blocks=2)
    folder = place(tmp_path / "study", plan)
    watcher = _Cutting(server)
    run_study(folder, plan, Engine.find(), go_on, watcher)
    assert watcher.engines
    trials = read_run(folder, plan).trials
    assert [trial.outcome for trial in trials] == ["failed", "failed", "done", "done"]
    for trial in trials[:2]:
        assert trial.reason is not None
        lost = f"lost the connection to {server.far}: "
        gone = f"the agent on {server.far} that has prepared it has ended"
        assert trial.reason.startswith((lost, gone)), trial.reason
    assert engines_under(server.home) == []


def test_a_connection_that_is_cut_as_a_trial_is_asked_for_fails_that_trial(
    tmp_path: Path, server: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the run."""
    plan = plan_of((there(server), here(tmp_path)), blocks=1)
    folder = place(tmp_path / "study", plan)
    tell = Runner.tell

    def cut(runner: Runner, line: bytes, wait_s: float | None = None) -> None:
        if runner.is_far and line.startswith(b'{"run"'):
            runner.kill()
        tell(runner, line, wait_s)

    monkeypatch.setattr(Runner, "tell", cut)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    reasons = {trial.key.system: trial.reason for trial in read_run(folder, plan).trials}
    assert reasons.pop("here") is None
    assert str(reasons["there"]).startswith(f"cannot reach {server.far}: ")


def end(server: Sshd) -> None:
    """End the server; connections that it has taken outlive it."""
    os.kill(server.pid, signal.SIGTERM)
    wait_until(lambda: not server.listens(), "it still listens")


class _Ending(Watcher):
    """Ends the server at a moment."""

    def __init__(self, server: Sshd, moment: str) -> None:
        super().__init__()
        self._server, self._moment = server, moment

    def block_started(self, block: int, of: int) -> None:
        super().block_started(block, of)
        if f"block {block}" == self._moment:
            end(self._server)


def test_a_host_that_is_down_fails_its_trials_alone(tmp_path: Path, server: Sshd) -> None:
    plan = plan_of((there(server), here(tmp_path)), blocks=2)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, _Ending(server, "block 2"))
    outcomes = {(t.key.block, t.key.system): t for t in read_run(folder, plan).trials}
    assert [outcomes[key].outcome for key in sorted(outcomes)] == ["done", "done", "done", "failed"]
    reason = outcomes[2, "there"].reason
    assert reason is not None
    assert reason.startswith(f"cannot reach {server.far}: ")


class _CuttingForGood(_Cutting):
    """The server goes as well, and does not come back."""

    def progress(self, fraction: float, what: str) -> None:
        if not self.engines:
            # First the connections: of a server that has ended nobody can tell which they were.
            super().progress(fraction, what)
            end(self._server)


def test_what_is_left_on_a_host_that_is_lost_is_said_and_kept(
    tmp_path: Path, server: Sshd, state: Path
) -> None:
    plan = plan_of((there(server), here(tmp_path)), workloads=(LONG,), blocks=1)
    plan = plan.model_copy(
        update={"blocks": (plan.blocks[0].model_copy(update={"turns": plan.blocks[0].turns[:1]}),)}
    )
    folder = place(tmp_path / "study", plan)
    watcher = _CuttingForGood(server)
    assert run_study(folder, plan, Engine.find(), go_on, watcher)
    (trial,) = read_run(folder, plan).trials
    assert trial.reason is not None
    assert trial.reason.startswith(("lost the connection to", "the agent on")), trial.reason
    (left,) = (note for note in watcher.told if "is left there" in note)
    fix = f"Fix: tiltyard restore --host {server.far} --ssh-options "
    assert fix in left
    with again(server):
        assert recover() == [], "the agent there has taken it back when it was cut off"
    assert not list(state.iterdir())
    assert engines_under(server.home) == []


def test_it_stops_there_if_told(tmp_path: Path, server: Sshd) -> None:
    plan = plan_of((there(server), here(tmp_path)), blocks=2)
    folder = place(tmp_path / "study", plan)
    with pytest.raises(TrialsFailedError, match="cannot reach"):
        run_study(
            folder, plan, Engine.find(), go_on, _Ending(server, "block 2"), stop_on_failure=True
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
def test_the_end_of_the_lab_is_the_end_of_the_engine_there(
    tmp_path: Path, server: Sshd, state: Path, number: signal.Signals
) -> None:
    plan = plan_of((there(server),), workloads=(LONG,), blocks=1)
    folder = place(tmp_path / "study", plan)
    with start(folder) as process:
        wait_for_trial(folder, "long")
        wait_until(lambda: engines_under(server.home), "no engine runs there")
        process.send_signal(number)
    wait_until(lambda: engines_under(server.home) == [], "the engine there goes on")
    put_back_by_itself(state)
    assert engines_under(server.home) == []
    assert not list(state.iterdir())


def test_a_program_runs_here_and_there_and_may_be_there_alone(
    tmp_path: Path, server: Sshd, engine: Engine, state: Path
) -> None:
    """Nothing here is looked at for a program of another host; what it lacks its trial says."""
    (tmp_path / "here").mkdir()
    text = f"""
question = "q"
[factors]
where = {{ here = {{ directory = "{tmp_path}/here", tool = "echo" }},
           there = {{ host = "{server.far}", ssh_options = {json.dumps(list(server.options))},
                     directory = "{server.home.with_name("there")}", tool = "TOOL" }} }}
[[workload]]
use = "program"
command = ["{{tool}}", "tps = 4"]
metrics = {{ tps = {{ key = "tps", unit = "1/s", better = "higher" }} }}
""".replace("},\n           there", "}, there").replace(",\n                     dir", ", dir")

    def carried_out(name: str, tool: str) -> dict[str, tuple[str | None, set[float]]]:
        folder = StudyFolder(tmp_path / name)
        folder.root.mkdir()
        folder.study.write_text(text.replace("TOOL", tool))
        plan = planned(folder, engine, trust=True)
        plan = plan.model_copy(
            update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None}
        )
        folder.plan.unlink()
        write_plan(folder, plan)
        run_study(folder, plan, engine, go_on, Watcher())
        return {
            trial.key.system: (
                trial.reason,
                {sample.value for sample in trial.samples if sample.metric == "tps"},
            )
            for trial in read_run(folder, plan).trials
        }

    both = carried_out("both", "echo")
    assert both == {"here": (None, {4.0}), "there": (None, {4.0})}
    reason, _ = carried_out("lacks", "/opt/of-that-host/bin/tool")["there"]
    assert reason is not None
    assert "/opt/of-that-host/bin/tool does not exist" in reason
    shutil.rmtree(state / "trusted")


def test_a_service_is_started_and_ended_on_another_host(
    tmp_path: Path, engine: Engine, state: Path
) -> None:
    client = (
        "import urllib.request as u; print('status =', u.urlopen('http://{server}:{port}').status)"
    )
    folder = StudyFolder(tmp_path / "study")
    folder.root.mkdir()
    (there := tmp_path / "there").mkdir()
    with sshd(tmp_path / "server", state=tmp_path / "far") as server:
        folder.study.write_text(f"""
question = "q"
factors.level = [0, 1]
[systems]
host = "{server.far}"
ssh_options = {json.dumps(list(server.options))}
directory = "{there}"
[systems.service]
start = ["python3", "-mhttp.server", "-b", "{{server}}", "{{port}}", "-p", "HTTP/1.{{level}}"]
ready = {{ port = "{{port}}" }}
[[workload]]
use = "program"
command = ["python3", "-c", {json.dumps(client)}]
metrics = {{ status = {{ key = "status", unit = "1", better = "higher" }} }}
""")
        plan = planned(folder, engine, trust=True)
        plan = plan.model_copy(
            update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None}
        )
        folder.plan.unlink()
        write_plan(folder, plan)
        run_study(folder, plan, engine, go_on, Watcher())
        found = [
            (trial.reason, sample.value)
            for trial in read_run(folder, plan).trials
            for sample in trial.samples
            if sample.metric == "status"
        ]
        assert found == [(None, 200.0), (None, 200.0)]
        wait_until(lambda: not list(server.home.iterdir()), "the copy is removed")
        assert not list(there.iterdir())
    shutil.rmtree(state / "trusted")
