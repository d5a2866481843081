"""Where variance comes from, told from trials in a turn."""

import math

import numpy as np
import pytest

from support.synthetic import synthetic_study
from support.turns import in_turns, workload_of
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.replication import components_of, replication, values_of_trials
from tiltyard.run.samples import Samples


def test_values_are_in_the_order_of_systems_blocks_and_trials():
    plan, run = in_turns(trials=2, blocks=3, shared=0.1, between=0.1, within=0.1)
    values = values_of_trials(plan, run, workload_of(plan))
    assert values.shape == (2, 3, 2)
    for trial in run.trials:
        (sample,) = (s for s in trial.samples if s.metric == "transactions")
        place = ("ext4", "xfs").index(trial.key.system), trial.key.block - 1, trial.key.repeat - 1
        assert values[place] == pytest.approx(math.log(sample.value))


def test_the_mean_over_a_grid_is_one_value():
    plan, run = synthetic_study(("ext4", "xfs"), ("iozone",), 7)
    values = values_of_trials(plan, run, workload_of(plan))
    assert values.shape == (2, 7, 1)
    trial = run.trials[0]
    expected = np.mean([math.log(sample.value) for sample in trial.samples])
    place = ("ext4", "xfs").index(trial.key.system), trial.key.block - 1, 0
    assert values[place] == pytest.approx(expected)


def test_a_failed_trial_leaves_its_block_out_for_all_systems():
    plan, run = in_turns(trials=2, blocks=5, shared=0, between=0.02, within=0.01)
    failed = run.trials[3].model_copy(update={"outcome": "failed", "samples": Samples.of(())})
    run = run.model_copy(update={"trials": (*run.trials[:3], failed, *run.trials[4:])})
    values = values_of_trials(plan, run, workload_of(plan))
    assert np.isnan(values).sum() == 1
    assert components_of(values).counts == (2, 4, 2)


def test_what_a_block_brings_to_all_systems_is_not_noise_of_turns():
    plan, run = in_turns(trials=3, blocks=20, shared=0.3, between=0.021, within=0.004)
    found = replication(plan, run, workload_of(plan))
    assert found.cv_blocks == pytest.approx(0.021, rel=0.4)
    assert found.cv_trials == pytest.approx(0.004, rel=0.2)
    assert found.sentence.endswith("more trials in a turn would not help.")


def test_noise_of_trials_asks_for_more_of_them():
    plan, run = in_turns(trials=2, blocks=20, shared=0, between=0.001, within=0.05)
    (workload,) = analyse(plan, run).workloads
    assert workload.replication.trials == 2
    assert "more trials in a turn would help" in workload.replication.sentence


def test_what_a_turn_makes_anew_is_named():
    plan, run = in_turns(trials=2, blocks=7, shared=0, between=0.02, within=0.01)
    systems = [s.model_copy(update={"redraws": "a fresh format"}) for s in plan.systems]
    plan = plan.model_copy(update={"systems": tuple(systems)})
    sentence = replication(plan, run, workload_of(plan)).sentence
    assert sentence.startswith("postmark: deviation between turns (a fresh format each) ")


def test_one_trial_in_a_turn_tells_nothing():
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), 7)
    assert replication(plan, run, workload_of(plan)) is None
