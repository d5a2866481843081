import math

from support.synthetic import synthetic_study
from tiltyard.analysis.decision import all_comparisons, decision
from tiltyard.analysis.findings import analyse
from tiltyard.plan.model import TrialKey
from tiltyard.stats.planning import blocks_needed
from tiltyard.stats.sequential import RepeatedInterval

CLEAR = {"xfs": 1.3, "btrfs": 0.7}


def decide(**study):
    return decision(analyse(*synthetic_study(**study)))


def test_done_when_everything_is_decided():
    found = decide(effects=CLEAR, blocks=10)
    assert found.done
    assert found.open == ()
    assert found.reason == "all 3 comparisons are decided after 10 blocks"


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
        "0 of 1 comparison is decided after 14 blocks; "
        "the other 1 could hardly be by the last look, after 20"
    )
    text = findings.workloads[0].index.comparisons[0].sentence
    assert "stopped there, because a decision needs a new study of ≈ " in text
    assert text.endswith(" blocks (80 % chance) and the last look is after 20.")


def test_nothing_is_given_up_early():
    assert not futile(10)[1].done


def test_all_comparisons_are_counted_once():
    findings = analyse(*synthetic_study(workloads=("postmark", "iozone"), blocks=7))
    assert len(all_comparisons(findings)) == findings.family + 6


def with_spares(blocks, failed, spares=2):
    """A study whose plan has two spares, after so many blocks; failed ones lack xfs."""
    plan, run = synthetic_study(("ext4", "xfs"), noise=0.05, blocks=20, failed=lost(failed))
    planned, extra = plan.blocks[:-spares], plan.blocks[-spares:]
    looks = (*plan.design.looks[:-1], plan.design.looks[-1].model_copy(update={"blocks": 18}))
    design = plan.design.model_copy(update={"looks": looks})
    plan = plan.model_copy(update={"blocks": planned, "spares": extra, "design": design})
    trials = tuple(trial for trial in run.trials if trial.key.block <= blocks)
    return analyse(plan, run.model_copy(update={"trials": trials}))


def lost(blocks):
    return [TrialKey(block=block, system="xfs", workload="postmark") for block in blocks]


def test_a_failed_trial_draws_a_replacement_block_and_loses_no_look():
    findings = with_spares(18, failed=[12])
    found = decision(findings)
    assert not found.done
    assert found.reason == (
        "1 of 1 comparison lacks blocks in which trials failed; replacement blocks follow"
    )
    assert found.going_on == {("ext4", "postmark"), ("xfs", "postmark")}
    after = with_spares(19, failed=[12])
    assert decision(after).done
    assert after.look == 18


def test_without_spares_left_the_last_look_takes_what_is_there():
    findings = with_spares(20, failed=[3, 9, 12])
    assert decision(findings).done
    assert findings.complete
    assert findings.look == 17


def test_two_early_failures_do_not_end_a_study():
    found = decide(systems=("ext4", "xfs"), noise=0.05, blocks=7, failed=lost([2, 5]))
    assert not found.done
    assert found.going_on == {("ext4", "postmark"), ("xfs", "postmark")}


def test_a_plan_that_is_too_small_for_any_interval_says_how_many_blocks_are_not():
    """Six comparisons need p ≤ 5 % / 6: 2^(1 − n) is below it from 8 blocks on."""
    four = ("ext4", "xfs", "btrfs", "f2fs")
    shown = all_comparisons(
        analyse(*synthetic_study(four, profile="fixed", fixed_blocks=6, blocks=6))
    )
    (text,) = {found.sentence.partition("; ")[2] for found in shown}
    assert text == "6 blocks are too few for 6 simultaneous intervals, which need 8."
    assert {(found.more_needed, found.new_study_needs) for found in shown} == {(None, 8)}
    enough = analyse(*synthetic_study(four, profile="fixed", fixed_blocks=8, blocks=8))
    assert all(found.low is not None for found in all_comparisons(enough))
    almost = analyse(*synthetic_study(four, profile="fixed", fixed_blocks=7, blocks=7))
    assert all(found.low is None for found in all_comparisons(almost))
    assert {found.new_study_needs for found in all_comparisons(almost)} == {8}


def test_what_the_looks_to_come_do_not_decide_takes_a_new_study_and_its_own_number():
    """It looks once, and has none of these blocks: their means differ by s sqrt(1/n + 1/N)."""
    early, over = (
        analyse(*synthetic_study(("ext4", "xfs"), noise=noise, blocks=blocks, seed=3))
        for noise, blocks in ((0.012, 7), (0.05, 20))
    )
    (soon,), (late,) = map(all_comparisons, (early, over))
    assert soon.more_needed in (3, 7, 13)
    assert soon.new_study_needs is None
    assert f"≈ {soon.more_needed} more blocks needed (80 % chance)" in soon.sentence
    assert late.more_needed is None
    assert f"needs a new study of ≈ {late.new_study_needs} blocks (80 % chance)" in late.sentence
    interval = RepeatedInterval(
        late.blocks, math.log(late.ratio), math.log(late.low), math.log(late.high), late.p, 0.95
    )
    asked = (over.design.spending, [interval], math.log1p(0.02), 0.05)
    assert blocks_needed(*asked, anew=True) == [late.new_study_needs]
    assert late.new_study_needs != blocks_needed(*asked)[0]
