"""What a reader may weigh otherwise: the values behind the mean over all tests, block by block.

A page recomputes that mean with other weights, another baseline, fewer tests. An interval that was
chosen after looking is not a verdict: each is the repeated confidence interval of the latest look,
simultaneous over all pairs of systems (Bonferroni), as :mod:`tiltyard.stats.sequential` makes it.
Its constants are made here, so that nothing but sorting and adding is left to the page.

Results from elsewhere have no blocks of ours: of each system the page has where its logarithms lie
in each test, and how sure that is (:mod:`tiltyard.analysis.dataset`). Its interval is
Welch's, with the errors of the tests taken as fully dependent; where the source has no repetitions
there is a ratio without an interval.
"""

from collections.abc import Iterator
from itertools import groupby
from math import comb, log
from typing import Final, Literal, TypeAlias

import numpy as np
from pydantic import Field
from scipy.special import stdtrit

from tiltyard.analysis.alike import alike
from tiltyard.analysis.contrast import MAX_FAILED_SHARE
from tiltyard.analysis.dataset import FEWEST_VALUES, Dataset, Point, direction_of
from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.analysis.quantity import metric_of
from tiltyard.analysis.statements.numbers import confidence
from tiltyard.collected.model import CollectedMetric, Reading
from tiltyard.frozen import Frozen
from tiltyard.stats.sequential import LEVEL
from tiltyard.units import printed_units

_VALUES_MAX: Final = 20_000
"""Tests × systems × blocks: a quarter of a megabyte of a page."""
Kind: TypeAlias = Literal["rate", "time"]
_KINDS: Final[dict[str, Kind]] = {"B/s": "rate", "s": "time"}
_DIGITS: Final = 10
"""Decimals of logarithms: far beyond those that are printed."""
QUANTILE_STEPS: Final = 64
"""Steps of ``1/ν`` from 0 to 1/2, at which quantiles of Student's t are told."""


class ChosenTest(Frozen):
    """One test: a metric of a workload, over all its cells."""

    name: str
    metric: str = Field("", exclude=True)
    unit: str
    direction: str
    heaps: tuple[tuple[float, float | None, int, float] | None, ...] = ()
    """Of results from elsewhere, of each system: mean of the logarithms, times turned into speeds;
    its standard error, ``None`` where too little was repeated; the values behind it; how far the
    digits that were not kept can shift it. ``None`` where it lacks a positive value."""
    logs: tuple[tuple[float | Literal["failed"] | None, ...], ...] = ()
    """Of each system, in each block: the mean over the cells of the natural logarithms, times
    turned into speeds; ``failed`` where a trial left no value, ``None`` where there was none."""


class Cut(Frozen):
    """How the interval of so many usable blocks is made."""

    blocks: int
    """Those of the latest look; the first ones count."""
    c: int
    """Walsh averages cut off at either end."""
    t: float
    """Where it is not 0, the interval is the mean ± so many standard errors instead."""


class Choices(Frozen):
    """All that a recomputation needs, or the reason why there is none."""

    systems: tuple[str, ...]
    baseline: str
    blocks: tuple[int, ...] = ()
    tests: tuple[ChosenTest, ...] = ()
    weights: tuple[int, ...] = ()
    """Of the tests, at first: 1 for those that are alike."""
    cuts: tuple[Cut | None, ...] = ()
    """By the number of usable blocks, from 0; ``None`` where there is no interval yet."""
    coverage: str = ""
    """Of each interval: ``simultaneous 95 % CI``."""
    failed_max: float = 0.0
    """A larger share of failed blocks has no ratio."""
    fewest: int = 0
    """Values a side, of results from elsewhere, from which on there is an interval."""
    quantiles: tuple[float, ...] = ()
    """Of results from elsewhere: logarithms of Student's two-sided t of that coverage, with ``ν``
    degrees of freedom, at ``1/ν`` from 0 to 1/2."""
    reason: str = ""
    """Why nothing can be recomputed."""
    units: dict[str, tuple[Kind, float]] = Field(default_factory=dict)
    """Of units in which the report prints: what each measures, and what one of it is worth in B/s
    or s. One that means two things in the report is not among them."""


def choices(findings: Findings) -> Choices:
    """What a page needs to recompute the mean over the tests.

    Args:
        findings: of one study.
    """
    found = _choices(findings)
    own = set(map(id, alike(found.tests, _metric_of)))
    return found.model_copy(
        update={
            "units": _units(findings),
            "weights": tuple(int(id(test) in own) for test in found.tests),
        }
    )


def _metric_of(test: ChosenTest) -> ChosenTest:
    """The test under the name of its metric."""
    return test.model_copy(update={"name": test.metric})


def _choices(findings: Findings) -> Choices:
    systems = tuple(system.name for system in findings.systems)
    if reason := _reason(findings):
        return Choices(systems=systems, baseline=findings.baseline, reason=reason)
    level = LEVEL / comb(len(systems), 2)
    if not findings.planned:
        return Choices(
            systems=systems,
            baseline=findings.baseline,
            tests=tuple(test for own in findings.workloads for test in _heaps(own, systems)),
            coverage=confidence(1 - level),
            fewest=FEWEST_VALUES,
            quantiles=_quantiles(level),
        )
    cells = [cell for workload in findings.workloads for cell in workload.cells]
    blocks = tuple(sorted({b for cell in cells for one in cell.summaries for b in one.blocks}))
    tests = tuple(
        test for own in findings.workloads for test in _tests(findings, own, systems, blocks)
    )
    if len(tests) * len(systems) * len(blocks) > _VALUES_MAX:
        reason = "the study has more values than a page can carry"
        return Choices(systems=systems, baseline=findings.baseline, reason=reason)
    return Choices(
        systems=systems,
        baseline=findings.baseline,
        blocks=blocks,
        tests=tests,
        cuts=tuple(_cut(findings, usable, level) for usable in range(len(blocks) + 1)),
        coverage=confidence(1 - level),
        failed_max=MAX_FAILED_SHARE,
    )


