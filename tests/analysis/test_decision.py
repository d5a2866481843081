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


def test_all_comparisons_are_counted_once():
    findings = analyse(*synthetic_study(workloads=("postmark", "iozone"), blocks=7))
    assert len(all_comparisons(findings)) == findings.family + 6
