"""Disturbed blocks in the findings: counted, explained, tested against systems, and put back."""

from collections.abc import Collection
from io import StringIO
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from support.runs import NOISE_LIMITS
from support.synthetic import synthetic_study
from tiltyard.analysis.decision import all_comparisons, decision
from tiltyard.analysis.disturbed import too_many_disturbed
from tiltyard.analysis.disturbed_model import DisturbedBlocks
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.analysis.statements.disturbances import left_out
from tiltyard.plan.model import Plan
from tiltyard.report import terminal
from tiltyard.run.progress import progress_of
from tiltyard.run.record import Reason, RunRecord, TrialRecord
from tiltyard.run.samples import Samples

SYSTEMS = ("ext4", "xfs")


def reason(system: str | None, signal: str = "foreign_cpu", value: float = 0.2) -> Reason:
    return Reason(
        signal=signal,
        system=system,
        workload="postmark" if system else None,
        value=value,
        limit=0.03,
        text=f"{signal} {value:g} on {system}",
    )


def study(
    blocks: int = 14,
    disturbed: Collection[int] = (),
    *,
    systems: tuple[str, ...] = SYSTEMS,
    policy: str = "replace",
    slowed: float = 1.0,
    by: Any = lambda _: (reason("ext4"),),
    stopped: str | None = "the last look",
    **kind: Any,
) -> tuple[Plan, RunRecord]:
    """A study with some disturbed blocks, in which xfs was slowed by a factor.

    The last quarter of the plan's blocks are its spares.
    """
    plan, run = synthetic_study(systems, blocks=blocks, **kind)
    planned = plan.blocks[: round(0.8 * len(plan.blocks))]
    noise_limits = NOISE_LIMITS.model_copy(update={"disturbed": policy})
    looks = tuple(look for look in plan.design.looks if look.blocks <= len(planned))
    plan = plan.model_copy(
        update={
            "noise_limits": noise_limits,
            "blocks": planned,
            "spares": plan.blocks[len(planned) :] if policy == "replace" else (),
            "design": plan.design.model_copy(update={"looks": looks}),
        }
    )
    trials = tuple(
        slower(trial, slowed)
        if trial.key.block in disturbed and trial.key.system == "xfs"
        else trial
        for trial in run.trials
    )
    reasons = {number: by(number) for number in disturbed}
    update = {"disturbed": reasons, "trials": trials, "stopped": stopped}
    return plan, run.model_copy(update=update)


def slower(trial: TrialRecord, factor: float) -> TrialRecord:
    samples = tuple(replace(sample, value=sample.value / factor) for sample in trial.samples)
    return trial.model_copy(update={"samples": Samples.of(samples)})


def disturbed_of(findings: Findings) -> DisturbedBlocks:
    assert findings.disturbed is not None
    return findings.disturbed


def verdicts(findings: Findings) -> set[str]:
    return {found.verdict for found in all_comparisons(findings)}


def test_nothing_is_said_where_nothing_is_disturbed() -> None:
    assert analyse(*study()).disturbed is None


def test_replaced_blocks_are_counted_and_explained() -> None:
    reasons = {
        3: (reason("ext4"), reason("xfs", value=0.3), reason(None, "reference_run")),
        5: (reason("ext4", "swap"),),
    }
    found = disturbed_of(analyse(*study(12, {3, 5}, by=reasons.get)))
    assert found.blocks == (3, 5)
    assert found.share == pytest.approx(2 / 12)
    assert found.reasons == {
        3: ("foreign_cpu 0.3 on xfs, and in 1 more", "reference_run 0.2 on None"),
        5: ("swap 0.2 on ext4",),
    }
    assert found.by_system == {"ext4": 2, "xfs": 1}
    assert found.sentence == (
        "2 of 12 blocks (17 %) are disturbed, kept and replaced by others. Causes: CPU "
        "time of other processes (1), the reference run (1), swapping (1). Turns disturbed: "
        "2 of 3 on ext4, 1 of 3 on xfs. With or without them, every "
        "headline verdict is the same."
    )


def test_interference_with_one_system_is_a_result() -> None:
    plan, run = study(14, set(range(1, 9)), policy="keep")
    found = disturbed_of(analyse(plan, run))
    # 8 of 14 against 0 of 14: Σ hypergeometric, both tails.
    assert found.related_p == pytest.approx(2 * 3003 / 3108105, rel=1e-9)
    assert (
        "Turns disturbed: 8 of 8 on ext4; that is related to the system (Fisher's exact test, p = "
        "0.0019): treat it as a result, not as noise." in found.sentence
    )


