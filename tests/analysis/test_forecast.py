"""The forecast of a study, from the pilot of one whose noise is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from support.synthetic import synthetic_study
from support.turns import in_turns, planned, sliced, workload_of
from tiltyard.analysis.forecast import Asked, Basis, basis_of, basis_of_pilot, forecast, turns_of
from tiltyard.analysis.pilot import MOST_TRIALS, pilot_of
from tiltyard.analysis.replication import components_of, values_of_trials
from tiltyard.plan.pilot import Pilot

ASKED = Asked(within=0.02, power=0.9)


def pilot(**noise: float) -> Pilot:
    plan, run = in_turns(trials=3, blocks=5, **noise)
    return pilot_of(plan, run, 9.0, {"postmark": 1.0}, "2026-11-21T10:00:00Z")


def basis(blocks: int = 40, trials: int = 1, **noise: float) -> Basis:
    plan, run = in_turns(trials=max(2, trials), blocks=min(blocks, 20), **noise)
    values = values_of_trials(plan, run, workload_of(plan))
    found = components_of(values)
    return basis_of(values, ("ext4", "xfs"), found, turn_s=9.0, trial_s=1.0)


def plan_of(trials: int = 1, workloads: tuple[str, ...] = ("postmark",)):
    plan, _ = synthetic_study(("ext4", "xfs"), workloads, 0)
    return planned(plan, trials=trials) if len(workloads) == 1 else plan


def test_a_noisy_trial_in_an_expensive_turn_is_repeated():
    (found,) = pilot(shared=0, between=0.01, within=0.03).workloads
    assert found.trials == MOST_TRIALS


def test_a_quiet_trial_in_a_noisy_turn_is_not():
    (found,) = pilot(shared=0, between=0.05, within=0.001).workloads
    assert found.trials == 1


def test_a_pilot_keeps_what_it_measured_and_what_else_went_on():
    one = pilot(shared=0.1, between=0.02, within=0.01)
    (found,) = one.workloads
    assert [len(found.values[name]) for name in ("ext4", "xfs")] == [5, 5]
    assert one.telemetry["foreign_cpu"] == pytest.approx(0.004)
    assert Pilot.model_validate_json(one.document()) == one
    known = basis_of_pilot(found)
    assert known.own == pytest.approx((found.cv_trials**2, found.cv_blocks**2))


def test_a_pilots_values_are_those_after_its_warm_up():
    """As the study will measure them; a slow start of changing depth is not its noise."""
    rates = np.full((10, 40), 1000.0)
    rates[:, :5] *= np.linspace(0.1, 0.9, 10)[:, np.newaxis]
    plan, run = sliced(rates)
    (found,) = pilot_of(plan, run, 9.0, {"postmark": 40.0}, "2026-11-21T10:00:00Z").workloads
    assert found.warm_up_s == pytest.approx(7.5)
    values = [value for rows in found.values.values() for row in rows for value in row]
    assert values == pytest.approx([math.log(1000)] * 10)


def test_the_time_of_a_block_is_that_of_its_turns_and_trials():
    found = forecast(
        plan_of(trials=3), {"postmark": basis(shared=0, between=0.02, within=0.01)}, "test", ASKED
    )
    assert found.block_s == pytest.approx(2 * (9 + 3 * 1))
    assert [look.elapsed_s for look in found.pairs[0].looks] == [
        pytest.approx(24 * blocks) for blocks in (7, 10, 14, 20)
    ]


def test_what_systems_share_in_a_block_widens_no_interval():
    noise = {"between": 0.02, "within": 0.001}
    alone, shared = (
        forecast(plan_of(), {"postmark": basis(shared=size, **noise)}, "test", ASKED).pairs[0]
        for size in (0.0, 0.3)
    )
    assert shared.cv > 5 * alone.cv
    assert shared.correlation > 0.95
    assert shared.deviation == pytest.approx(alone.deviation, rel=0.5)
    assert shared.deviation == pytest.approx(0.02 * math.sqrt(2), rel=0.4)


def test_more_trials_in_a_turn_take_their_own_noise_off():
    known = basis(shared=0, between=0.001, within=0.05, trials=2)
    once, often = (turns_of(known, "xfs", trials) for trials in (1, 8))
    assert once.std() / often.std() == pytest.approx(math.sqrt(8), rel=0.1)
    assert once.mean() == pytest.approx(often.mean())


def test_beyond_the_last_look_blocks_are_extrapolated():
    noise = {"shared": 0.0, "within": 0.001}
    quiet, noisy = (
        forecast(plan_of(), {"postmark": basis(between=size, **noise)}, "test", ASKED).pairs[0]
        for size in (0.003, 0.10)
    )
    assert quiet.blocks_within == 7
    last = noisy.looks[-1]
    rough = 20 * (math.log1p(last.half_width) / math.log1p(0.02)) ** 2
    assert noisy.blocks_within == math.ceil(rough)


def test_a_budget_buys_the_last_look_that_fits():
    known = {"postmark": basis(shared=0, between=0.02, within=0.001)}
    found = forecast(plan_of(), known, "test", replace(ASKED, budget_s=20 * 12.5))
    assert (found.budget.blocks, found.budget.look) == (12, 10)
    assert found.budget.differences == {"postmark": found.pairs[0].looks[1].difference}
    short = forecast(plan_of(), known, "test", replace(ASKED, budget_s=60)).budget
    assert (short.blocks, short.look, short.differences) == (3, None, {})
    long = forecast(plan_of(), known, "test", replace(ASKED, budget_s=1e6)).budget
    assert (long.blocks, long.look) == (20, 20)


def test_many_systems_put_the_first_claim_off():
    names = ("ext4", "xfs", "btrfs", "f2fs", "ntfs", "bcachefs")
    plan, run = synthetic_study(names, ("postmark",), 20)
    values = values_of_trials(plan, run, workload_of(plan))
    known = basis_of(values, names, None, turn_s=1, trial_s=1)
    found = forecast(plan, {"postmark": known}, "test", ASKED)
    assert (found.family, found.earliest, len(found.pairs)) == (15, 14, 15)
    for pair in found.pairs:
        claims = [look.difference is not None for look in pair.looks]
        assert claims == [False, False, True, True]


def test_two_blocks_foresee_nothing():
    with pytest.raises(ValueError, match="3 blocks"):
        forecast(
            plan_of(),
            {"postmark": basis(blocks=2, shared=0, between=0.1, within=0.1)},
            "test",
            ASKED,
        )
