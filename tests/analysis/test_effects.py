"""Main effects, simple effects and interactions on factorial studies whose truth is known."""

import itertools
import math
import re

import numpy as np
import pytest

from support.synthetic import Shape, card, factorial_study, synthetic_study
from tiltyard.analysis.effects import terms_of
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Effect, Findings
from tiltyard.plan.model import TrialKey

KERNELS = {"filesystem": ("ext4", "xfs", "btrfs"), "kernel": ("3.12", "3.13")}
TWO = {"filesystem": ("ext4", "xfs"), "kernel": ("3.12", "3.13")}


def effects_of(findings: Findings) -> tuple[Effect, ...]:
    return findings.workloads[0].effects


def one(findings: Findings, kind: str, level: str, *at: str) -> Effect:
    """The effect on the index of that kind, level, and levels of the other factor."""
    (found,) = (
        effect
        for effect in effects_of(findings)
        if (effect.kind, effect.level) == (kind, level)
        if (effect.by_level, effect.by_over)[: len(at)] == at
        if effect.topic == findings.workloads[0].index.label
    )
    return found


def test_weights_of_every_term_sum_to_zero_and_compare_means() -> None:
    plan, _ = factorial_study({**TWO, "tuned": ("no", "yes", "more")}, blocks=0)
    for term in terms_of(plan):
        size = {"main": 1, "simple": 1, "interaction": 2}[term.kind]
        assert term.weights.sum() == pytest.approx(0)
        assert np.abs(term.weights).sum() == pytest.approx(2 * size)


def test_every_pair_of_factors_is_crossed() -> None:
    plan, _ = factorial_study(KERNELS, blocks=0)
    kinds = [term.kind for term in terms_of(plan)]
    assert kinds == ["main"] * 3 + ["simple"] * 3 + ["interaction"] * 3


def test_a_noiseless_study_gives_each_effect_exactly() -> None:
    speeds = {("xfs",): 1.2, ("3.13",): 0.9, ("xfs", "3.13"): 1.25}
    findings = analyse(*factorial_study(TWO, speeds, blocks=7, noise=0.0))
    assert one(findings, "main", "xfs").ratio == pytest.approx(1.2 * math.sqrt(1.25))
    assert one(findings, "main", "3.13").ratio == pytest.approx(0.9 * math.sqrt(1.25))
    assert one(findings, "simple", "3.13", "ext4").ratio == pytest.approx(0.9)
    assert one(findings, "simple", "3.13", "xfs").ratio == pytest.approx(0.9 * 1.25)
    assert one(findings, "interaction", "3.13").ratio == pytest.approx(1.25)


def test_a_kernel_that_gains_on_one_file_system_and_loses_on_another() -> None:
    speeds = {("3.13", "xfs"): 1.041, ("3.13", "btrfs"): 0.97}
    findings = analyse(*factorial_study(KERNELS, speeds, blocks=14, noise=0.008, seed=3))
    found = one(findings, "interaction", "3.13", "btrfs", "xfs")
    assert found.verdict == "slower"
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.97 / 1.041 < found.high
    assert re.fullmatch(
        r"kernel 3\.13 lost [23]\.\d % on filesystem btrfs but gained [34]\.\d % on xfs, against "
        r"3\.12, in postmark transactions \(interaction 0\.9\d+, selection-adjusted 95 % CI "
        r"0\.9\d+ … 0\.9\d+, 10 blocks\)\.",
        found.sentence,
    )


def test_sides_that_are_not_decided_are_not_told() -> None:
    speeds = {("3.13", "ext4"): 0.985, ("3.13", "xfs"): 1.02}
    findings = analyse(*factorial_study(TWO, speeds, blocks=20, noise=0.02, seed=4))
    sides = [one(findings, "simple", "3.13", name).verdict for name in ("ext4", "xfs")]
    found = one(findings, "interaction", "3.13")
    assert found.verdict == "faster"
    assert "undecided" in sides
    assert "does better on filesystem xfs than on ext4" in found.sentence
    assert "is not decided" in found.sentence


