"""The gate: which side of the margin each headline lies on, and what the family comes to."""

import pytest

from support.synthetic import synthetic_study
from tiltyard.analysis.disturbed import too_many_disturbed
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.gate import Gate, gate, gate_decision
from tiltyard.analysis.model import Findings
from tiltyard.plan.model import TrialKey
from tiltyard.run.progress import progress_of

SYSTEMS = ("base", "head")


def found(effect: float = 1.0, noise: float = 0.01, **rules: object) -> Findings:
    study = synthetic_study(SYSTEMS, effects={"head": effect}, noise=noise, **rules)  # type: ignore[arg-type]
    return analyse(*study)


@pytest.mark.parametrize(
    ("effect", "noise", "outcome", "result"),
    [
        (1.0, 0.01, "within", "passed"),
        (1.3, 0.02, "improvement", "passed"),
        (0.7, 0.02, "regression", "regression"),
        (0.97, 0.1, "undecided", "undecided"),
    ],
)
def test_the_side_of_the_margin_decides(
    effect: float, noise: float, outcome: str, result: str
) -> None:
    """Transactions: more is better."""
    judged = gate(found(effect, noise), 0.03)
    (line,) = judged.headlines
    assert (line.outcome, judged.result) == (outcome, result)
    assert line.direction == "higher"
    assert line.low is not None
    assert line.high is not None
    assert line.ratio is not None
    assert line.low <= line.ratio <= line.high
    assert (line.system, line.against) == ("head", "base")


def test_nothing_is_improved_that_the_report_does_not_call_better() -> None:
    """An interval on the good side of 1 and within the equivalence margin is an equivalence."""
    findings = found(1.008, 0.001, equivalent_within=0.02)
    (cell,) = findings.workloads[0].cells
    assert [pair.verdict for pair in cell.comparisons] == ["equivalent"]
    judged = gate(findings, 0.03)
    (line,) = judged.headlines
    assert line.low is not None
    assert line.low > 1
    assert line.outcome == "within"
    assert judged.sentence == "no regression beyond 3 % in 1 headline"


@pytest.mark.parametrize("effect", [0.985, 0.9])
def test_an_undecided_gate_says_what_would_decide_it(effect: float) -> None:
    """Transactions: so many blocks of a new study decide it, four times of five."""
    judged = gate(found(effect, 0.2, blocks=20), 0.03)
    (line,) = judged.headlines
    assert line.outcome == "undecided"
    assert judged.blocks_needed is None or judged.blocks_needed > 20
    assert gate(found(effect, 0.2, blocks=20), judged.margin_reached + 1e-9).result == "passed"
    assert gate(found(effect, 0.2, blocks=20), judged.margin_reached - 1e-3).result == "undecided"
    assert gate(found(1.0), 0.03).blocks_needed == 0
    assert gate(found(1.0, blocks=3), 0.03).blocks_needed is None


def test_a_time_is_worse_when_it_is_longer() -> None:
    """The same data as a time: the ratio is turned, the outcome with it."""
    findings = found(1.3, 0.02)
    (workload,) = findings.workloads
    (cell,) = workload.cells
    time = cell.model_copy(update={"direction": "lower"})
    changed = findings.model_copy(
        update={"workloads": (workload.model_copy(update={"cells": (time,)}),)}
    )
    assert gate(changed, 0.03).result == "regression"
    assert gate(changed, 0.5).result == "passed"
    lines = [gate(one, 0.03).headlines[0] for one in (findings, changed)]
    assert (lines[0].low, lines[0].high) == pytest.approx((lines[1].low, lines[1].high))


def test_a_family_passes_by_single_intervals_and_claims_by_wider_ones() -> None:
    """Each headline has to pass anyway; any of them alone is a regression or an improvement."""
    suites = (
        analyse(*synthetic_study(SYSTEMS, ("postmark", "iozone"), effects={"head": effect},
                                 blocks=20, noise=0.01))
        for effect in (1.0, 0.7, 1.3)
    )  # fmt: skip
    equal, *moved = (gate(findings, 0.03) for findings in suites)
    assert {line.level for line in equal.having("within")} == {0.95}
    assert equal.result == "passed"
    for judged, outcome in zip(moved, ("regression", "improvement"), strict=True):
        count = len(judged.headlines)
        assert {line.outcome for line in judged.headlines} == {outcome}
        assert {line.level for line in judged.headlines} == {judged.level}
        assert judged.level == pytest.approx(1 - 0.05 / count)
        assert count > 2
        assert len({line.name for line in judged.headlines}) == count


