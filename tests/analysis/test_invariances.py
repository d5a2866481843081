"""What must not matter, does not; what must turn round, does."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Comparison
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord
from tiltyard.run.samples import Samples

SWAPPED = {"faster": "slower", "slower": "faster"}


def only(plan: Plan, run: RunRecord) -> Comparison:
    return analyse(plan, run).workloads[0].cells[0].comparisons[0]


def scaled(run: RunRecord, factor: float) -> RunRecord:
    return run.model_copy(
        update={
            "trials": tuple(
                trial.model_copy(
                    update={
                        "samples": Samples.of(
                            replace(sample, value=sample.value * factor) for sample in trial.samples
                        )
                    }
                )
                for trial in run.trials
            )
        }
    )


studies = st.builds(
    lambda effect, noise, blocks, seed: synthetic_study(
        ("a", "b"), effects={"b": effect}, noise=noise, blocks=blocks, seed=seed
    ),
    st.sampled_from([0.5, 0.97, 1.0, 1.02, 1.3, 3.0]),
    st.sampled_from([0.002, 0.02, 0.1]),
    st.integers(7, 20),
    st.integers(0, 10_000),
)


@settings(max_examples=40)
@given(studies)
def test_swapping_the_systems_inverts_ratio_and_verdict(study):
    plan, run = study
    forth = only(plan, run)
    swapped = plan.model_copy(update={"systems": plan.systems[::-1], "baseline": "b"})
    back = only(swapped, run)
    assert (back.system, back.against) == (forth.against, forth.system)
    assert back.verdict == SWAPPED.get(forth.verdict, forth.verdict)
    assert (back.p, back.blocks) == (forth.p, forth.blocks)
    assert back.ratio == pytest.approx(1 / forth.ratio)
    assert (back.low, back.high) == pytest.approx((1 / forth.high, 1 / forth.low))
    np.testing.assert_allclose(back.differences, 1 / np.array(forth.differences))


@settings(max_examples=40)
@given(studies, st.sampled_from([1e-3, 1 / 1024, 7.0, 1e6]))
def test_the_unit_does_not_matter(study, factor):
    plan, run = study
    before, after = only(plan, run), only(plan, scaled(run, factor))
    assert after.verdict == before.verdict
    assert (after.ratio, after.low, after.high) == pytest.approx(
        (before.ratio, before.low, before.high), rel=1e-9
    )


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_blocks_of_a_look_may_come_in_any_order(seed, random):
    plan, run = synthetic_study(("a", "b"), blocks=7, noise=0.05, seed=seed)
    numbers = list(range(1, 8))
    random.shuffle(numbers)
    renumbered = tuple(
        trial.model_copy(
            update={"key": trial.key.model_copy(update={"block": numbers[trial.key.block - 1]})}
        )
        for trial in run.trials
    )
    before, after = only(plan, run), only(plan, run.model_copy(update={"trials": renumbered}))
    fields = ("verdict", "ratio", "low", "high", "p", "blocks")
    assert [getattr(after, name) for name in fields] == [getattr(before, name) for name in fields]


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.lists(st.integers(8, 9), max_size=1))
def test_failed_trials_change_nothing_but_counts(seed, blocks):
    effects = {"b": 1.2}
    plan, run = synthetic_study(("a", "b"), blocks=7, effects=effects, seed=seed)
    _, longer = synthetic_study(("a", "b"), blocks=9, effects=effects, seed=seed)
    added = [
        trial.model_copy(
            update={"outcome": "failed", "samples": Samples.of(()), "reason": "no space left"}
        )
        for trial in longer.trials
        if trial.key.block in blocks
    ]
    with_failures = run.model_copy(update={"trials": (*run.trials, *added)})
    findings = analyse(plan, with_failures)
    assert findings.trials_failed == len(added)
    assert findings.trials_kept == len(run.trials)
    assert findings.workloads == analyse(plan, run).workloads


def test_the_same_record_gives_the_same_findings():
    study = synthetic_study(workloads=("postmark", "iozone"), blocks=10)
    assert analyse(*study).model_dump_json() == analyse(*study).model_dump_json()


def test_ratio_and_interval_agree_in_kind():
    for seed in range(30):
        found = only(*synthetic_study(("a", "b"), effects={"b": 1.05}, noise=0.04, seed=seed))
        assert found.low is not None
        assert found.ratio is not None
        assert found.high is not None
        assert found.low <= found.ratio <= found.high
        if found.verdict in SWAPPED:
            assert found.at_least in (found.low, found.high)
            assert abs(math.log(found.at_least)) == min(
                abs(math.log(found.low)), abs(math.log(found.high))
            )
        else:
            assert found.at_least is None
