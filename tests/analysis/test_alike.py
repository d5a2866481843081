"""What has a mean: the metrics that measure what the most of them do."""

from itertools import groupby

import pytest

from support.collections import collection, metric
from tiltyard.analysis.alike import alike
from tiltyard.analysis.collected.findings import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.analysis.reader_weights import choices
from tiltyard.analysis.relative import first_without, mean_shares, relative_tests, with_mean
from tiltyard.analysis.statements.claims import places
from tiltyard.analysis.statements.headline import over_all
from tiltyard.collected.model import CollectedMetric, Reading

RATES = [metric(name) for name in ("read", "write")]
TIME = metric("time", "s")


def study(*metrics: CollectedMetric, time_of_b: float = 300.0) -> Findings:
    """Two systems; what b does at twice the rate takes it three times as long, or as given."""
    own = [
        Reading(metric=one.name, system=system, values=(value, value * 1.001, value * 0.999))
        for one in metrics
        for system, value in (("a", 100.0), ("b", time_of_b if one.unit == "s" else 200.0))
    ]
    return analyse_collection(collection(own, metrics))


def names(*metrics: CollectedMetric) -> list[str]:
    return [one.name for one in alike(metrics, lambda own: own)]


class Counted(str):
    """A unit that counts how often it is compared with another one."""

    asked = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.asked += 1
        return str.__eq__(self, other)


def test_a_large_grid_is_looked_through_once() -> None:
    own = [RATES[0].model_copy(update={"unit": Counted("B/s")}) for _ in range(1_000)]
    assert alike(own, lambda one: one) == own
    assert Counted.asked < 20 * len(own)


def test_what_the_most_measure_and_else_the_first() -> None:
    assert names(TIME, *RATES) == names(*RATES, TIME) == ["read", "write"]
    assert names(TIME, RATES[0]) == ["time"]
    assert names(RATES[0], TIME) == ["read"]
    assert names() == []


@pytest.mark.parametrize("order", [(TIME, *RATES), (*RATES, TIME)])
def test_a_time_among_rates_is_no_part_of_their_mean(order: tuple[CollectedMetric, ...]) -> None:
    findings = study(*order)
    (workload,) = findings.workloads
    assert (workload.index.unit, workload.index.cells) == ("B/s", 2)
    assert workload.index.comparisons[0].ratio == pytest.approx(2, rel=1e-3)
    assert [pair.ratio for pair in findings.overall] == pytest.approx([2], rel=1e-3)
    own = with_mean(relative_tests(findings))
    assert mean_shares(own) == pytest.approx({"a": 0.5, "b": 1}, rel=1e-3)
    assert first_without(own) == {"b": 2}
    assert [(one.of, one.tally.tests) for one in places(findings)] == [(2, 3)] * 2
    chosen = choices(findings)
    assert [weight for weight, test in zip(chosen.weights, chosen.tests, strict=True)
            if test.unit == "s"] == [0]  # fmt: skip
    assert sum(chosen.weights) == 2


def test_a_mean_of_half_of_the_tests_is_no_headline() -> None:
    most = study(TIME, *RATES, time_of_b=80.0)
    half = study(TIME, metric("wait", "s"), *RATES, time_of_b=80.0)
    assert half.overall
    assert over_all(half) == ""
    assert over_all(most).startswith("b against a, mean of 2 of 3 tests ("), over_all(most)


def test_a_grid_that_alone_measures_the_most_is_the_whole_wherever_it_stands() -> None:
    """Its mean is judged once, and so is each other metric."""
    own = [
        Reading(metric=name, system=system, at={"size": size}, values=(value, value * 1.001))
        for name, sizes in (("time", (1,)), ("read", (1, 2, 4)))
        for size in sizes
        for system, value in (("a", 100.0), ("b", 200.0))
    ]
    (workload,) = analyse_collection(collection(own, (TIME, RATES[0]))).workloads
    assert (workload.index.label, workload.index.cells) == ("read", 3)
    assert [one.name for one in workload.by_metric] == ["time", "read"]
    assert [one.name for one in workload.other_metrics] == ["time"]
    told = [pair.sentence for pair in workload.index.comparisons]
    assert [pair.sentence for pair in workload.by_metric[1].comparisons] == told
    units = {unit: len(list(of)) for unit, of in groupby(workload.cells, lambda cell: cell.unit)}
    assert units == {"s": 1, "B/s": 3}
