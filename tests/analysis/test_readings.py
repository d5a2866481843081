"""What trials measured, alone and together."""

import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

from support.synthetic import SHAPES, synthetic_study
from tiltyard.analysis.quantity import GridCell, read_trials
from tiltyard.run.samples import PERCENTILES, Samples, SampleTable
from tiltyard.wire import Sample

TIMED = {"tcp_rr": dataclasses.replace(SHAPES["postmark"], timed={"transactions": 1e-4})}


def samples_of(workload="iozone", trials=3, **options):
    _, run = synthetic_study(workloads=(workload,), blocks=1, seed=5, **options)
    return [tuple(trial.samples) for trial in run.trials[:trials]]


def read(
    *places, workload="iozone", together=False, table=None, role="headline"
) -> dict[tuple, GridCell]:
    """Samples of a trial each, at a place each, or of several trials at one place."""
    plan, run = synthetic_study(workloads=(workload,), blocks=1, shapes=TIMED | SHAPES)
    trials = [
        run.trials[0].model_copy(update={"samples": table.add(own) if table else Samples.of(own)})
        for own in places
    ]
    (planned,) = plan.workloads
    metrics = tuple(metric.model_copy(update={"role": role}) for metric in planned.metrics)
    at = {(0,): trials} if together else {(n,): [trial] for n, trial in enumerate(trials)}
    attempted = np.ones(len(at), dtype=np.bool_)
    found = read_trials(at, planned.model_copy(update={"metrics": metrics}), attempted)
    return {(cell.metric.name, tuple(cell.at.items())): cell for cell in found}


def keys_of(samples):
    return tuple((sample.metric, tuple(sample.at.items())) for sample in samples)


@pytest.mark.parametrize("table", [None, SampleTable()])
def test_cells_are_those_of_any_trial_whichever_table_they_are_in(table):
    first, second, _ = samples_of()
    found = read(first[3:], second, table=table)
    assert set(found) == set(keys_of(second))
    assert len(found) == sum(len(SHAPES["iozone"].points) for _ in SHAPES["iozone"].metrics)
    values = np.array([found[key].values for key in keys_of(second)])
    assert values[:, 1].tolist() == [sample.value for sample in second]
    assert values[3:, 0].tolist() == [sample.value for sample in first[3:]]
    assert np.isnan(values[:3, 0]).all()


def test_the_mean_of_trials_is_geometric_and_over_the_cells_of_all():
    first, second, _ = samples_of()
    found = read(first, second[2:], together=True)
    assert set(found) == set(keys_of(first[2:]))
    expected = [np.sqrt(a.value * b.value) for a, b in zip(first[2:], second[2:], strict=True)]
    values = [found[key].values[0] for key in keys_of(first[2:])]
    np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "mean"),
    [((5.0,), 5.0), ((1.0, 4.0, 16.0), 4.0), ((0.0, 3.0), 1.5), ((0.0, 0.0), 0.0)],
)
def test_where_a_value_is_zero_the_mean_is_arithmetic(values, mean):
    (samples,) = samples_of(trials=1)
    several = ([replace(samples[0], value=value)] for value in values)
    (cell,) = read(*several, together=True, role="detail").values()
    assert cell.values.tolist() == [pytest.approx(mean)]


def test_percentiles_are_there_where_enough_operations_were_timed():
    (plain,) = samples_of("postmark", trials=1)
    (*cells,) = read(plain, workload="postmark").values()
    assert cells
    assert all(np.isnan(cell.percentiles).all() for cell in cells)
    (samples,) = samples_of("tcp_rr", trials=1, shapes=TIMED)
    found = read(samples, workload="tcp_rr")[keys_of(samples)[0]].percentiles
    timed = samples[0].latency_ns
    assert timed is not None
    names = [getattr(timed, name) * 1e-9 for name in PERCENTILES]
    np.testing.assert_allclose(found[0], names)
    few = replace(samples[0], latency_ns=replace(timed, count=99))
    (cell,) = read([few], workload="tcp_rr").values()
    assert np.isnan(cell.percentiles).all()


def test_rows_are_the_samples_without_histograms():
    (samples,) = samples_of("tcp_rr", trials=1, shapes=TIMED)
    table = SampleTable()
    table.add(samples[:1])
    added = table.add(samples)
    for row, sample in zip(added, samples, strict=True):
        latency = sample.latency_ns and replace(sample.latency_ns, buckets=[])
        assert row == replace(sample, latency_ns=latency)
    assert added[-1] == tuple(added)[-1]
    assert added == Samples.of(tuple(added)) != Samples.of(())
    assert all(isinstance(row, Sample) for row in added[1:])
