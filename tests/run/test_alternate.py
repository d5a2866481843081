"""Executions that alternate between systems within a block: in which order, and where not."""

import itertools
import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from support.runs import Watcher, go_on
from tiltyard.analysis.quantity import covariates_of_turn
from tiltyard.app.freeze import planned
from tiltyard.errors import InterruptedRunError
from tiltyard.executors.barrier import AT_ONCE, Turns
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.alternate import order_of, shares_a_place
from tiltyard.run.history import History
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.run.stream import read_stream

NAMES = ("one", "three", "two")
EACH = 4
BLOCKS = 2
STUDY = f"""\
question = "q"
[factors]
build.one.path = "bin/one"
build.two.path = "bin/two"
build.three.path = "bin/three"
[[workload]]
use = "program"
command = ["{{path}}", "{{execution}}"]
executions = {EACH}
"""


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    (tmp_path / "bin").mkdir()
    for name in NAMES:
        program(tmp_path / "bin" / name, f'echo "{name} $1" >> "{tmp_path}/log"')
    return StudyFolder(tmp_path)


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def frozen(folder: StudyFolder, engine: Engine, study: str = STUDY) -> Plan:
    folder.study.write_text(study)
    plan = planned(folder, engine, trust=True)
    short = {"blocks": plan.blocks[:BLOCKS], "spares": (), "noise_limits": None}
    folder.plan.unlink()
    write_plan(folder, plan.model_copy(update=short))
    return read_plan(folder)


def run(
    folder: StudyFolder, engine: Engine, study: str = STUDY, watcher: Watcher | None = None
) -> Plan:
    plan = frozen(folder, engine, study)
    run_study(folder, plan, engine, go_on, watcher or Watcher())
    return plan


def logged(folder: StudyFolder) -> list[str]:
    """Whose executions there were, in order."""
    return [line.split()[0] for line in (folder.root / "log").read_text().splitlines()]


def alternated(folder: StudyFolder) -> set[bool]:
    return {event.alternated for event in History.read(folder.journal).finished.values()}


def is_in_turns(log: Sequence[str]) -> bool:
    """Whether each system has all of its executions of a block one after the other."""
    return max(len(list(own)) for _, own in itertools.groupby(log)) >= EACH


def test_each_round_has_an_execution_of_each_system(folder: StudyFolder, engine: Engine) -> None:
    plan = run(folder, engine)
    log = logged(folder)
    assert len(log) == BLOCKS * EACH * len(NAMES)
    rounds = [tuple(log[at : at + len(NAMES)]) for at in range(0, len(log), len(NAMES))]
    assert {tuple(sorted(own)) for own in rounds} == {NAMES}
    drawn: list[str] = []
    for block in plan.blocks:
        systems = [turn.system for turn in block.turns]
        order = order_of(plan, block.number, "program", len(NAMES), EACH)
        drawn += [systems[place] for place in order[len(NAMES) :]]
    assert log == drawn
    trials = read_run(folder, plan).trials
    assert {trial.outcome for trial in trials} == {"done"}
    assert alternated(folder) == {True}
    for trial in trials:
        executions = read_stream((folder.root / trial.file).read_bytes()).executions
        assert [one.number for one in executions] == [*range(1, EACH + 1)]
        mean = float(np.mean([one.elapsed_s for one in executions]))
        times = [one.value for one in trial.samples if one.metric == "time"]
        assert times == [pytest.approx(mean)]


def test_orders_are_drawn_for_each_round_block_and_seed(
    folder: StudyFolder, engine: Engine
) -> None:
    plan = frozen(folder, engine)
    orders = [order_of(plan, block, "program", 2, 200) for block in (1, 2)]
    orders.append(order_of(plan.model_copy(update={"seed": plan.seed + 1}), 1, "program", 2, 200))
    assert len({tuple(own) for own in orders}) == len(orders)
    for own in orders:
        assert own[:2] == [0, 1]
        first = own[2::2]
        assert 70 < sum(first) < 130


