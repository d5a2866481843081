"""The number of executions of a trial is found in the first block, and is everybody's then."""

import json
from pathlib import Path

import pytest

from support.runs import Watcher, go_on
from tiltyard.analysis.systems import system_findings
from tiltyard.app.freeze import planned
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.program import AT_LEAST_S
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.history import History
from tiltyard.run.journal import ExecutionsSet, Journal, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.run.sessions import executions_before
from tiltyard.run.sizing import Asked, Tried, executions_for, further
from tiltyard.run.stream import read_stream

STUDY = """\
question = "q"
[factors]
build = { slow = { path = "bin/slow" }, quick = { path = "bin/quick" } }
[[workload]]
use = "program"
command = ["{path}"]
"""
BLOCKS = 2


class BrokenOffError(Exception):
    """Before a block."""


class Breaking(Watcher):
    """The run ends before its second block."""

    def block_started(self, block: int, of: int) -> None:
        super().block_started(block, of)
        if block > 1:
            raise BrokenOffError


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin/slow", "sleep 0.03")
    program(tmp_path / "bin/quick", f'echo >> "{tmp_path}/quick"')
    return StudyFolder(tmp_path)


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run(
    folder: StudyFolder,
    engine: Engine,
    more: str = "",
    watcher: Watcher | None = None,
    begins: str = "slow",
) -> None:
    if not folder.plan.exists():
        folder.study.write_text(STUDY + more)
        plan = planned(folder, engine, trust=True)
        # In each block the same one begins.
        blocks = [
            block.model_copy(
                update={"turns": tuple(sorted(block.turns, key=lambda own: own.system != begins))}
            )
            for block in plan.blocks[:BLOCKS]
        ]
        short = {"blocks": tuple(blocks), "spares": (), "noise_limits": None}
        folder.plan.unlink()
        write_plan(folder, plan.model_copy(update=short))
    plan = read_plan(folder)
    run_study(folder, plan, engine, go_on, watcher or Watcher())


def numbers(folder: StudyFolder) -> dict[str, set[int]]:
    """System → how many executions its trials had."""
    found: dict[str, set[int]] = {}
    for event in History.read(folder.journal).finished.values():
        assert event.outcome == "done"
        executions = read_stream((folder.root / event.file).read_bytes()).executions
        found.setdefault(event.key.system, set()).add(len(executions))
    return found


def written(folder: StudyFolder) -> list[dict[str, int]]:
    events = [entry.event for entry in read_journal(folder.journal)]
    return [event.executions for event in events if isinstance(event, ExecutionsSet)]


@pytest.mark.parametrize("more", ["", "at_least = 0.15\n"])
def test_all_trials_of_all_systems_have_the_number_that_one_needs(
    folder: StudyFolder, engine: Engine, more: str
) -> None:
    """Executing for so long in each trial would have a mean that depends on how times vary."""
    run(folder, engine, more)
    (found,) = written(folder)
    number = found["program"]
    assert number > 1
    assert numbers(folder) == {"slow": {number}, "quick": {number}}
    names = {path.name for path in (folder.root / "trials").iterdir()}
    assert len(names) == 2 * BLOCKS


def test_a_number_that_the_study_names_stands(folder: StudyFolder, engine: Engine) -> None:
    run(folder, engine, "executions = 3\n")
    assert written(folder) == []
    assert numbers(folder) == {"slow": {3}, "quick": {3}}
    assert len((folder.root / "quick").read_text()) == 3 * BLOCKS, "nothing else was executed"


def test_a_run_that_goes_on_keeps_the_number(folder: StudyFolder, engine: Engine) -> None:
    with pytest.raises(BrokenOffError):
        run(folder, engine, watcher=Breaking())
    (found,) = written(folder)
    run(folder, engine)
    assert written(folder) == [found]
    assert numbers(folder) == {name: {found["program"]} for name in ("slow", "quick")}


@pytest.mark.parametrize("first", ["slow", "quick"])
def test_what_takes_long_is_not_executed_once_more(
    folder: StudyFolder, engine: Engine, first: str
) -> None:
    """Whoever comes first: one execution decides the number, and is of the first block."""
    program(folder.root / "bin/slow", f'echo >> "{folder.root}/slow"; sleep 1')
    run(folder, engine, begins=first)
    assert written(folder) == [{"program": 1}]
    assert numbers(folder) == {"slow": {1}, "quick": {1}}
    assert len((folder.root / "slow").read_text()) == BLOCKS
    tried = len((folder.root / "quick").read_text()) - BLOCKS
    assert tried > 1 if first == "quick" else tried == 0


