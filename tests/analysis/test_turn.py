"""Several trials in a turn are one value of their block; replaced blocks are none."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from support.runs import NOISE_LIMITS
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.quantity import Measured, collect
from tiltyard.plan.model import Plan
from tiltyard.run.progress import progress_of, without_replaced_blocks
from tiltyard.run.record import Reason, RunRecord, TrialRecord
from tiltyard.run.samples import Samples

REASON = Reason(
    signal="steal", system="ext4", workload="postmark", value=1, limit=0.01, text="steal"
)


def scaled(trial: TrialRecord, repeat: int, factor: float) -> TrialRecord:
    """Another trial of the same turn, whose values are larger by a factor."""
    samples = tuple(replace(s, value=s.value * factor) for s in trial.samples)
    key = trial.key.model_copy(update={"repeat": repeat})
    return trial.model_copy(update={"key": key, "samples": Samples.of(samples)})


def in_threes(factors: Sequence[float]) -> tuple[Plan, RunRecord, RunRecord]:
    """A study with so many trials in each turn, and the record of its first trials alone."""
    plan, once = synthetic_study(("ext4", "xfs"), ("postmark",), blocks=7)
    (workload,) = plan.workloads
    spec = workload.spec.model_copy(update={"trials": len(factors)})
    several = plan.model_copy(update={"workloads": (workload.model_copy(update={"spec": spec}),)})
    trials = tuple(
        scaled(trial, repeat, factor)
        for trial in once.trials
        for repeat, factor in enumerate(factors, 1)
    )
    return several, once, once.model_copy(update={"trials": trials})


def measured(plan: Plan, run: RunRecord) -> Measured:
    return collect(plan, run, plan.workloads[0])


def test_the_value_of_a_block_is_the_geometric_mean_of_its_trials() -> None:
    plan, _, run = in_threes((1.0, 2.0, 4.0))
    single, alone = synthetic_study(("ext4", "xfs"), ("postmark",), blocks=7)
    for many, one in zip(measured(plan, run).cells, measured(single, alone).cells, strict=True):
        np.testing.assert_allclose(many.values, 2 * one.values, rtol=1e-12)
        np.testing.assert_allclose(many.percentiles, one.percentiles, rtol=1e-12)


@pytest.mark.parametrize("lost", ["missing", "failed", "interrupted"])
def test_there_is_no_value_unless_all_are_done(lost: str) -> None:
    plan, _, run = in_threes((1.0, 2.0, 4.0))
    victim = run.trials[4]
    others = [trial for trial in run.trials if trial is not victim]
    if lost != "missing":
        others.append(victim.model_copy(update={"outcome": lost, "samples": Samples.of(())}))
    found = measured(plan, run.model_copy(update={"trials": tuple(others)}))
    at = found.blocks.index(victim.key.block), found.systems.index(victim.key.system)
    assert all(np.isnan(cell.values[at]) for cell in found.cells)
    assert found.attempted[at] == (lost == "failed")
    assert np.count_nonzero(np.isnan(found.cells[0].values[:7])) == 1


def test_a_turn_is_one_observation_however_many_trials_it_has() -> None:
    plan, once, run = in_threes((1.0, 1.0, 1.0))
    several, single = analyse(plan, run), analyse(plan_of_one(plan), once)
    assert several.blocks_done == single.blocks_done == 7
    assert several.trials_kept == 3 * single.trials_kept
    assert [w.index.comparisons for w in several.workloads] == [
        w.index.comparisons for w in single.workloads
    ]
    assert several.drifts[0].p == pytest.approx(single.drifts[0].p)
    assert [line.repeat for line in several.trials[:3]] == [1, 2, 3]


def plan_of_one(plan: Plan) -> Plan:
    (workload,) = plan.workloads
    spec = workload.spec.model_copy(update={"trials": None})
    return plan.model_copy(update={"workloads": (workload.model_copy(update={"spec": spec}),)})


def disturbed(blocks: Sequence[int], kept: bool = False) -> tuple[Plan, RunRecord]:
    """Ten blocks, of which these are disturbed; the last three of them are spares."""
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), blocks=10, effects={"xfs": 1.2})
    noise_limits = NOISE_LIMITS.model_copy(update={"disturbed": "keep"}) if kept else NOISE_LIMITS
    rules = {"blocks": plan.blocks[:7], "spares": plan.blocks[7:10], "noise_limits": noise_limits}
    return plan.model_copy(update=rules), run.model_copy(
        update={"disturbed": dict.fromkeys(blocks, (REASON,))}
    )


def test_replaced_blocks_count_for_nothing_and_are_shown() -> None:
    plan, run = disturbed((2, 5, 9))
    found = analyse(plan, run)
    assert found.blocks_done == 7
    assert list(progress_of(plan, run).counted) == [1, 3, 4, 6, 7, 8, 10]
    assert {
        trial.key.block for trial in without_replaced_blocks(run, progress_of(plan, run)).trials
    } == {
        1,
        3,
        4,
        6,
        7,
        8,
        10,
    }
    (comparison,) = found.workloads[0].index.comparisons
    assert comparison.blocks == 7
    assert found.workloads[0].index.standings
    assert len(found.trials) == 20
    assert all(line.relative is not None for line in found.trials)


def test_wild_values_in_a_replaced_block_change_no_verdict() -> None:
    plan, run = disturbed((2, 5, 9))
    wild = tuple(scaled(t, 1, 100.0) if t.key.block in (2, 5, 9) else t for t in run.trials)
    found, wildly = (analyse(plan, r) for r in (run, run.model_copy(update={"trials": wild})))
    assert found.workloads == wildly.workloads


def test_kept_blocks_count() -> None:
    plan, run = disturbed((2, 5, 9), kept=True)
    assert without_replaced_blocks(run, progress_of(plan, run)) is run
    assert analyse(plan, run).blocks_done == 10


def test_blocks_are_complete_without_what_a_look_has_left_out() -> None:
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark", "iozone"), blocks=10)
    trials = tuple(t for t in run.trials if t.key.block <= 7 or t.key.workload == "iozone")
    going_on = frozenset({("ext4", "iozone"), ("xfs", "iozone")})
    shrunk = run.model_copy(update={"trials": trials, "active_pairs": {8: going_on}})
    assert analyse(plan, shrunk).blocks_done == 10
    assert analyse(plan, run.model_copy(update={"trials": trials})).blocks_done == 7


def test_where_no_block_counts_there_is_no_verdict_and_no_advice_to_go_on() -> None:
    plan, run = disturbed((1, 2, 3, 4))
    begun = tuple(trial for trial in run.trials if trial.key.block <= 4)
    ended = run.model_copy(update={"trials": begun, "stopped": "4 of 4 blocks are disturbed"})
    found = analyse(plan, ended)
    assert found.trials_kept == 8
    assert found.workloads[0].answer == (
        "No verdict on postmark: 4 of 4 blocks are disturbed, more than 20 %."
    )
    assert found.notices[0].text == (
        "4 of 4 blocks are disturbed, more than 20 %: there is no verdict."
    )
    assert not any("Run the study again" in (notice.advice or "") for notice in found.notices)


def test_a_run_that_may_go_on_is_advised_to() -> None:
    plan, run = disturbed((2,))
    begun = tuple(trial for trial in run.trials if trial.key.block <= 4)
    found = analyse(plan, run.model_copy(update={"trials": begun}))
    assert any("Run the study again" in (notice.advice or "") for notice in found.notices)
