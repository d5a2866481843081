import pytest

from support.synthetic import factorial_study, synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.plan.model import Plan
from tiltyard.run.record import IsolationNote, TrialRecord


def test_the_design_is_told_with_its_numbers():
    text = analyse(*synthetic_study(blocks=7, seed=4711)).design_sentence
    assert "(seed 4711)" in text
    assert "over the looks after 7, 10, 14 and 20 blocks (error rate 4.9 % for one" in text
    assert "Corrected are the 3 of the workloads as a whole by Holm at 5 %" in text
    assert "differ by less than 2 % count as equivalent" in text


def test_the_family_of_a_grid_is_told_with_its_size():
    text = analyse(*synthetic_study(workloads=("postmark", "iozone"), blocks=7)).design_sentence
    assert "The 273 comparisons of the grid are corrected together by Benjamini–Hochberg" in text


def test_a_fixed_and_a_strict_design_are_told_as_such():
    fixed = analyse(*synthetic_study(blocks=8, profile="fixed", fixed_blocks=8))
    assert "at the one look, after 8 blocks (" in fixed.design_sentence
    strict = analyse(*synthetic_study(blocks=7, strict=True))
    assert "and 20 blocks, whatever the noise level (" in strict.design_sentence


def test_conditions_are_told_as_granted():
    text = analyse(*synthetic_study(blocks=7)).conditions_sentence
    assert "Measuring threads were pinned to CPU 0." in text
    assert "Idle spinners kept awake CPU 1." in text
    assert "Access: in-cache, verified by counters in each trial." in text
    assert "22.5 ns for reading the clock" in text
    assert "Other processes used 0.4 % of a core" in text


def test_without_a_trial_nothing_is_claimed():
    assert analyse(*synthetic_study(blocks=0)).conditions_sentence == "No trial is done yet."


def test_the_share_of_hits_is_told_when_out_of_cache():
    found = {"declared": "out-of-cache", "delivered": 0.987, "memory_limit_bytes": 24 * 2**20}

    def change(trial: TrialRecord) -> TrialRecord:
        assert trial.end is not None
        assert trial.end.access is not None
        access = trial.end.access.model_copy(update=found)
        return trial.model_copy(update={"end": trial.end.model_copy(update={"access": access})})

    plan, run = synthetic_study(blocks=7)
    run = run.model_copy(update={"trials": tuple(change(trial) for trial in run.trials)})
    text = analyse(plan, run).conditions_sentence
    assert "Access: out-of-cache, verified" in text
    assert "the device delivered at least 98.7 % of the bytes of each read test" in text
    assert "a page cache of no more than 24" in text


def test_whole_cores_of_others_are_said_without_an_exponent() -> None:
    findings = analyse(*synthetic_study(blocks=7, foreign_share=1.743))
    assert "Other processes used 174 % of a core" in findings.conditions_sentence


def test_effects_and_trials_in_a_turn_are_part_of_the_design() -> None:
    one = analyse(*synthetic_study(blocks=7)).design_sentence
    assert "effects" not in one
    assert "averaged" not in one
    plan, run = factorial_study({"filesystem": ("ext4", "xfs"), "mount": ("a", "b")}, blocks=7)
    text = analyse(plan, run).design_sentence
    assert "the 5 effects of factors are a family corrected like the grid" in text
    spec = plan.workloads[0].spec.model_copy(update={"trials": 3})
    several = plan.workloads[0].model_copy(update={"spec": spec})
    text = analyse(plan.model_copy(update={"workloads": (several,)}), run).design_sentence
    assert "Trials in one turn (3 of postmark) are averaged, and count as one value." in text


def asking(plan: Plan, **conditions: object) -> Plan:
    asked = plan.conditions.model_copy(update=conditions)
    return plan.model_copy(update={"conditions": asked})


def test_isolation_is_told_as_asked_and_as_granted() -> None:
    plan, run = synthetic_study(blocks=7)
    plan = asking(plan, cpus=(0,), isolate=True)
    note = IsolationNote(granted=True, text="CPU 0 for what measures alone")
    found = analyse(plan, run.model_copy(update={"isolation": note}))
    assert (
        "Isolation of CPU 0 was asked for and granted: CPU 0 for what measures alone."
        in found.conditions_sentence
    )
    assert not [one for one in found.notices if "not granted" in one.text]
    note = IsolationNote(granted=False, text="only root can keep others off a CPU")
    found = analyse(plan, run.model_copy(update={"isolation": note}))
    assert "CPU 0 was asked for and not granted: only root" in found.conditions_sentence
    assert [one for one in found.notices if "that was not granted: only root" in one.text]


def test_a_node_is_told_as_asked_and_as_granted() -> None:
    plan, run = synthetic_study(blocks=7)
    plan = asking(plan, numa=1)
    found = analyse(plan, run)
    assert "NUMA node 1 were asked for and not granted in all" in found.conditions_sentence
    assert [one for one in found.notices if "memory of NUMA node 1" in one.text]
    found = analyse(plan, run.model_copy(update={"trials": tuple(map(on_node_1, run.trials))}))
    assert "NUMA node 1 were asked for and granted." in found.conditions_sentence


def on_node_1(trial: TrialRecord) -> TrialRecord:
    assert trial.hello is not None
    granted = trial.hello.conditions.model_copy(update={"numa": 1})
    return trial.model_copy(
        update={"hello": trial.hello.model_copy(update={"conditions": granted})}
    )


def test_other_cpus_than_those_asked_for_are_told() -> None:
    plan, run = synthetic_study(blocks=7)
    assert "asked" not in analyse(asking(plan, cpus=(0, 1)), run).conditions_sentence
    text = analyse(asking(plan, cpus=(3,)), run).conditions_sentence
    assert "Pinning to CPU 3 was asked for." in text


@pytest.mark.parametrize(
    ("effective", "told"),
    [
        ({"executions": 9}, True),
        ({"executions": 9, "at_least": 0.0}, True),
        ({"executions": 1, "at_least": 0.1}, False),
    ],
    ids=["found", "found, in full", "until a time has passed, in older studies"],
)
def test_executions_that_the_run_has_set_are_told(effective: dict[str, float], told: bool) -> None:
    plan, run = synthetic_study(workloads=("postmark",), blocks=7)
    (workload,) = plan.workloads
    workload = workload.model_copy(update={"program": {"command": ["x"], "at_least": 0.1}})
    trials = []
    for trial in run.trials:
        assert trial.hello
        hello = trial.hello.model_copy(update={"effective": effective})
        trials.append(trial.model_copy(update={"hello": hello}))
    run = run.model_copy(update={"trials": tuple(trials)})
    text = analyse(plan.model_copy(update={"workloads": (workload,)}), run).conditions_sentence
    assert ("9 executions in each trial, as was found in the first block." in text) is told