def test_few_disturbed_blocks_on_one_side_are_told_by_count() -> None:
    """So few of them are no rarer by chance than one in twenty."""
    found = disturbed_of(analyse(*study(14, set(range(1, 6)), policy="keep")))
    assert found.related_p == pytest.approx(2 * 2002 / 98280, rel=1e-9)
    assert "Turns disturbed: 5 of 5 on ext4; that is related" in found.sentence


def test_interference_with_all_alike_is_noise() -> None:
    found = disturbed_of(analyse(*study(14, {2, 4}, by=lambda _: (reason("ext4"), reason("xfs")))))
    assert found.related_p == 1.0
    assert "related" not in found.sentence


def test_where_no_system_was_named_there_is_nothing_to_relate() -> None:
    found = disturbed_of(analyse(*study(14, {2}, by=lambda _: (reason(None, "reference_run"),))))
    assert found.related_p is None


def test_three_systems_are_tested_together_and_alike_each_time() -> None:
    plan, run = synthetic_study(blocks=20)
    run = run.model_copy(update={"disturbed": {n: (reason("ext4"),) for n in range(1, 11)}})
    plan = plan.model_copy(
        update={"noise_limits": NOISE_LIMITS.model_copy(update={"disturbed": "keep"})}
    )
    first, again = (disturbed_of(analyse(plan, run)).related_p for _ in range(2))
    assert first == again
    assert first is not None
    assert first < 0.01


@pytest.mark.parametrize("policy", ["replace", "keep"])
def test_what_the_disturbed_blocks_would_have_changed(policy: str) -> None:
    plan, run = study(12, {1, 4}, policy=policy, slowed=40, noise=0.004, effects={"xfs": 1.08})
    findings = analyse(plan, run)
    (line,) = disturbed_of(findings).sensitivity
    assert line.label.startswith("xfs against ext4, postmark")
    assert line.without.startswith("faster: +")
    assert line.with_disturbed.startswith("undecided: ")
    assert line.changed
    other = "With" if policy == "replace" else "Without"
    assert disturbed_of(findings).sentence.endswith(
        f"{other} them, 1 of 1 headline verdicts would change."
    )
    (index,) = findings.workloads[0].index.comparisons
    assert index.verdict == ("faster" if policy == "replace" else "undecided")


def test_an_end_at_equality_that_is_not_in_the_interval_says_so() -> None:
    """Two of three pairs are far apart, so that Holm's procedure shows the third one too."""
    effects = {"xfs": 1.03, "btrfs": 0.5}
    plan, run = study(12, {1, 4}, systems=(*SYSTEMS, "btrfs"), noise=0.03, effects=effects)
    line = disturbed_of(analyse(plan, run)).sensitivity[0]
    assert line.label.startswith("xfs against ext4")
    assert line.without == "faster: > 0.0 to +8.8 % after 10 blocks"


def test_more_than_a_fifth_leaves_no_verdict() -> None:
    plan, run = study(14, {1, 4, 6}, effects={"xfs": 1.5})
    findings = analyse(plan, run)
    assert verdicts(findings) == {"invalid"}
    assert findings.workloads[0].answer.endswith(
        "on this host: 3 of 14 blocks are disturbed, more than 20 %."
    )
    assert findings.notices[0].severity == "problem"
    assert findings.notices[0].text == (
        "3 of 14 blocks are disturbed, more than 20 %: there is no verdict."
    )
    (index,) = findings.workloads[0].index.comparisons
    assert index.sentence.endswith("invalid; 3 of 14 blocks are disturbed, more than 20 %.")


def test_a_fifth_is_not_more_than_a_fifth() -> None:
    findings = analyse(*study(10, {1, 4}, effects={"xfs": 1.5}))
    assert "invalid" not in verdicts(findings)


def test_a_run_that_can_come_below_goes_on() -> None:
    plan, run = study(9, {1, 4}, effects={"xfs": 1.5}, stopped=None)
    findings = analyse(plan, run)
    assert verdicts(findings) == {"undecided"}
    assert not decision(findings).done
    withheld = too_many_disturbed(run, progress_of(plan, run))
    assert withheld is not None
    assert withheld.verdict == "undecided"
    stopped = run.model_copy(update={"stopped": "the budget is used up"})
    assert verdicts(analyse(plan, stopped)) == {"invalid"}


def test_blocks_that_count_although_disturbed_are_told_once() -> None:
    plan, run = study(10, {1, 4, 5}, policy="keep", foreign_share=0.2)
    findings = analyse(plan, run)
    assert "invalid" not in verdicts(findings)
    told = [notice.text for notice in findings.notices if notice.severity == "warning"]
    assert sum("Under load: 3 of the 10 blocks that count were disturbed" in t for t in told) == 1
    assert findings.under_load.startswith("3 of the 10 blocks")
    assert not any("other processes used" in text for text in told)


