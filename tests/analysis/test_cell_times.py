"""Cells that are measured for too short a time, and the work that mends it."""

import pytest
from msgspec.structs import replace

from support.synthetic import synthetic_study
from tiltyard.analysis.cell_times import LEAST_S, cell_times, short_cells
from tiltyard.analysis.findings import analyse
from tiltyard.plan.model import PlannedWorkload
from tiltyard.plan.pilot import CellTime
from tiltyard.run.record import RunRecord
from tiltyard.run.samples import Samples

SCHEMA = {
    "properties": {
        "file": {"amount": "bytes", "least": 65536},
        "record": {"within": "file"},
        "operations": {"amount": "count", "maximum": 1_000_000},
    }
}


def workload(**effective: object) -> PlannedWorkload:
    plan, _ = synthetic_study(("ext4", "xfs"), ("postmark",), 0)
    return plan.workloads[0].model_copy(update={"effective": effective})


def cells(**elapsed_s: float) -> list[CellTime]:
    """Of a grid of files, by size: ``_4M`` is a file of 4 MiB."""
    return [
        CellTime(metric="read", at={"file": int(size[1:-1]) << 20}, elapsed_s=seconds)
        for size, seconds in elapsed_s.items()
    ]


def lasting(run: RunRecord, seconds: float) -> RunRecord:
    def shorter(trial):  # type: ignore[no-untyped-def]
        samples = tuple(replace(sample, elapsed_s=seconds) for sample in trial.samples)
        return trial.model_copy(update={"samples": Samples.of(samples)})

    return run.model_copy(update={"trials": tuple(map(shorter, run.trials))})


def test_a_count_grows_until_the_shortest_cell_is_long_enough():
    own = workload(operations=500, file=[2**20])
    times = [CellTime(metric=m, at={}, elapsed_s=s) for m, s in (("read", 0.02), ("write", 0.2))]
    found = short_cells(own, times, SCHEMA, trial_s=0.5)
    assert found is not None
    assert (found.cells, found.short, found.shortest_s) == (2, 1, 0.02)
    assert found.parameters == {"operations": 3200}, "6.25 times as many, of two digits; no file"
    assert found.longer_trial_s == pytest.approx(0.5 + 5.4 * 0.22)


def test_points_of_a_grid_grow_by_themselves_and_are_there_once():
    own = workload(file=[2**20, 2**24, 2**28])
    times = cells(_1M=0.0001, _16M=0.03, _256M=0.4)
    found = short_cells(own, times, SCHEMA, trial_s=0.6)
    assert found is not None
    assert found.parameters == {"file": ["128M", "256M"]}
    assert found.longer_trial_s == pytest.approx(0.6 + (8 * 0.03 + 0.4) - 0.4301)


def test_long_cells_need_nothing():
    assert short_cells(workload(file=[2**20]), cells(_1M=LEAST_S), SCHEMA, 1.0) is None
    assert short_cells(workload(file=[2**20]), [], SCHEMA, 1.0) is None


def test_where_nothing_can_grow_nothing_is_proposed():
    at_most = workload(operations=1_000_000)
    for own in (workload(auto={"file_min": 65536}), at_most):
        found = short_cells(own, [CellTime(metric="r", at={}, elapsed_s=0.01)], SCHEMA, 1.0)
        assert found is not None
        assert found.parameters == {}
        assert found.longer_trial_s == found.trial_s


def test_times_are_medians_of_headline_cells():
    plan, run = synthetic_study(("ext4", "xfs"), ("iozone",), 4)
    found = cell_times(run, plan.workloads[0])
    headline = {metric.name for metric in plan.workloads[0].metrics if metric.role == "headline"}
    assert {cell.metric for cell in found} == headline
    assert {cell.elapsed_s for cell in found} == {0.5}
    assert len({(cell.metric, *cell.at.items()) for cell in found}) == len(found)


def test_a_report_says_that_cells_were_short():
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), 7)
    for seconds, said in ((0.5, False), (0.004, True)):
        texts = [notice.text for notice in analyse(plan, lasting(run, seconds)).notices]
        assert any("took less than 0.1 s in a trial, the shortest 4.00 ms" in t for t in texts) == (
            said
        )
