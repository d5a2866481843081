"""What a pilot found goes into the plan, if it was about the same systems and workloads."""

from collections.abc import Callable

import pytest

from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.plan.pilot import (
    BLOCKS,
    TRIALS,
    Pilot,
    PilotWorkload,
    hash_of_systems,
    plan_of_pilot,
    read_pilot,
)

Freeze = Callable[[], Plan]


def pilot_for(plan: Plan, **warm_up_s: float) -> Pilot:
    """A pilot that found three trials worth while in every workload."""
    return Pilot(
        ended="2026-11-21T10:00:00Z",
        plan_hash="0" * 64,
        seed=1,
        systems_sha256=hash_of_systems(plan.systems),
        blocks=BLOCKS,
        trials=TRIALS,
        workloads=tuple(
            PilotWorkload(
                name=workload.spec.name,
                hash=workload.hash,
                values={},
                cv_blocks=0.01,
                cv_trials=0.02,
                turn_s=1.0,
                trial_s=1.0,
                trials=3,
                warm_up_s=warm_up_s.get(workload.spec.name, 0.0),
            )
            for workload in plan.workloads
        ),
    )


def test_counts_and_warm_up_are_frozen(folder: StudyFolder, frozen: Freeze) -> None:
    without = frozen()
    folder.pilot_findings.write_bytes(pilot_for(without, postmark=2.5).document())
    plan = frozen()
    assert {w.spec.name: (w.spec.trials, w.warm_up_s) for w in plan.workloads} == {
        "postmark": (3, 2.5),
        "iozone": (3, 0.0),
    }
    assert plan.blocks == without.blocks
    assert Plan.model_validate_json(plan.document()) == plan


def test_a_number_of_trials_in_the_study_stands(folder: StudyFolder, frozen: Freeze) -> None:
    folder.study.write_text(folder.study.read_text() + "trials = 7\n")
    folder.pilot_findings.write_bytes(pilot_for(frozen()).document())
    assert [workload.spec.trials for workload in frozen().workloads] == [3, 7]


def test_without_a_pilot_nothing_changes(frozen: Freeze) -> None:
    plan = frozen()
    assert all(workload.spec.trials is None for workload in plan.workloads)
    assert all(workload.warm_up_s == 0 for workload in plan.workloads)


@pytest.mark.parametrize(
    ("changed", "into", "why"),
    [
        ('"btrfs"', '"f2fs"', "was about other systems than the study"),
        ('"4k"', '"8k"', "did not run iozone as it is in the study"),
    ],
)
def test_a_pilot_of_something_else_is_refused(
    folder: StudyFolder, frozen: Freeze, changed: str, into: str, why: str
) -> None:
    folder.pilot_findings.write_bytes(pilot_for(frozen()).document())
    text = folder.study.read_text()
    if into == '"f2fs"':
        text = text.replace(', "btrfs"', "")
    folder.study.write_text(text.replace(changed, into))
    with pytest.raises(UsageError) as caught:
        frozen()
    assert str(caught.value) == (
        f"{folder.pilot_findings}: this pilot {why}. Delete it, or make another pilot: "
        f"tiltyard plan {folder.root} --pilot"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "ended: Field required"),
        ("no pilot", "Invalid JSON"),
    ],
)
def test_a_damaged_file_is_named(folder: StudyFolder, text: str, said: str) -> None:
    folder.pilot_findings.write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        read_pilot(folder.pilot_findings, (), ())
    assert str(caught.value).startswith(f"{folder.pilot_findings}: ")


def test_a_newer_format_is_called_that(folder: StudyFolder, frozen: Freeze) -> None:
    newer = pilot_for(frozen()).model_copy(update={"format": 2})
    folder.pilot_findings.write_bytes(newer.document())
    with pytest.raises(UsageError, match="a pilot of format 2; this Tiltyard reads format 1"):
        read_pilot(folder.pilot_findings, (), ())


def test_the_pilots_plan_has_few_blocks_of_several_trials(frozen: Freeze) -> None:
    plan = frozen()
    pilot = plan_of_pilot(plan)
    assert (len(pilot.blocks), pilot.spares, pilot.noise_limits) == (5, (), None)
    assert {workload.spec.trials for workload in pilot.workloads} == {3}
    assert len(list(pilot.trials_of(pilot.blocks[0]))) == 3 * 2 * 3
    assert pilot.systems == plan.systems
    assert pilot.seed != plan.seed
    assert pilot == plan_of_pilot(plan), "its order follows from the study's seed"
    assert pilot.blocks != plan.blocks[:5]


def test_a_pilot_finds_relative_paths_where_the_study_has_them(folder: StudyFolder) -> None:
    assert folder.pilot.root == folder.root / "pilot"
    assert folder.pilot.paths_from == folder.root
