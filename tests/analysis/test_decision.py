from support.synthetic import synthetic_study
from tiltyard.analysis.decision import all_comparisons, decision
from tiltyard.analysis.findings import analyse

CLEAR = {"xfs": 1.3, "btrfs": 0.7}


def decide(**study):
    return decision(analyse(*synthetic_study(**study)))


def test_done_when_everything_is_decided():
    found = decide(effects=CLEAR, blocks=10)
    assert found.done
    assert found.open == ()
    assert found.reason == "all 6 comparisons are decided after 10 blocks"


def test_goes_on_while_the_headline_is_open():
    found = decide(effects=CLEAR, blocks=7)
    assert not found.done
    assert len(found.open) == 3
    assert found.reason.endswith("are open after 7 blocks; the next look is after 10")


def test_ends_at_the_last_look_whatever_is_open():
    found = decide(noise=0.05, blocks=20)
    assert found.done
    assert found.open
    assert found.reason.startswith("the last look, after 20 blocks, is reached; ")


def test_nothing_measured_is_not_a_decision():
    found = decide(blocks=0)
    assert not found.done


def test_a_workload_that_always_fails_is_not_waited_for():
    _, run = synthetic_study(("ext4", "xfs"), ("postmark", "iozone"), blocks=7)
    failed = [trial.key for trial in run.trials if trial.key.workload == "iozone"]
    found = decide(
        systems=("ext4", "xfs"),
        workloads=("postmark", "iozone"),
        effects={"xfs": 1.3},
        blocks=7,
        failed=failed,
    )
    assert found.done


def test_what_is_decided_does_not_go_on():
    """Postmark is decided among 92 cells, IOzone is not: the plan shrinks to the latter."""
    found = decide(
        systems=("ext4", "xfs"),
        workloads=("postmark", "iozone"),
        effects={("xfs", "transactions"): 3.0},
        noise=0.05,
        blocks=14,
    )
    assert found.going_on == {("ext4", "iozone"), ("xfs", "iozone")}


def test_a_system_that_is_decided_against_all_others_does_not_go_on():
    found = decide(effects={"btrfs": 0.4}, noise=0.03, blocks=10)
    assert found.going_on == {("ext4", "postmark"), ("xfs", "postmark")}


def futile(blocks):
    plan, run = synthetic_study(("ext4", "xfs"), noise=0.3, blocks=blocks, seed=3)
    design = plan.design.model_copy(update={"futility": True})
    findings = analyse(plan.model_copy(update={"design": design}), run)
    return findings, decision(findings)


def test_what_can_hardly_be_decided_is_given_up_if_the_study_says_so():
    findings, found = futile(14)
    assert found.done
    assert findings.complete
    assert found.going_on == frozenset()
    assert found.reason == (
        "0 of 2 comparisons are decided after 14 blocks; "
        "the other 2 could hardly be by the last look, after 20"
    )
    text = findings.workloads[0].index.comparisons[0].sentence
    assert "stopped there, because a decision needs " in text
    assert text.endswith(" blocks and the last look is after 20.")


def test_nothing_is_given_up_early():
    assert not futile(10)[1].done


def test_all_comparisons_are_counted_once():
    findings = analyse(*synthetic_study(workloads=("postmark", "iozone"), blocks=7))
    assert len(all_comparisons(findings)) == findings.family + 6