def test_what_only_its_own_interval_shows_is_undecided_and_says_so() -> None:
    """Six of ten points beyond the margin at a noise of 3 %: too little beside all others."""
    findings = analyse(*synthetic_study(SYSTEMS, ("postmark", "iozone"), effects={"head": 0.935},
                                        blocks=20, noise=0.04))  # fmt: skip
    judged = gate(findings, 0.03)
    beyond = [line for line in judged.having("undecided") if line.high and line.high < 1 / 1.03]
    assert beyond
    assert all(line.why.startswith(f"{line.name}: worse by more than 3 %") for line in beyond)
    assert all(not line.why for line in judged.having("undecided") if line not in beyond)


def test_one_regression_fails_the_suite_and_the_rest_is_told() -> None:
    findings = analyse(
        *synthetic_study(SYSTEMS, ("postmark", "iozone"), effects={"head": 0.7}, blocks=20,
                         noise=0.01)
    )  # fmt: skip
    judged = gate(findings, 0.03)
    assert judged.result == "regression"
    assert {line.outcome for line in judged.headlines} == {"regression"}
    assert judged.sentence == f"{len(judged.headlines)} of {len(judged.headlines)} headlines " \
        "worse by more than 3 %"  # fmt: skip


def failing(*blocks: int, workload: str = "postmark") -> list[TrialKey]:
    return [TrialKey(block=n, system="head", workload=workload) for n in blocks]


def test_a_failed_trial_is_said_and_fails_no_gate() -> None:
    """As for the verdicts of a study: one block in five may fail."""
    judged = gate(found(blocks=20, failed=failing(3)), 0.05)
    assert (judged.result, judged.sentence) == (
        "passed",
        "no regression beyond 5 % in 1 headline; 1 of 40 trials has failed (1 of head)",
    )
    assert gate(found(0.7, blocks=20, failed=failing(3)), 0.03).result == "regression"


def test_of_what_fails_in_more_than_one_block_of_five_nothing_is_said() -> None:
    """While blocks are to come they may bring the share down; a regression is not hidden."""
    study = synthetic_study(SYSTEMS, blocks=14, noise=0.01, failed=failing(2, 5, 8))
    assert gate(analyse(*study), 0.05).result == "undecided"
    assert not gate_decision(analyse(*study), 0.05, withheld=False).done
    plan, run = study
    ended = run.model_copy(update={"stopped": "the budget is used up"})
    judged = gate(analyse(plan, ended), 0.05)
    assert judged.result == "invalid"
    assert "3 of 14 blocks" in judged.headlines[0].why
    worse = gate(found(0.7, blocks=14, failed=failing(2, 5, 8)), 0.03)
    assert worse.result == "regression"


def test_a_workload_that_never_worked_is_no_pass() -> None:
    """It has no headline that could say so."""
    keys = [
        TrialKey(block=n, system=system, workload="iozone")
        for n in range(1, 21)
        for system in SYSTEMS
    ]
    study = synthetic_study(SYSTEMS, ("postmark", "iozone"), blocks=20, noise=0.01, failed=keys)
    judged = gate(analyse(*study), 0.05)
    assert judged.result == "invalid"
    assert judged.sentence.startswith("a workload never worked; 40 of 80 trials have failed")


def test_an_invalid_comparison_says_why() -> None:
    failed = [TrialKey(block=n, system="head", workload="postmark") for n in range(1, 8)]
    judged = gate(found(blocks=20, failed=failed), 0.03)
    assert judged.result == "invalid"
    assert judged.headlines[0].why


def test_nothing_to_compare_is_no_pass() -> None:
    alone = analyse(*synthetic_study(("base",), blocks=7))
    assert (gate(alone, 0.03).result, gate(alone, 0.03).sentence) == (
        "invalid",
        "nothing to compare",
    )


def test_it_goes_on_until_each_headline_has_an_answer() -> None:
    """A difference that the study calls decided may still lie across the margin."""
    early = found(0.97, 0.01, blocks=7)
    assert early.workloads[0].index.comparisons[0].verdict == "slower"
    decision = gate_decision(early, 0.03, withheld=False)
    assert not decision.done
    assert decision.going_on == {("base", "postmark"), ("head", "postmark")}
    last = gate_decision(found(0.97, 0.01, blocks=20), 0.03, withheld=False)
    assert last.done
    clear = gate_decision(found(0.7, blocks=7), 0.03, withheld=False)
    assert (clear.done, clear.going_on) == (True, frozenset())


def test_disturbed_blocks_decide_nothing() -> None:
    plan, run = synthetic_study(SYSTEMS, blocks=7, noise=0.01)
    assert too_many_disturbed(run, progress_of(plan, run)) is None
    assert not gate_decision(analyse(plan, run), 0.03, withheld=True).done


def test_the_result_is_json() -> None:
    judged = gate(found(), 0.03)
    assert Gate.model_validate_json(judged.model_dump_json()) == judged