def test_so_many_executions_as_a_study_asks_for_at_least_are_not_executed_once_more(
    folder: StudyFolder, engine: Engine
) -> None:
    program(folder.root / "bin/slow", f'echo >> "{folder.root}/slow"; sleep 1')
    run(folder, engine, "executions = 2\nat_least = 0.1\n", begins="slow")
    assert written(folder) == [{"program": 2}]
    assert len((folder.root / "slow").read_text()) == 2 * BLOCKS


def test_where_several_trials_are_in_a_turn_the_first_one_is_tried(
    folder: StudyFolder, engine: Engine
) -> None:
    run(folder, engine, "trials = 2\n")
    (found,) = written(folder)
    assert numbers(folder) == {name: {found["program"]} for name in ("slow", "quick")}
    assert len(History.read(folder.journal).finished) == 2 * 2 * BLOCKS


def test_the_runbook_has_the_number(folder: StudyFolder, engine: Engine) -> None:
    run(folder, engine)
    plan, record = read_plan(folder), read_run(folder, read_plan(folder))
    for system in system_findings(plan, record):
        assert system.recipe
        job = json.loads(system.recipe.jobs["program"])["parameters"]
        assert job["executions"] == written(folder)[0]["program"]
        assert "at_least" not in job


def test_what_was_tried_is_no_time_beside_trials(folder: StudyFolder, engine: Engine) -> None:
    """Else the first block would say that a budget is too short."""
    run(folder, engine)
    entries = read_journal(folder.journal)
    (tried_s,) = (e.event.elapsed_s for e in entries if isinstance(e.event, ExecutionsSet))
    history = History.read(folder.journal)
    trials_s = sum(event.elapsed_s for event in history.finished.values())
    assert tried_s > 2 * AT_LEAST_S
    assert history.in_trials_s == pytest.approx(trials_s + tried_s)


def test_what_fails_is_told_by_its_first_trial(folder: StudyFolder, engine: Engine) -> None:
    program(folder.root / "bin/slow", "exit 3")
    program(folder.root / "bin/quick", f'echo >> "{folder.root}/quick"; exit 3')
    run(folder, engine)
    assert written(folder) == []
    assert len((folder.root / "quick").read_text()) == BLOCKS
    reasons = {event.reason for event in History.read(folder.journal).finished.values()}
    assert all(reason and "3" in reason for reason in reasons)


def alike(number: int, each_s: float) -> Tried:
    return Tried(number, (each_s,) * number)


@pytest.mark.parametrize(
    ("tried", "number"),
    [
        ([alike(4, 0.03), alike(3, 0.04)], 4),
        ([alike(1, 0.3), alike(2, 0.09)], 2),
        ([alike(1, 0.3), alike(50, 0.002)], 3),
        ([alike(1, 0.9), alike(50, 0.002)], 1),
        ([alike(90, 0.0)], 90),
        ([alike(2, 0.06), Tried(3, (0.02, 0.06) * 8)], 16),
        ([alike(1, 0.2), Tried(1, (0.1, 0.3) * 5)], 5),
    ],
    ids=[
        "alike", "one is enough", "far apart", "farther", "all its shell's",
        "scattered: cv² / n ≤ 1 %, of 27 as many as take a second", "the same, slow ones",
    ],
)  # fmt: skip
def test_the_largest_number_counts_unless_systems_are_far_apart(
    tried: list[Tried], number: int
) -> None:
    assert executions_for(tried, Asked(AT_LEAST_S)) == number
    assert executions_for(tried, Asked(AT_LEAST_S, executions=20)) == max(number, 20)


def test_more_than_a_second_stands_where_a_study_asks_for_it() -> None:
    tried = [alike(2, 50.0), alike(60, 1.0)]
    assert executions_for(tried, Asked(60.0)) == 2


def test_scatter_is_tried_for_a_second_at_most() -> None:
    asked = Asked(AT_LEAST_S)
    assert further([0.03] * 4, 0.12, asked) == 26
    assert further([0.09] * 2, 0.18, asked) == 9
    assert further([0.003] * 34, 0.1, asked) == 0
    assert further([0.6], 0.6, asked) == 0
    assert further([0.03] * 4, 1.0, asked) == 26, "a busy host, or a setup"
    assert further([0.0] * 90, 0.2, asked) == 0
    assert further([0.03] * 4, 4.0, asked) == 0, "each is prepared for a second"


def test_later_sessions_keep_the_number_of_the_first(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    for session, number in ((1, 8), (2, 9)):
        own = folder.session(session)
        own.root.mkdir(parents=True, exist_ok=True)
        with Journal.open(own.journal)[0] as journal:
            journal.append(ExecutionsSet(executions={"program": number}, elapsed_s=0.1))
    found = [executions_before(folder, session) for session in (1, 2, 3)]
    assert found == [{}, {"program": 8}, {"program": 8}]
