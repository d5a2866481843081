"""Systems relative to the best of each test: shares of its speed, which tests of any unit have."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiltyard.analysis.alike import alike
from tiltyard.analysis.model import Findings, Index


@dataclass(frozen=True)
class RelativeTest:
    """One test with what each system reaches of the best one."""

    workload: str
    label: str
    unit: str
    direction: str
    shares: Mapping[str, float]
    """System → its speed over that of the best: 1 for the best itself, less for all others. Times
    are turned into speeds, so more is always better."""
    name: str = ""
    """Of its metric."""


def relative_tests(findings: Findings) -> list[RelativeTest]:
    """Every test of every workload in which at least two systems have a value."""
    return [
        RelativeTest(workload, index.label, index.unit, index.direction, shares, name)
        for workload, name, index in _tests(findings)
        if len(shares := shares_of_best(index)) > 1
    ]


def shares_of_best(index: Index) -> dict[str, float]:
    """Of systems with a positive value: speed over the greatest speed."""
    values = {one.system: one.value for one in index.standings if one.value > 0}
    if not values:
        return {}
    if index.direction == "higher":
        most = max(values.values())
        return {system: value / most for system, value in values.items()}
    least = min(values.values())
    return {system: least / value for system, value in values.items()}


def with_mean(tests: Sequence[RelativeTest]) -> Sequence[RelativeTest]:
    """Those that have a mean, since they measure the same; none where that is one."""
    found = alike(tests, lambda test: test)
    return found if len(found) > 1 else ()


def mean_shares(tests: Sequence[RelativeTest]) -> dict[str, float]:
    """Geometric mean over the tests, of systems that have all of them.

    A summary of normalised numbers is a geometric mean or it depends on what they were normalised
    by (P. Fleming and J. Wallace, *How not to lie with statistics*, CACM 29(3), 1986).
    """
    systems = [
        system
        for system in (tests[0].shares if tests else ())
        if all(system in test.shares for test in tests)
    ]
    return {
        system: math.exp(math.fsum(math.log(test.shares[system]) for test in tests) / len(tests))
        for system in systems
    }


def first_without(tests: Sequence[RelativeTest]) -> Counter[str]:
    """System → how often its mean is the highest while one test after the other is left out."""
    found = Counter[str]()
    for place in range(len(tests)):
        means = mean_shares([*tests[:place], *tests[place + 1 :]])
        if means:
            found[max(means, key=means.__getitem__)] += 1
    return found


def _tests(findings: Findings) -> Iterator[tuple[str, str, Index]]:
    """Workload, name of the metric, and its table; that of an only one is named by its workload."""
    for workload in findings.workloads:
        for index in workload.by_metric:
            yield workload.display, index.name, index
        if not workload.by_metric:
            only = next((cell.metric for cell in workload.cells), workload.index.name)
            yield workload.display, only, workload.index
