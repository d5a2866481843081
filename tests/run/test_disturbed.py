"""Disturbed blocks: kept, not counted, and followed by a spare; the same after a kill anywhere."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from support.chained import chained, unchained
from support.runs import (
    NOISE_LIMITS,
    Recording,
    Verdict,
    Watcher,
    directory_system,
    go_on,
    place,
    plan_of,
)
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.run import block, runner
from tiltyard.run.context import Context
from tiltyard.run.history import History
from tiltyard.run.journal import Looked, ReferenceRun, read_journal
from tiltyard.run.read import read_run
from tiltyard.run.record import Amendment, Reason, RunRecord, TrialRecord
from tiltyard.run.runner import run_study

Disturb = Callable[..., None]
KEEP = NOISE_LIMITS.model_copy(update={"disturbed": "keep"})


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy this machine is; reference_runs are written down and take no time."""

    def reference_run(
        context: Context, _: object, number: int, when: Literal["before", "after"]
    ) -> None:
        if context.plan.noise_limits:
            context.journal.append(ReferenceRun(block=number, when=when, cpu_s=0.3, disk_s=None))

    monkeypatch.setattr(block, "run_reference", reference_run)


@pytest.fixture
def disturb(monkeypatch: pytest.MonkeyPatch) -> Disturb:
    """Has the noise limits find these blocks disturbed, and no others."""

    def these(*numbers: int) -> None:
        def check(
            _: History, plan: Plan, number: int, records: Sequence[TrialRecord]
        ) -> tuple[Reason, ...]:
            assert {record.key.block for record in records} == {number}
            assert len(records) == len(plan.systems)
            if number not in numbers:
                return ()
            return (
                Reason(
                    signal="steal", system="a", workload="iozone", value=0.1, limit=0.01,
                    text="the hypervisor took 10 %",
                ),
            )  # fmt: skip

        monkeypatch.setattr(block, "check_block", check)

    return these


def study(tmp_path: Path, **rules: object) -> tuple[StudyFolder, Plan]:
    """Two directories as systems."""
    systems = tuple(directory_system(name, tmp_path / "disk" / name) for name in "ab")
    plan = plan_of(systems, **{"noise_limits": NOISE_LIMITS, **rules})  # type: ignore[arg-type]
    return place(tmp_path / "study", plan), plan


def blocks_of(folder: StudyFolder, plan: Plan) -> list[int]:
    """The block of each trial, in the order in which they ran."""
    return [trial.key.block for trial in read_run(folder, plan).trials]


def looks_of(folder: StudyFolder) -> list[int]:
    """Blocks that counted at each look."""
    events = (entry.event for entry in read_journal(folder.journal))
    return [event.blocks for event in events if isinstance(event, Looked)]


def test_a_spare_takes_the_place_of_a_disturbed_block(
    tmp_path: Path, engine: Engine, disturb: Disturb
) -> None:
    folder, plan = study(tmp_path, blocks=3, looks=(2, 3), spares=1)
    disturb(2)
    watcher = Watcher()
    assert run_study(folder, plan, engine, go_on, watcher) == "all planned blocks are done: 3"
    assert blocks_of(folder, plan) == [1, 1, 2, 2, 3, 3, 4, 4]
    assert looks_of(folder) == [2, 3]
    assert [told for told in watcher.told if told.startswith("block ")] == [
        "block 1/2",
        "block 2/2",
        "block 2 is disturbed: the hypervisor took 10 %; it is kept, and another one counts in its "
        "place",
        "block 3/3",
        "block 4/4",
    ]
    record = read_run(folder, plan)
    assert {number: [r.signal for r in found] for number, found in record.disturbed.items()} == {
        2: ["steal"]
    }


def test_a_spare_that_is_not_needed_is_not_run(
    tmp_path: Path, engine: Engine, disturb: Disturb
) -> None:
    folder, plan = study(tmp_path, blocks=2, spares=2)
    disturb()

    def at_the_last_look(record: RunRecord) -> Verdict:
        return replace(go_on(record), done=max(t.key.block for t in record.trials) == 2)

    run_study(folder, plan, engine, at_the_last_look, Watcher())
    assert blocks_of(folder, plan) == [1, 1, 2, 2]
    assert read_run(folder, plan).disturbed == {}


def test_more_disturbed_blocks_than_spares_end_the_run(
    tmp_path: Path, engine: Engine, disturb: Disturb
) -> None:
    folder, plan = study(tmp_path, blocks=4, looks=(1, 4), spares=1)
    disturb(1, 3)
    reason = run_study(folder, plan, engine, go_on, Watcher())
    assert reason.startswith(
        "2 of 3 blocks are disturbed; a plan of 4 may replace no more than 1. Quieten the host"
    )
    assert blocks_of(folder, plan) == [1, 1, 2, 2, 3, 3]
    assert looks_of(folder) == [1]


def test_even_when_it_is_the_last_of_all_blocks(
    tmp_path: Path, engine: Engine, disturb: Disturb
) -> None:
    folder, plan = study(tmp_path, blocks=2, spares=1)
    disturb(1, 3)
    reason = run_study(folder, plan, engine, go_on, Watcher())
    assert reason.startswith("2 of 3 blocks are disturbed")


def test_where_they_are_kept_they_count(tmp_path: Path, engine: Engine, disturb: Disturb) -> None:
    folder, plan = study(tmp_path, blocks=2, noise_limits=KEEP)
    disturb(1, 2)
    watcher = Watcher()
    assert run_study(folder, plan, engine, go_on, watcher) == "all planned blocks are done: 2"
    assert looks_of(folder) == [2]
    assert set(read_run(folder, plan).disturbed) == {1, 2}
    assert [told[:8] for told in watcher.told if "it counts all the same" in told] == ["block 1 "]


