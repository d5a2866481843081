"""What trials read, alone and together."""

from dataclasses import replace

import numpy as np
import pytest

from support.synthetic import SHAPES, synthetic_study
from tiltyard.analysis.readings import PERCENTILES, Reader, mean_of


def samples_of(workload="iozone", trials=3):
    _, run = synthetic_study(workloads=(workload,), blocks=1, seed=5)
    return [trial.samples for trial in run.trials[:trials]]


def test_cells_are_told_once_for_all_trials_that_measure_the_same():
    reader = Reader()
    first, second = map(reader.read, samples_of(trials=2))
    assert first.keys is second.keys
    assert len(first.keys) == sum(len(SHAPES["iozone"].points) for _ in SHAPES["iozone"].metrics)
    assert first.values.tolist() == [sample.value for sample in samples_of()[0]]


def test_a_trial_that_measures_less_has_its_own_cells():
    reader = Reader()
    whole, *_ = samples_of()
    shorter = reader.read(whole[3:])
    assert reader.read(whole).keys[3:] == shorter.keys


def test_the_mean_of_trials_is_geometric_and_over_the_cells_of_all():
    reader = Reader()
    one, other, _ = samples_of()
    found = mean_of([reader.read(one), reader.read(other[2:])])
    assert found.keys == reader.read(one).keys[2:]
    expected = [np.sqrt(a.value * b.value) for a, b in zip(one[2:], other[2:], strict=True)]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)


def test_where_a_value_is_zero_the_mean_is_arithmetic():
    reader = Reader()
    one, other, _ = samples_of()
    zero = (replace(one[0], value=0.0), *one[1:])
    found = mean_of([reader.read(zero), reader.read(other)])
    assert found.values[0] == pytest.approx(other[0].value / 2)


def test_percentiles_are_there_where_enough_operations_were_timed():
    (plain,) = samples_of("postmark", trials=1)
    assert Reader().read(plain).percentiles is None
    _, run = synthetic_study(workloads=("tcp_rr",), blocks=1, shapes=TIMED)
    samples = run.trials[0].samples
    found = Reader().read(samples).percentiles
    assert found is not None
    timed = samples[0].latency_ns
    assert timed is not None
    names = [getattr(timed, name) * 1e-9 for name in PERCENTILES]
    np.testing.assert_allclose(found[0], names)
    few = replace(samples[0], latency_ns=timed.model_copy(update={"count": 99}))
    assert Reader().read([few]).percentiles is None


TIMED = {"tcp_rr": replace(SHAPES["postmark"], timed={"transactions": 1e-4})}