@pytest.mark.parametrize(
    "change",
    [
        "alternate = false\n",
        'setup = ["true"]\n',
        'cleanup = ["true"]\n',
        'turn.setup = ["true"]\n',
        "trials = 2\n",
        "[conditions]\nkeep_awake = true\n",
        'servers = [{ command = ["sleep", "60"], ready = "sleep" }]\n',
    ],
)
def test_what_is_done_once_around_them_keeps_executions_together(
    folder: StudyFolder, engine: Engine, change: str
) -> None:
    if "servers" in change:
        program(folder.root / "bin/serve", "echo there; exec sleep 60")
        change = (
            f"""servers = [{{ command = ["{folder.root}/bin/serve"], ready.stdout = "there" }}]\n"""
        )
    run(folder, engine, STUDY + change)
    assert is_in_turns(logged(folder))
    assert alternated(folder) == {False}


@pytest.mark.parametrize("setting", ["drop_caches", "reset", "service"])
def test_a_setting_that_is_for_one_trial_or_turn_keeps_executions_together(
    folder: StudyFolder, engine: Engine, setting: str
) -> None:
    plan = frozen(folder, engine)
    assert shares_a_place(plan)
    own = {setting: True}
    systems = [one.model_copy(update={"settings": own}) for one in plan.systems]
    assert not shares_a_place(plan.model_copy(update={"systems": tuple(systems)}))


def test_systems_that_differ_in_more_than_their_programs_have_turns(
    folder: StudyFolder, engine: Engine
) -> None:
    for name in ("a", "b"):
        (folder.root / name).mkdir()
    study = STUDY.partition("build")[0] + 'directory = ["a", "b"]\n[[workload]]'
    study += STUDY.partition("[[workload]]")[2].replace("{path}", str(folder.root / "bin/one"))
    run(folder, engine, study)
    assert alternated(folder) == {False}


def test_the_first_trial_says_what_a_command_compares_with(
    folder: StudyFolder, engine: Engine
) -> None:
    """So the first block is made in turns, and each later trial is compared while it runs."""
    more = 'expect.compare = ["diff", "-q", "{expected}", "{output}"]\n'
    program(folder.root / "bin/two", 'echo "two" >> log; echo odd')
    run(folder, engine, STUDY + more)
    finished = History.read(folder.journal).finished.values()
    assert {(event.key.block, event.alternated) for event in finished} == {(1, False), (2, True)}
    odd = [event for event in finished if event.outcome == "failed"]
    others = {event.key.system for event in finished if event.outcome == "done"}
    assert odd
    assert {event.key.system for event in odd}.isdisjoint(others)


def test_before_each_execution_its_own_preparation(folder: StudyFolder, engine: Engine) -> None:
    for name in NAMES:
        program(folder.root / "bin" / f"{name}-before", f'echo "{name} p" >> "{folder.root}/log"')
    run(folder, engine, STUDY + 'prepare = ["{path}-before"]\n')
    lines = (folder.root / "log").read_text().splitlines()
    assert alternated(folder) == {True}
    for before, after in zip(lines[::2], lines[1::2], strict=True):
        assert before.split() == [after.split()[0], "p"]


def test_each_has_a_directory_of_its_own(folder: StudyFolder, engine: Engine) -> None:
    for name in NAMES:
        text = f'[ $1 = 1 ] && [ -n "$(ls -A)" ] && exit 9; touch made; pwd >> "{folder.root}/log"'
        program(folder.root / "bin" / name, text)
    plan = run(folder, engine)
    assert {trial.outcome for trial in read_run(folder, plan).trials} == {"done"}
    places = set(logged(folder))
    assert len(places) == len(NAMES)
    assert len({len(place) for place in places}) == 1
    assert not any(Path(place).exists() for place in places)


def test_one_that_fails_does_not_keep_the_others(folder: StudyFolder, engine: Engine) -> None:
    program(folder.root / "bin/two", f'echo two >> "{folder.root}/log"; [ $1 -lt 3 ]')
    run(folder, engine)
    finished = History.read(folder.journal).finished.values()
    found = {(event.key.system, event.outcome) for event in finished}
    assert found == {("one", "done"), ("three", "done"), ("two", "failed")}
    reasons = [event.reason or "" for event in finished if event.outcome == "failed"]
    assert all("execution 3" in reason and "exit code 1" in reason for reason in reasons)
    assert logged(folder).count("one") == BLOCKS * EACH
    assert logged(folder).count("two") == BLOCKS * 3