def _units(findings: Findings) -> dict[str, tuple[Kind, float]]:
    """A source's KB may be 1,024 B: what it says counts, and ours where it says nothing."""
    found: dict[str, set[tuple[Kind, float]]] = {}
    cells = [cell for own in findings.workloads for cell in (*own.cells, *own.details)]
    for cell in cells:
        kind = _KINDS.get(cell.unit)
        if kind and cell.printed:
            found.setdefault(cell.printed.unit, set()).add((kind, cell.printed.factor))
    if any(cell.printed is None for cell in cells):
        for unit in ("B/s", "bit/s", "s"):
            for factor, name in printed_units(unit):
                found.setdefault(name, set()).add((_KINDS["s" if unit == "s" else "B/s"], factor))
    return {name: own.pop() for name, own in found.items() if len(own) == 1}


def _reason(findings: Findings) -> str:
    """Why an interval cannot be recomputed from values alone; empty if it can."""
    if len(findings.systems) < 2:
        return "one system has nothing to be compared with"
    if not findings.planned and findings.unit != "value":
        return "the verdicts rest on several studies, whose spread single values do not have"
    if not findings.planned:
        return "" if any(own.cells for own in findings.workloads) else "no values were kept"
    if findings.unit == "session":
        return "the verdicts rest on sessions, whose spread blocks do not have"
    if findings.design.verdict == "adjusted":
        return "the verdicts are adjusted for covariates, which the page does not have"
    if not findings.look:
        return "no look was reached yet"
    return ""


def _tests(
    findings: Findings,
    workload: WorkloadFindings,
    systems: tuple[str, ...],
    blocks: tuple[int, ...],
) -> Iterator[ChosenTest]:
    tried = {
        (trial.system, trial.block)
        for trial in findings.by_workload.get(workload.name, ())
        if trial.outcome in ("done", "failed")
    }
    for metric, grouped in groupby(workload.cells, key=lambda cell: cell.metric):
        own = list(grouped)
        means = [_means(own, system) for system in systems]
        yield ChosenTest(
            name=metric_of(workload.name, workload.display, own[0].label),
            metric=metric,
            unit=own[0].unit,
            direction=own[0].direction,
            logs=tuple(
                tuple(
                    mean.get(block, "failed" if (system, block) in tried else None)
                    for block in blocks
                )
                for system, mean in zip(systems, means, strict=True)
            ),
        )


def _heaps(workload: WorkloadFindings, systems: tuple[str, ...]) -> Iterator[ChosenTest]:
    """The tests of a workload that was not run here."""
    for metric, grouped in groupby(workload.cells, key=lambda cell: cell.metric):
        own = [_point(place, cell) for place, cell in enumerate(grouped)]
        sign = 1.0 if direction_of(own) == "higher" else -1.0
        found = Dataset.of(own, systems).samples(range(len(own)))
        places = (found.get(system) for system in systems)
        yield ChosenTest(
            name=metric_of(workload.name, workload.display, own[0].metric.label),
            metric=metric,
            unit=own[0].metric.unit,
            direction=own[0].metric.direction,
            heaps=tuple(
                one and (sign * one.mean, one.error, one.n, one.rounding) for one in places
            ),
        )


def _point(place: int, cell: Cell) -> Point:
    """A cell as it was collected."""
    return Point(
        cell=place,
        metric=CollectedMetric(
            name=cell.metric,
            label=cell.label,
            unit=cell.unit,
            direction=cell.direction,
            printed=cell.printed,
        ),
        at=cell.at,
        label=cell.at_label,
        readings={
            one.system: Reading(
                metric=cell.metric,
                system=one.system,
                values=one.values,
                blocks=one.blocks,
                mean=one.mean,
                sd=one.sd,
                se=one.se,
                n=one.n,
            )
            for one in cell.summaries
        },
    )


def _quantiles(level: float) -> tuple[float, ...]:
    freedom = 1 / np.linspace(1e-9, 0.5, QUANTILE_STEPS + 1)
    return tuple(np.log(-stdtrit(freedom, level / 2)).round(_DIGITS).tolist())


def _means(cells: list[Cell], system: str) -> dict[int, float]:
    """By block, where all cells have a value."""
    logs: dict[int, list[float]] = {}
    for cell in cells:
        sign = 1 if cell.direction == "higher" else -1
        for one in cell.summaries:
            if one.system == system:
                for block, value in zip(one.blocks, one.values, strict=True):
                    logs.setdefault(block, []).append(sign * log(value))
    return {
        block: round(sum(own) / len(own), _DIGITS)
        for block, own in logs.items()
        if len(own) == len(cells)
    }


def _cut(findings: Findings, usable: int, level: float) -> Cut | None:
    """That of the latest look that has an interval of this level, as a family takes it."""
    spending = findings.design.spending
    reached = [
        place
        for place, (needed, _) in enumerate(spending.looks)
        if needed <= usable and spending.has_interval(place, level)
    ]
    if not reached:
        return None
    c, t = spending.constants(reached[-1], level)
    return Cut(blocks=spending.looks[reached[-1]][0], c=c, t=t)