def test_an_older_plan_has_no_gates(tmp_path: Path, engine: Engine, disturb: Disturb) -> None:
    folder, plan = study(tmp_path, blocks=1, noise_limits=None)
    disturb(1)
    run_study(folder, plan, engine, go_on, Watcher())
    assert b"block_checked" not in folder.journal.read_bytes()


def test_killed_anywhere_it_takes_the_same_way(
    tmp_path: Path, engine: Engine, disturb: Disturb
) -> None:
    folder, plan = study(tmp_path, blocks=2, looks=(1, 2), spares=1)
    disturb(1)
    run_study(folder, plan, engine, go_on, Watcher())
    recording = Recording.of(folder)
    ran = [trial.key for trial in read_run(folder, plan).trials]
    for lines in range(1, len(recording.lines), 4):
        recording.killed_after(lines)
        run_study(folder, plan, engine, go_on, Watcher())
        record = read_run(folder, plan)
        assert [trial.key for trial in record.trials] == ran, recording.lines[lines - 1]
        assert looks_of(folder) == [1, 2]
        assert set(record.disturbed) == {1}


def test_a_journal_that_lost_a_trial_of_a_checked_block_is_refused(
    tmp_path: Path, disturb: Disturb, engine: Engine
) -> None:
    folder, plan = study(tmp_path, blocks=2, noise_limits=KEEP)
    disturb(1)
    run_study(folder, plan, engine, go_on, Watcher())
    lines = unchained(folder.journal)
    ends = [number for number, line in enumerate(lines) if b'"trial_finished"' in line]
    for lost in ends:
        folder.journal.write_bytes(chained(lines[:lost] + lines[lost + 1 :]))
        with pytest.raises(UsageError, match=r"lines are missing: block \d+ was complete"):
            read_run(folder, plan)


ADAPT = NOISE_LIMITS.model_copy(update={"disturbed": "adapt"})


def test_where_limits_adapt_a_fifth_is_replaced_and_the_rest_counts(
    tmp_path: Path, engine: Engine, disturb: Disturb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LEVEL_S", 0.01)
    folder, plan = study(tmp_path, blocks=4, spares=1, noise_limits=ADAPT)
    disturb(1, 2, 3, 4, 5)
    watcher = Watcher()
    assert run_study(folder, plan, engine, go_on, watcher) == "all planned blocks are done: 4"
    assert looks_of(folder) == [4]
    told = [line for line in watcher.told if "is disturbed" in line]
    assert [line[:8] for line in told] == ["block 1 ", "block 2 "]
    assert "another one counts in its place" in told[0]
    assert "it counts all the same" in told[1]
    levels = [e for e in read_journal(folder.journal) if e.event.type == "level_taken"]
    assert len(levels) == 1
    recording = Recording.of(folder)
    ran = [trial.key for trial in read_run(folder, plan).trials]
    for lines in range(4, len(recording.lines), 9):
        recording.killed_after(lines)
        run_study(folder, plan, engine, go_on, Watcher())
        assert [trial.key for trial in read_run(folder, plan).trials] == ran


def test_what_the_host_does_anyway_is_not_replaced(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second look at the host would see the same."""
    monkeypatch.setattr(runner, "LEVEL_S", 0.01)
    monkeypatch.setattr(runner, "level_of", lambda _: {"foreign_cpu": 0.2})
    told: list[Reason] = []

    def check(history: History, *_: object) -> tuple[Reason, ...]:
        shares = (0.39, 0.41)
        reasons = tuple(
            Reason(signal="foreign_cpu", system="a", workload="iozone", value=share, limit=0.03,
                   text="busy", usual=share <= 2 * history.usual["foreign_cpu"])
            for share in (shares if told else shares[:1])
        )  # fmt: skip
        told.extend(reasons)
        return reasons

    monkeypatch.setattr(block, "check_block", check)
    folder, plan = study(tmp_path, blocks=4, spares=1, noise_limits=ADAPT)
    run_study(folder, plan, engine, go_on, Watcher())
    course = History.read(folder.journal).course(plan)
    assert (sorted(course.replaced), course.counted) == ([2], [1, 3, 4, 5])


def test_a_person_may_let_them_count_afterwards(
    tmp_path: Path, engine: Engine, disturb: Disturb
) -> None:
    folder, plan = study(tmp_path, blocks=4, looks=(3, 4), spares=1)
    disturb(1, 3)
    ended = run_study(folder, plan, engine, go_on, Watcher())
    assert ended.startswith("2 of 3 blocks are disturbed")
    kept = Amendment(keep=True)
    reason = run_study(folder, plan, engine, go_on, Watcher(), amendment=kept)
    assert reason == "all planned blocks are done: 4"
    assert looks_of(folder)[:2] == [3, 4]
    assert read_run(folder, plan).amended == kept
    before = folder.journal.read_bytes()
    assert run_study(folder, plan, engine, go_on, Watcher(), amendment=kept) == reason
    assert folder.journal.read_bytes() == before


def test_a_budget_that_is_used_up_may_be_lengthened(
    tmp_path: Path, engine: Engine, disturb: Disturb
) -> None:
    folder, plan = study(tmp_path, blocks=2, budget_s=1e-6)
    disturb()
    assert "is used up" in run_study(folder, plan, engine, go_on, Watcher())
    longer = Amendment(budget_s=3600)
    reason = run_study(folder, plan, engine, go_on, Watcher(), amendment=longer)
    assert reason == "all planned blocks are done: 2"
