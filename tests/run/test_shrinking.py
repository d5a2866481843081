"""What a look has decided is not run any more; the same after a kill anywhere."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.runs import SMOKE, Recording, Verdict, Watcher, directory_system, go_on, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.run.runner import run_study

OTHER = SMOKE.model_copy(update={"name": "other"})
Looks = dict[int, set[tuple[str, str]]]
OPEN: Looks = {
    1: {("a", "other"), ("b", "other"), ("c", "other"), ("a", "iozone"), ("b", "iozone")},
    2: {("a", "other"), ("c", "other")},
}
RAN = [
    "1 a iozone", "1 a other", "1 b iozone", "1 b other", "1 c iozone", "1 c other",
    "2 b iozone", "2 b other", "2 c other", "2 a iozone", "2 a other",
    "3 c other", "3 a other",
]  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> tuple[StudyFolder, Plan]:
    """Three directories, two workloads, a look after each of three blocks."""
    systems = tuple(directory_system(name, tmp_path / "disk" / name) for name in "abc")
    plan = plan_of(systems, workloads=(SMOKE, OTHER), blocks=3, looks=(1, 2, 3))
    return place(tmp_path / "study", plan), plan


def leaving(still_open: Looks) -> Callable[[RunRecord], Verdict]:
    """Looks that leave this open, by the number of the block they come after."""

    def decide(record: RunRecord) -> Verdict:
        block = max(trial.key.block for trial in record.trials)
        everything = go_on(record)
        return replace(everything, going_on=frozenset(still_open.get(block, everything.going_on)))

    return decide


def ran(folder: StudyFolder, plan: Plan) -> list[str]:
    """Every trial, in the order in which they ran."""
    keys = (trial.key for trial in read_run(folder, plan).trials)
    return [f"{key.block} {key.system} {key.workload}" for key in keys]


def test_only_what_is_open_goes_on(study: tuple[StudyFolder, Plan], engine: Engine) -> None:
    folder, plan = study
    watcher = Watcher()
    assert run_study(folder, plan, engine, leaving(OPEN), watcher) == (
        "all planned blocks are done: 3"
    )
    assert ran(folder, plan) == RAN
    record = read_run(folder, plan)
    assert [p.system for p in record.prepared if p.block == 3] == ["c", "a"], "b has no turn"
    assert {block: set(still) for block, still in record.active_pairs.items()} == {
        2: OPEN[1],
        3: OPEN[2],
        4: {(key.split()[1], key.split()[2]) for key in RAN},
    }
    last = watcher.outlooks[-1]
    assert (last.trials_done, last.trials_total, last.left_s) == (13, 13, 0)
    slots = [trial.slot for trial in record.trials]
    assert slots == sorted(slots)


def test_when_nothing_is_open_the_run_ends(study: tuple[StudyFolder, Plan], engine: Engine) -> None:
    folder, plan = study
    reason = run_study(folder, plan, engine, leaving({1: set()}), Watcher())
    assert reason == "nothing is left that further blocks could decide; blocks done: 1"
    assert ran(folder, plan) == RAN[:6]


def test_what_lacks_blocks_after_the_last_look_goes_on_with_spares(
    study: tuple[StudyFolder, Plan], engine: Engine, tmp_path: Path
) -> None:
    _, plan = study
    spared = plan.model_copy(update={"blocks": plan.blocks[:2], "spares": plan.blocks[2:]})
    looks = spared.design.looks[:2]
    spared = spared.model_copy(update={"design": spared.design.model_copy(update={"looks": looks})})
    folder = place(tmp_path / "spared", spared)
    reason = run_study(folder, spared, engine, leaving(OPEN), Watcher())
    assert reason == "all planned blocks are done: 2"
    assert ran(folder, spared) == RAN


def test_killed_anywhere_it_takes_the_same_way(
    study: tuple[StudyFolder, Plan], engine: Engine
) -> None:
    folder, plan = study
    run_study(folder, plan, engine, leaving(OPEN), Watcher())
    recording = Recording.of(folder)
    for lines in range(len(recording.lines) - 18, len(recording.lines), 5):
        recording.killed_after(lines)
        run_study(folder, plan, engine, leaving(OPEN), Watcher())
        assert ran(folder, plan) == RAN, recording.lines[lines - 1]


def test_the_outlook_follows(study: tuple[StudyFolder, Plan], engine: Engine) -> None:
    folder, plan = study
    watcher = Watcher()
    run_study(folder, plan, engine, leaving(OPEN), watcher)
    totals = [outlook.trials_total for outlook in watcher.outlooks]
    assert totals == sorted(totals, reverse=True)
    assert set(totals) == {18, 16, 13}
    assert [o.trials_to_look for o in watcher.outlooks][-1] == 13
