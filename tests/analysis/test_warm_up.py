"""Leaving the warm-up out: exact where slices add up to the value, and nowhere else."""

import numpy as np
import pytest
from msgspec.structs import replace

from support.synthetic import synthetic_study
from support.turns import planned, sliced, with_slices, workload_of
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.warm_up import (
    all_series_of,
    series_of,
    values_after_warm_up,
    warm_up_of,
)
from tiltyard.run.samples import Samples

SLOW_START = np.where(np.arange(40) < 10, 500.0, 1000.0)


def headline(trial, workload) -> float:
    values, _ = values_after_warm_up(trial, workload)
    metrics = [sample.metric for sample in trial.samples]
    return values[metrics.index("transactions")]


def trial_of(rates, **update):
    plan, run = sliced(np.stack([rates] * 14), **update)
    return run.trials[0], workload_of(plan)


@pytest.mark.parametrize(
    ("warm_up_s", "value"),
    [(0.0, 875.0), (4.0, 33_000 / 36), (9.5, 1000.0), (10.0, 1000.0), (39.0, 1000.0)],
)
def test_the_rest_is_the_work_of_the_later_slices_over_their_time(warm_up_s, value):
    trial, workload = trial_of(SLOW_START, warm_up_s=warm_up_s)
    assert headline(trial, workload) == pytest.approx(value, rel=1e-12)


def test_other_metrics_stay_as_they_are():
    trial, workload = trial_of(SLOW_START, warm_up_s=10.0)
    values, kept = values_after_warm_up(trial, workload)
    for sample, value in zip(trial.samples, values, strict=True):
        assert (value == sample.value) == (sample.metric != "transactions")
    assert kept.all()


def test_a_trial_that_was_over_before_has_no_value():
    trial, workload = trial_of(SLOW_START, warm_up_s=40.0)
    _, kept = values_after_warm_up(trial, workload)
    assert [s.metric for s, is_kept in zip(trial.samples, kept, strict=True) if not is_kept] == [
        "transactions"
    ]


def test_work_that_the_slices_do_not_show_is_left_alone():
    trial, workload = trial_of(SLOW_START, warm_up_s=10.0)
    beyond = trial.model_copy(update={"intervals": trial.intervals[:-1]})
    assert series_of(beyond, workload) is None
    assert values_after_warm_up(beyond, workload)[0].tolist() == trial.samples.values.tolist()


def test_several_values_are_left_alone():
    plan, run = synthetic_study(("ext4", "xfs"), ("iozone",), 7)
    trial = with_slices(run.trials[0], SLOW_START)
    workload = workload_of(planned(plan, warm_up_s=10.0))
    assert series_of(trial, workload) is None
    assert values_after_warm_up(trial, workload)[0].tolist() == trial.samples.values.tolist()


def test_verdicts_rest_on_what_comes_after_the_warm_up():
    """Systems that differ in nothing but a slow start are equal without it."""
    rng = np.random.default_rng(1)
    rates = 1000 * rng.normal(1, 0.002, (14, 40))
    _, run = sliced(rates)
    slow = [trial.key.system == "xfs" for trial in run.trials]
    rates[slow, :10] *= 0.5
    (whole,) = analyse(*sliced(rates)).workloads[0].index.comparisons
    (rest,) = analyse(*sliced(rates, warm_up_s=10.0)).workloads[0].index.comparisons
    assert whole.verdict == "slower"
    assert whole.ratio == pytest.approx(0.875, abs=0.005)
    assert rest.verdict == "equivalent"


def test_the_warm_up_is_one_and_a_half_times_the_longest_that_was_seen():
    rates = np.full((4, 40), 1000.0)
    rates[0, :5] = rates[2, :10] = 500.0
    plan, run = sliced(rates)
    assert warm_up_of(all_series_of(run.trials, workload_of(plan))) == pytest.approx(15.0)


def test_a_quarter_of_the_shortest_trial_is_kept():
    rates = np.full((4, 40), 1000.0)
    rates[0, :20] = 500.0
    plan, run = sliced(rates, slice_s=0.5)
    short = with_slices(run.trials[1], np.full(16, 1000.0), 0.5)
    run = run.model_copy(update={"trials": (run.trials[0], short, *run.trials[2:])})
    assert warm_up_of(all_series_of(run.trials, workload_of(plan))) == pytest.approx(6.0)


def test_too_few_slices_tell_of_no_warm_up():
    plan, run = sliced(np.tile(SLOW_START[:19], (4, 1)))
    assert warm_up_of(all_series_of(run.trials, workload_of(plan))) == 0.0


def test_a_stump_at_the_end_counts_for_the_value_but_not_as_a_slice():
    trial, workload = trial_of(np.full(40, 1000.0))
    stump = trial.intervals[-1].model_copy(update={"t_s": 40.1, "operations": 50})
    (headline_sample, *_) = (s for s in trial.samples if s.metric == "transactions")
    sample = replace(headline_sample, value=40_050 / 40.1)
    samples = (sample, *(s for s in trial.samples if s.metric != "transactions"))
    longer = trial.model_copy(
        update={"intervals": (*trial.intervals, stump), "samples": Samples.of(samples)}
    )
    series = series_of(longer, workload)
    assert series is not None
    assert len(series.rates) == 40
    assert series.rate_after(0.0) == pytest.approx(40_050 / 40.1)
