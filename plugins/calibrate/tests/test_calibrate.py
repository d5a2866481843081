"""A whole calibration: its parts, its going on, and what later studies quote of it."""

from dataclasses import replace

import pytest
from plugins.calibrate.tests.conftest import READS, WANTED, Done

from support.runs import SMOKE, Watcher, directory_system, go_on, place, plan_of
from tiltyard.errors import HostLacksError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host import calibrations
from tiltyard.plan.store import read_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard_calibrate import calibrate as whole
from tiltyard_calibrate.bench import SubjectBench
from tiltyard_calibrate.calibrate import calibrate
from tiltyard_calibrate.model import Calibration


def test_every_part_is_a_study_of_its_own(done: Done) -> None:
    parts = sorted(path.name for path in done.folder.iterdir() if path.is_dir())
    assert parts == [
        "overhead",
        "random_read-delays-1",
        "random_read-same-1",
        "random_read-sensitivity",
    ]
    for part in parts:
        folder = StudyFolder(done.folder / part)
        run = read_run(folder, read_plan(folder))
        assert run.stopped is not None
        assert all(trial.outcome == "done" for trial in run.trials)
        assert not folder.work.exists()


def test_it_states_what_the_parts_show(done: Done) -> None:
    (subject,) = done.found.subjects
    assert (subject.name, subject.kind) == ("random_read", "directory")
    assert subject.same is not None
    assert subject.same.comparisons == 1
    assert subject.same.resolution_percent > 0
    assert [delay.comparisons for delay in subject.delays] == [1, 1, 1]
    assert subject.operation_ns is not None
    assert [delay.delay_ns for delay in subject.delays] == [
        round(share * subject.operation_ns) for share in (0.02, 0.05, 0.1)
    ]
    assert subject.sensitivity is not None
    assert subject.sensitivity.drop > 0.2, "calls that take twice as long are seen on any host"
    assert [one.blocks for one in done.found.overheads] == [7, 7]
    assert 0 < done.found.clock.step_ns < 10_000
    assert [ladder.missing for ladder in done.found.ladders] == [
        "--systems does not name pair",
        "--systems does not name loop-image",
    ]
    assert done.found.remarks == ("tcp_rr was left out: it does not run on directory.",)


def test_a_finished_calibration_is_only_read(done: Done) -> None:
    before = {path: path.stat().st_mtime_ns for path in done.folder.rglob("*.jsonl*")}
    watcher = Watcher()
    again = calibrate(done.folder, WANTED, Engine.find(), watcher)
    assert again == done.found
    assert again.id == done.found.id
    assert {path: path.stat().st_mtime_ns for path in done.folder.rglob("*.jsonl*")} == before
    assert not watcher.records


def test_its_document_reads_back_and_its_id_is_of_all_of_it(done: Done) -> None:
    assert Calibration.model_validate_json(done.found.document()) == done.found
    other = done.found.model_copy(update={"date": "2026-01-01T00:00:00.000+00:00"})
    assert other.id != done.found.id


@pytest.mark.parametrize(
    "other",
    [
        replace(WANTED, disturbed="replace"),
        replace(WANTED, kinds=()),
        replace(WANTED, subjects=(READS,)),
    ],
)
def test_a_folder_holds_one_calibration(done: Done, other: whole.Wanted) -> None:
    with pytest.raises(UsageError, match=r"another calibration is in this folder .* --folder"):
        calibrate(done.folder, other, Engine.find(), Watcher())


def test_that_of_another_kernel_is_not_gone_on_with(
    done: Done, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrations, "kernel", lambda _: "Linux 1.0 x86_64")
    with pytest.raises(UsageError, match="another calibration"):
        calibrate(done.folder, WANTED, Engine.find(), Watcher())


def test_rounds_end_when_the_time_is_used_up(
    done: Done, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr(whole.time, "monotonic", lambda: float(next(clock)))
    rounds: list[tuple[int, bool]] = []
    monkeypatch.setattr(
        SubjectBench, "round", lambda _, number, delays: rounds.append((number, delays))
    )
    remarks: list[str] = []
    bench = SubjectBench(bench=None, subject=READS, place=None)  # type: ignore[arg-type]
    whole._rounds([bench], replace(WANTED, comparisons=9, minutes=4.0), remarks)
    assert rounds == [(1, True), (2, False)]
    assert remarks == ["2 of 9 comparisons fitted in 4:00."]


def test_a_busy_host_is_told_so(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltyard_calibrate.bench.FEWEST_BLOCKS", 1000)
    says = r"^this host is too busy to be calibrated: 0 of 7 .*--keep-disturbed"
    with pytest.raises(HostLacksError, match=says):
        calibrate(done.folder, WANTED, Engine.find(), Watcher())


def test_later_studies_quote_it(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    calibrations.keep(done.found.kept())
    disk = done.folder.parent / "disk"
    systems = (directory_system("a", disk / "a"), directory_system("b", disk / "b"))
    plan = plan_of(systems, workloads=(SMOKE,), blocks=1)
    folder = place(done.folder.parent / "study", plan)
    watcher = Watcher()
    run_study(folder, plan, Engine.find(), go_on, watcher)
    note = read_run(folder, plan).calibration
    assert note is not None
    assert note.id == done.found.id
    assert note.sentence in watcher.told
    assert "in random" in note.sentence
    assert note.sentence.endswith("the workloads of this study were not calibrated.")
    (subject,) = done.found.subjects
    assert subject.same is not None
    assert note.resolution_percent == subject.same.resolution_percent
