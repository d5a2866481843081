"""Whole tiny studies on directories, with the real engine."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.chained import chained, unchained
from support.runs import SMOKE, Verdict, Watcher, directory_system, go_on, place, plan_of
from support.said import said_in
from tiltyard.errors import (
    HostLacksError,
    InterruptedRunError,
    RefusedError,
    TrialsFailedError,
    UsageError,
)
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Further, Plan
from tiltyard.run import runner
from tiltyard.run.lock import hold_lock, running_pid
from tiltyard.run.read import read_run
from tiltyard.run.record import Amendment, RunRecord
from tiltyard.run.runner import run_study
from tiltyard.run.stream import kept
from tiltyard.study.model import WorkloadSpec

FAILS = WorkloadSpec(name="fails", use="iozone", parameters={"file": "64k", "record": "128k"})


def study(tmp_path: Path, *extra: WorkloadSpec, **rules: object) -> tuple[StudyFolder, Plan]:
    """Two directories as systems."""
    systems = (
        directory_system("a", tmp_path / "disk" / "a"),
        directory_system("b", tmp_path / "disk" / "b"),
    )
    plan = plan_of(systems, workloads=(SMOKE, *extra), **rules)  # type: ignore[arg-type]
    return place(tmp_path / "study", plan), plan


def test_a_whole_run(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, blocks=2)
    watcher = Watcher()
    assert run_study(folder, plan, engine, go_on, watcher) == "all planned blocks are done: 2"
    record = read_run(folder, plan)
    assert [trial.key.system for trial in record.trials] == ["a", "b", "b", "a"]
    assert [trial.slot for trial in record.trials] == [1, 2, 3, 4]
    assert all(trial.outcome == "done" and trial.samples for trial in record.trials)
    assert [trial.key for trial in watcher.records] == [trial.key for trial in record.trials]
    assert (record.starts, record.resumed_blocks) == (1, ())
    assert record.stopped == "all planned blocks are done: 2"
    assert record.host["kernel"].startswith("Linux")
    assert len(record.prepared) == 4
    assert not folder.work.exists()
    assert not list((tmp_path / "disk").glob("*/*"))


def test_the_end_is_the_end(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, blocks=1)
    first = run_study(folder, plan, engine, go_on, Watcher())
    journal = folder.journal.read_bytes()
    again = Watcher()
    assert run_study(folder, plan, engine, go_on, again) == first
    assert folder.journal.read_bytes() == journal
    assert not again.records


def test_a_look_can_end_the_run(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, blocks=3, looks=(1, 2, 3))
    seen: list[int] = []

    def decide(record: RunRecord) -> Verdict:
        seen.append(len(record.trials))
        return replace(go_on(record), done=len(seen) == 2, reason="a is faster")

    watcher = Watcher()
    assert run_study(folder, plan, engine, decide, watcher) == "a is faster"
    assert seen == [2, 4]
    assert watcher.told.count("looked after 1: a is faster") == 1
    assert "block 2/2" in watcher.told


def test_a_look_is_taken_once_even_if_the_run_ends_right_after_it(
    tmp_path: Path, engine: Engine
) -> None:
    folder, plan = study(tmp_path, blocks=1)
    reason = run_study(folder, plan, engine, lambda _: Verdict(True, "decided"), Watcher())
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    assert b'"stopped"' in lines[-1]
    folder.journal.write_bytes(b"".join(lines[:-1]))

    def never(_: RunRecord) -> Verdict:
        raise AssertionError("looked twice")

    assert run_study(folder, plan, engine, never, Watcher()) == reason == "decided"


def test_a_failed_trial_is_kept_and_the_study_goes_on(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, FAILS, blocks=1)
    run_study(folder, plan, engine, go_on, Watcher())
    trials = read_run(folder, plan).trials
    assert [trial.outcome for trial in trials] == ["done", "failed"] * 2
    assert all((trial.reason is None) == (trial.outcome == "done") for trial in trials)
    assert all((folder.root / trial.file).is_file() for trial in trials)


def test_stop_on_failure(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, FAILS, blocks=1)
    with pytest.raises(TrialsFailedError, match=r"block 1, a, fails: .*goes on without it"):
        run_study(folder, plan, engine, go_on, Watcher(), stop_on_failure=True)
    assert len(read_run(folder, plan).trials) == 2
    run_study(folder, plan, engine, go_on, Watcher())
    assert len(read_run(folder, plan).trials) == 4


def test_a_budget_that_ends_before_the_first_look_says_so(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, blocks=3, budget_s=1e-6)
    reason = run_study(folder, plan, engine, go_on, Watcher())
    assert "is used up, blocks done: 0; too few for a verdict, which needs 3" in reason


def test_after_the_first_block_it_is_said_that_not_even_the_first_look_fits(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expecting(left_s: float) -> list[str]:
        folder, plan = study(tmp_path / f"{left_s}", blocks=3, budget_s=3600)
        monkeypatch.setattr(runner, "outlook", lambda *_: SimpleNamespace(left_to_look_s=left_s))
        watcher = Watcher()
        run_study(folder, plan, engine, go_on, watcher)
        return [text for text in watcher.told if "too short for a verdict" in text]

    (told,) = expecting(7200.0)
    assert "the first look, after 3 blocks, takes about 2:00:" in told
    assert expecting(60.0) == []


def test_after_a_look_no_block_is_begun_that_does_not_fit(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, blocks=3, looks=(1, 3), budget_s=3600)

    def stop_here(_: RunRecord) -> Verdict:
        raise InterruptedRunError("stop here")

    with pytest.raises(InterruptedRunError):
        run_study(folder, plan, engine, stop_here, Watcher())
    *lines, last = unchained(folder.journal)
    nearly_an_hour = re.sub(rb'"t_s":[0-9.]+', b'"t_s":3599.999', last)
    folder.journal.write_bytes(chained([*lines, nearly_an_hour]))
    reason = run_study(folder, plan, engine, go_on, Watcher())
    assert re.fullmatch(
        r"the budget of 1:00:00 is used up, blocks done: 1; the next one would take about .*",
        reason,
    )
    assert len(read_run(folder, plan).trials) == 2


def test_blocks_beyond_some_are_begun_while_they_cost_little(
    tmp_path: Path, engine: Engine
) -> None:
    folder, plan = study(tmp_path, blocks=3)
    plan = plan.model_copy(update={"further": Further(beyond=2, within_s=1e-6)})
    folder.plan.write_bytes(plan.document())
    reason = run_study(folder, plan, engine, go_on, Watcher())
    assert reason.startswith("without a budget, blocks beyond 2 are begun in the first ")
    assert reason.endswith(", blocks done: 2")
    assert read_run(folder, plan).stopped == reason
    longer = Amendment(budget_s=3600)
    reason = run_study(folder, plan, engine, go_on, Watcher(), amendment=longer)
    assert reason == "all planned blocks are done: 3"


def test_a_budget_is_a_limit_before_blocks_that_would_be_free_without_one(
    tmp_path: Path, engine: Engine
) -> None:
    folder, plan = study(tmp_path, blocks=3, looks=(1, 3))
    plan = plan.model_copy(update={"further": Further(beyond=2, within_s=3600)})
    folder.plan.write_bytes(plan.document())
    short = Amendment(budget_s=1e-6)
    reason = run_study(folder, plan, engine, go_on, Watcher(), amendment=short)
    assert reason.startswith("the budget of ")
    assert len(read_run(folder, plan).trials) == 0


def test_two_runs_cannot_meet(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path)
    assert running_pid(folder) is None
    with hold_lock(folder):
        pid = running_pid(folder)
        assert pid is not None
        with pytest.raises(RefusedError, match=f"process {pid} is running this study already"):
            run_study(folder, plan, engine, go_on, Watcher())
    assert running_pid(folder) is None


def test_a_system_that_cannot_come_up_here_is_refused_before_anything(
    tmp_path: Path, engine: Engine
) -> None:
    folder, plan = study(tmp_path)
    (tmp_path / "disk" / "b").rmdir()
    with pytest.raises(HostLacksError, match=r"^b: .*disk/b does not exist; mkdir -p"):
        run_study(folder, plan, engine, go_on, Watcher())
    assert read_run(folder, plan).starts == 0


def test_another_plan_is_refused(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, blocks=1)
    run_study(folder, plan, engine, go_on, Watcher())
    other = plan.model_copy(update={"seed": 2})
    with pytest.raises(UsageError, match="belongs to another plan"):
        read_run(folder, other)


@pytest.mark.parametrize("harm", ["change", "remove"])
def test_a_trial_that_was_tampered_with_is_found(tmp_path: Path, engine: Engine, harm: str) -> None:
    folder, plan = study(tmp_path, blocks=1)
    run_study(folder, plan, engine, go_on, Watcher())
    victim = sorted(folder.trials.iterdir())[0]
    if harm == "change":
        victim.write_bytes(kept(said_in(victim).replace(b'"value":', b'"value":1', 1)))
    else:
        victim.unlink()
    with pytest.raises(UsageError, match=victim.name):
        read_run(folder, plan)


def test_the_outlook_counts_down(tmp_path: Path, engine: Engine) -> None:
    folder, plan = study(tmp_path, blocks=2, looks=(1, 2))
    watcher = Watcher()
    run_study(folder, plan, engine, go_on, watcher)
    assert watcher.outlooks[0].left_s is None
    assert [o.trials_done for o in watcher.outlooks] == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert {o.trials_total for o in watcher.outlooks} == {4}
    assert [o.trials_to_look for o in watcher.outlooks] == [2, 2, 2, 2, 2, 4, 4, 4, 4]
    assert watcher.outlooks[-1].left_s == 0