def test_one_whose_engine_is_killed_does_not_keep_the_others(
    folder: StudyFolder, engine: Engine
) -> None:
    """The program of one system kills what executes it, in the first block."""
    log = folder.root / "log"
    kill = (
        f"[ -e {folder.root}/killed ] || {{ touch {folder.root}/killed; kill -9 $PPID; sleep 9; }}"
    )
    program(folder.root / "bin/two", f'echo two >> "{log}"; {kill}')
    run(folder, engine)
    finished = History.read(folder.journal).finished.values()
    failed = [event for event in finished if event.outcome == "failed"]
    assert [(event.key.block, event.key.system) for event in failed] == [(1, "two")]
    assert "killed by SIGKILL" in (failed[0].reason or "")


class Marking(Watcher):
    """There is a file from the second block on."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def block_started(self, block: int, of: int) -> None:
        super().block_started(block, of)
        if block == 2:
            self.path.touch()


def test_a_signal_in_the_middle_leaves_nothing_of_the_block(
    folder: StudyFolder, engine: Engine
) -> None:
    mark = folder.root / "mark"
    stop = f"[ $1 = 2 ] && [ -e {mark} ] && rm {mark} && kill -TERM {os.getpid()}; true"
    program(folder.root / "bin/two", f'echo "two $1" >> "{folder.root}/log"; {stop}')
    plan = frozen(folder, engine)
    with pytest.raises(InterruptedRunError):
        run_study(folder, plan, engine, go_on, Marking(mark))
    assert {key.block for key in History.read(folder.journal).finished} == {1}
    assert len(list(folder.trials.iterdir())) == len(NAMES)
    run_study(folder, plan, engine, go_on, Watcher())
    assert len(History.read(folder.journal).finished) == BLOCKS * len(NAMES)
    assert alternated(folder) == {True}


def test_what_others_took_of_each_is_not_known(folder: StudyFolder, engine: Engine) -> None:
    """It was the same span of time: it must not be said that others took the same of both."""
    plan = run(folder, engine)
    for trial in read_run(folder, plan).trials:
        assert trial.telemetry is not None
        assert trial.alternated
        assert np.isnan(covariates_of_turn([trial], ["external_cpu"])).all()


def test_their_times_add_up_to_that_of_the_block(folder: StudyFolder, engine: Engine) -> None:
    for name in NAMES:
        program(folder.root / "bin" / name, f'echo "{name} $1" >> "{folder.root}/log"; sleep 0.05')
    began = time.monotonic()
    plan = run(folder, engine)
    took_s = time.monotonic() - began
    trials = read_run(folder, plan).trials
    assert sum(trial.elapsed_s for trial in trials) <= took_s
    for trial in trials:
        assert trial.elapsed_s >= 0.05 * EACH


def test_turns_are_taken_in_order_and_others_go_on_when_one_leaves() -> None:
    turns = Turns([0, 1, 1, 0, 0, 1])
    taken: list[int] = []

    def take(place: int, times: int) -> None:
        own = turns.of(place)
        for _ in range(times):
            assert own.arrive(lambda: None, lambda: True) == AT_ONCE
            taken.append(place)
        turns.leave(place)

    threads = [
        threading.Thread(target=take, args=(0, 3)),
        threading.Thread(target=take, args=(1, 2)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == [0, 1, 1, 0, 0]
    assert min(turns.held_s.values()) > 0
    # Nobody waits any more for one that was told to stop.
    assert Turns([0, 1]).of(1).arrive(lambda: None, lambda: False) is None


def test_a_workload_of_the_engine_has_no_executions(folder: StudyFolder, engine: Engine) -> None:
    folder.study.write_text(
        'question = "q"\n[factors]\ndirectory = ["bin", "."]\n'
        '[[workload]]\nuse = "iozone"\nalternate = false\n'
    )
    with pytest.raises(Exception, match=r"alternate.*is of programs; iozone is executed by"):
        planned(folder, engine, trust=True)


def test_it_is_written_into_the_journal_only_where_it_is_so(
    folder: StudyFolder, engine: Engine
) -> None:
    run(folder, engine)
    lines = [json.loads(line) for line in folder.journal.read_text().splitlines()]
    ended = [line["event"] for line in lines if line["event"]["type"] == "trial_finished"]
    assert all(event["alternated"] for event in ended)