def test_the_same_change_everywhere_is_an_equivalent_interaction() -> None:
    findings = analyse(*factorial_study(TWO, {("3.13",): 1.2}, blocks=20, noise=0.006))
    found = one(findings, "interaction", "3.13")
    assert found.verdict == "equivalent"
    assert found.sentence.startswith(
        "The change from kernel 3.12 to 3.13 on filesystem xfs and the same change on ext4 are "
        "equivalent within ±2 %"
    )
    assert one(findings, "main", "3.13").sentence.startswith(
        "kernel 3.13 is 20.32 % faster than 3.12"
    )


def test_times_that_shrink_are_gains() -> None:
    timed = {"clock": Shape((card("wait", "wait", "s", "lower"),), {"wait": 0.004})}
    study = factorial_study(
        TWO, {("3.13", "xfs"): 1.1}, blocks=10, noise=0.005, workloads=("clock",), shapes=timed
    )
    found = one(analyse(*study), "interaction", "3.13")
    assert found.verdict == "faster"
    assert found.ratio == pytest.approx(1 / 1.1, rel=0.02)
    assert "kernel 3.13 took 9." in found.sentence
    assert "less time on filesystem xfs but made no difference beyond 2 % on ext4" in found.sentence


def test_metrics_have_effects_of_their_own() -> None:
    plan, run = factorial_study(TWO, blocks=7, workloads=("iozone",))
    findings = analyse(plan, run)
    (workload,) = findings.workloads
    topics = list(dict.fromkeys(effect.topic for effect in workload.effects))
    assert topics[0] == workload.index.label
    assert len(topics) == 1 + len(workload.by_metric)
    assert len(workload.effects) == len(topics) * len(terms_of(plan))


def test_the_levels_turned_round_turn_every_effect_round() -> None:
    speeds = {("3.13", "xfs"): 1.05, ("xfs",): 0.93}
    plan, run = factorial_study(TWO, speeds, blocks=10)
    turned = plan.model_copy(update={"baseline": "xfs 3.13"})
    here, there = analyse(plan, run), analyse(turned, run)
    straight = one(here, "interaction", "3.13")
    back = one(there, "interaction", "3.12")
    assert (straight.ratio, straight.low) == pytest.approx((back.ratio, back.low))
    main, opposite = one(here, "main", "xfs"), one(there, "main", "ext4")
    assert main.ratio is not None
    assert main.low is not None
    assert (1 / main.ratio, 1 / main.low) == pytest.approx((opposite.ratio, opposite.high))


def test_without_effects_few_studies_claim_any() -> None:
    claims = [
        any(effect.verdict in ("faster", "slower") for effect in effects_of(findings))
        for seed in range(60)
        for findings in (analyse(*factorial_study(TWO, blocks=7, noise=0.03, seed=seed)),)
    ]
    assert sum(claims) <= 6


def test_one_factor_has_no_effects_beside_its_comparisons() -> None:
    assert effects_of(analyse(*synthetic_study(blocks=7))) == ()


def test_a_study_that_is_not_fully_crossed_has_none() -> None:
    plan, _ = factorial_study(TWO, blocks=0)
    assert terms_of(plan)
    assert terms_of(plan.model_copy(update={"systems": plan.systems[:3]})) == []


def test_blocks_without_a_system_do_not_count_and_too_many_invalidate() -> None:
    lost = [TrialKey(block=b, system="xfs 3.13", workload="postmark") for b in range(1, 6)]
    findings = analyse(*factorial_study(TWO, blocks=12, failed=lost))
    verdicts = {effect.verdict for effect in effects_of(findings)}
    assert one(findings, "main", "3.13").verdict == "invalid"
    assert one(findings, "simple", "3.13", "ext4").verdict != "invalid"
    assert "invalid" in verdicts


def test_before_the_first_look_nothing_is_decided() -> None:
    findings = analyse(*factorial_study(KERNELS, blocks=3))
    assert {effect.verdict for effect in effects_of(findings)} == {"undecided"}
    assert {effect.ratio for effect in effects_of(findings)} == {None}


def test_order_of_systems_does_not_matter() -> None:
    plan, run = factorial_study(TWO, {("3.13", "xfs"): 1.05}, blocks=10)
    expected = {effect.sentence for effect in effects_of(analyse(plan, run))}
    for systems in itertools.permutations(plan.systems):
        if systems[0].name == plan.baseline:
            found = effects_of(analyse(plan.model_copy(update={"systems": systems}), run))
            assert {effect.sentence for effect in found} == expected