def test_a_quota_is_no_activity_of_others() -> None:
    by_quota = study(10, {1}, policy="keep", by=lambda _: (reason("ext4", "quota"),))
    findings = analyse(*by_quota)
    told = "1 of the 10 blocks that count was disturbed by a quota of CPU time"
    assert findings.under_load == told
    assert "Causes: a quota of CPU time (1)." in disturbed_of(findings).sentence
    (advice,) = [one.advice for one in findings.notices if one.text.startswith("Under load")]
    assert advice is not None
    assert advice.startswith("Lift the quota of the control group")
    plan, run = by_quota
    both = {**run.disturbed, 4: (reason("ext4"),)}
    found = analyse(plan, run.model_copy(update={"disturbed": both}))
    assert found.under_load.endswith("disturbed by other activity on the host")


def test_the_first_block_of_three_systems_can_be_a_disturbed_one() -> None:
    plan, run = synthetic_study(("ext4", "xfs", "btrfs"), blocks=1)
    kept = plan.model_copy(
        update={"noise_limits": NOISE_LIMITS.model_copy(update={"disturbed": "keep"})}
    )
    disturbed = run.model_copy(update={"disturbed": {1: (reason("ext4"),)}})
    assert disturbed_of(analyse(kept, disturbed)).related_p == 1.0


@pytest.mark.parametrize("policy", ["keep", "adapt"])
def test_a_verdict_on_disturbed_blocks_is_marked_and_its_interval_is_as_ever(policy: str) -> None:
    kind = {"noise": 0.004, "effects": {"xfs": 1.08}}
    quiet, loud = study(12, **kind), study(12, {1, 4, 5, 9}, policy=policy, **kind)
    findings, marked = analyse(*quiet), analyse(*loud)
    assert findings.under_load == ""
    assert marked.under_load.startswith("4 of the 12 blocks that count were disturbed")
    (before,), (after,) = (one.workloads[0].index.comparisons for one in (findings, marked))
    if policy == "keep":
        assert (after.low, after.high, after.verdict) == (before.low, before.high, "faster")
    assert "under load" not in printed(findings)
    assert "faster, under load" in printed(marked)
    assert any(notice.text.startswith("Under load: 4 of the 12") for notice in marked.notices)


def test_nothing_decided_is_the_first_line() -> None:
    undecided = analyse(*study(12, noise=0.05))
    (found,) = undecided.workloads[0].index.comparisons
    assert found.verdict == "undecided"
    assert printed(undecided).startswith("No verdict: xfs against ext4")
    needs = f"a new study of ≈ {found.new_study_needs} blocks (80 % chance)"
    assert f"a decision needs {needs}" in " ".join(printed(undecided).split())


def printed(findings: Findings) -> str:
    console = Console(file=StringIO(), width=80, color_system=None)
    console.print(terminal.verdicts(findings))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def used(findings: Findings) -> int:
    """Trials that any verdict rests on: of two systems, one workload."""
    return 2 * findings.look


def test_trials_of_which_no_verdict_is_made_are_counted() -> None:
    for disturbed in ((), {3, 5}):
        found = analyse(*study(12, disturbed, noise=0.1))
        assert found.look
        left = found.trials_replaced + found.trials_later
        assert found.trials_kept - left == used(found)
        assert found.trials_replaced == 2 * len(disturbed)
        if not left:
            assert left_out(found) == "none is excluded"
    assert "4 in blocks that were replaced" in left_out(found)


def test_blocks_after_the_last_look_are_not_said_to_count() -> None:
    plan, run = study(12, noise=0.1)
    looks = tuple(look for look in plan.design.looks if look.blocks <= 7)
    plan = plan.model_copy(update={"design": plan.design.model_copy(update={"looks": looks})})
    found = analyse(plan, run)
    assert found.trials_later == found.trials_kept - used(found) > 0
    assert left_out(found) == (
        f"{found.trials_later} in blocks after the last look count for no verdict"
    )


def test_too_few_blocks_are_no_other_verdict() -> None:
    """Without the disturbed blocks there is no look: nothing is said of the verdict."""
    found = disturbed_of(
        analyse(*study(12, set(range(1, 10)), policy="keep", effects={"xfs": 1.2}))
    )
    (line,) = found.sensitivity
    assert line.too_few
    assert not line.changed
    assert found.sentence.endswith(
        "Too few undisturbed blocks are left to repeat 1 of 1 headline verdict."
    )
    assert "would change" not in found.sentence
