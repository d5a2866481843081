"""What a reader may weigh otherwise: the values behind the mean over all tests, block by block.

A page recomputes that mean with other weights, another baseline, fewer tests. An interval that was
chosen after looking is not a verdict: each is the repeated confidence interval of the latest look,
simultaneous over all pairs of systems (Bonferroni), as :mod:`tiltyard.stats.sequential` makes it.
Its constants are made here, so that nothing but sorting and adding is left to the page.
"""

from collections.abc import Iterator
from itertools import groupby
from math import comb, log
from typing import Final, Literal

from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.analysis.statements.numbers import coverage
from tiltyard.stats.sequential import LEVEL
from tiltyard.study.model import Frozen

_VALUES_MAX: Final = 40_000
"""Tests × systems × blocks: half a megabyte of a page."""
_DIGITS: Final = 10
"""Decimals of logarithms: far beyond those that are printed."""


class ChosenTest(Frozen):
    """One test: a metric of a workload, over all its cells."""

    name: str
    logs: tuple[tuple[float | Literal["failed"] | None, ...], ...]
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
    cuts: tuple[Cut | None, ...] = ()
    """By the number of usable blocks, from 0; ``None`` where there is no interval yet."""
    coverage: str = ""
    """Of each interval: ``98.3 %``."""
    failed_max: float = 0.0
    """A larger share of failed blocks has no ratio."""
    reason: str = ""
    """Why nothing can be recomputed."""


def choices(findings: Findings, failed_max: float) -> Choices:
    """What a page needs to recompute the mean over the tests.

    Args:
        findings: of one study.
        failed_max: the share of failed blocks up to which anything is claimed.
    """
    systems = tuple(system.name for system in findings.systems)
    if reason := _reason(findings):
        return Choices(systems=systems, baseline=findings.baseline, reason=reason)
    cells = [cell for workload in findings.workloads for cell in workload.cells]
    blocks = tuple(sorted({b for cell in cells for one in cell.summaries for b in one.blocks}))
    tests = tuple(
        test for own in findings.workloads for test in _tests(findings, own, systems, blocks)
    )
    if len(tests) * len(systems) * len(blocks) > _VALUES_MAX:
        reason = "the study has more values than a page can carry"
        return Choices(systems=systems, baseline=findings.baseline, reason=reason)
    level = min(LEVEL, LEVEL / comb(len(systems), 2))
    return Choices(
        systems=systems,
        baseline=findings.baseline,
        blocks=blocks,
        tests=tests,
        cuts=tuple(_cut(findings, usable, level) for usable in range(len(blocks) + 1)),
        coverage=coverage(1 - level),
        failed_max=failed_max,
    )


def _reason(findings: Findings) -> str:
    """Why an interval cannot be recomputed from values alone; empty if it can."""
    if len(findings.systems) < 2:
        return "one system has nothing to be compared with"
    if findings.origin:
        return "the values come from elsewhere and have no common blocks"
    if findings.design.unit == "session":
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
        for trial in findings.trials
        if trial.workload == workload.name and trial.outcome in ("done", "failed")
    }
    for _, grouped in groupby(workload.cells, key=lambda cell: cell.metric):
        own = list(grouped)
        means = [_means(own, system) for system in systems]
        yield ChosenTest(
            name=f"{workload.name} {own[0].label}",
            logs=tuple(
                tuple(
                    mean.get(block, "failed" if (system, block) in tried else None)
                    for block in blocks
                )
                for system, mean in zip(systems, means, strict=True)
            ),
        )


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
