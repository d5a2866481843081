"""The gate: is any headline of a change worse than the baseline by more than a margin?

One rule for all headlines of a study, as one family (:mod:`tiltyard.stats.margin`). Of each
headline (a metric at a point of its grid, one system against the baseline) the repeated confidence
interval of the ratio is held against the margin [1/(1 + m), 1 + m]: its own one to pass, those that
hold together to fail. Ratios are those of the blocks as they are: nothing is taken off for
covariates. Of a headline that lacks more than the allowed share of its blocks, because trials
failed, nothing is said, as in the verdicts of a study.

A program has two headlines, of which one decides: the wall-clock time, or its CPU time where that
was asked for before. The other stands beside it, as a family by itself.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np

from tiltyard.analysis.contrast import MAX_FAILED_SHARE
from tiltyard.analysis.decision import Decision
from tiltyard.analysis.model import Cell, Comparison, Findings
from tiltyard.analysis.pairs import beside_ratios
from tiltyard.analysis.verdict import Estimate
from tiltyard.frozen import Frozen
from tiltyard.plan.model import Unit
from tiltyard.stats.margin import (
    BETTER,
    BEYOND,
    UNDECIDED,
    WITHIN,
    MarginVerdicts,
    against_margin,
    blocks_to_answer,
    level_of,
)
from tiltyard.stats.sequential import LEVEL
from tiltyard.stats.types import FloatArray
from tiltyard.study.program import WALL_TIME
from tiltyard.units import agreeing, count_of, few, listed, part_of

By = Literal["time", "cpu-time"]
"""Which time of programs decides."""
Outcome = Literal["improvement", "within", "regression", "undecided", "invalid"]
Result = Literal["passed", "regression", "undecided", "invalid"]
_ORDER: Final[tuple[tuple[Outcome, Result], ...]] = (
    ("regression", "regression"),
    ("invalid", "invalid"),
    ("undecided", "undecided"),
)
"""What a family comes to: the first of these that one of its headlines has."""
_WORDS: Final[dict[int, Outcome]] = {
    UNDECIDED: "undecided",
    WITHIN: "within",
    BEYOND: "regression",
    BETTER: "improvement",
}


class Headline(Frozen):
    """One headline of one system against the baseline."""

    workload: str
    metric: str
    at: dict[str, int | str]
    name: str
    """As tables show it: ``time``, ``parse, time``; unique among the headlines of a system."""
    unit: str
    shown_in: str
    direction: Literal["higher", "lower"]
    system: str
    against: str
    value: float | None
    """Of the system, in ``unit``: ``value_against`` times the ratio; its own median without one."""
    value_against: float | None
    """Median of the other over blocks."""
    blocks: int
    """That the interval rests on; 0 before a look that has one."""
    ratio: float | None
    """System / against."""
    low: float | None
    high: float | None
    level: float
    """Coverage of this interval: 95 %, but that of the gate where a difference is shown by it."""
    outcome: Outcome
    why: str = ""
    """Of one that is invalid, or undecided though its own interval is beyond the margin."""


class Gate(Frozen):
    """What the gate says of a study."""

    result: Result
    within: float
    """The margin m, as a fraction."""
    level: float
    """Coverage of each interval by which a regression or an improvement is claimed: together those
    of all headlines have 95 %."""
    question: str
    blocks: int
    trials: int
    trials_failed: int
    failed_by_system: dict[str, int]
    """How many of those were trials of each system that has any."""
    stopped: str | None
    unit: Unit
    """What is replicated."""
    blocks_needed: int | None
    """As many of them decide, in another study, all that is undecided in 80 % of cases; ``None``:
    very many, or there is no interval yet."""
    headlines: tuple[Headline, ...]
    beside: tuple[Headline, ...] = ()
    """The other time of programs, which decides nothing."""

    def having(self, *outcomes: Outcome) -> tuple[Headline, ...]:
        """The headlines with one of these outcomes."""
        return tuple(line for line in self.headlines if line.outcome in outcomes)

    @property
    def margin_reached(self) -> float:
        """The margin within which the intervals of all that is undecided lie, as a fraction."""
        bounds = (_worse(line) for line in self.having("undecided"))
        return math.expm1(max((high for _, high in bounds), default=0.0))

    @property
    def sentence(self) -> str:
        """The whole in one sentence."""
        answer = "; ".join(filter(None, (self._answer, self._worse_beside)))
        if not self.trials_failed:
            return answer
        failed = part_of(self.trials_failed, self.trials, "trial", "has failed", "have failed")
        of = listed([f"{number} of {name}" for name, number in self.failed_by_system.items()])
        return f"{answer}; {failed} ({of})"

    @property
    def _worse_beside(self) -> str:
        every = (line.name for line in self.beside if line.outcome == "regression")
        worse = list(dict.fromkeys(every))
        if not worse:
            return ""
        return (
            f"{few(worse)} {agreeing(len(worse), 'is', 'are')} worse by more "
            f"than {100 * self.within:g} %, and {agreeing(len(worse), 'does', 'do')} not decide"
        )

    @property
    def _answer(self) -> str:
        margin, all_of = f"{100 * self.within:g} %", count_of(len(self.headlines), "headline")
        if self.result == "regression":
            return f"{len(self.having('regression'))} of {all_of} worse by more than {margin}"
        if self.result == "undecided":
            return f"{len(self.having('undecided'))} of {all_of} undecided at a margin of {margin}"
        if not self.headlines:
            return "nothing to compare"
        if self.result == "invalid":
            invalid = len(self.having("invalid"))
            return f"{invalid} of {all_of} invalid" if invalid else "a workload never worked"
        better = len(self.having("improvement"))
        return f"no regression beyond {margin} in {all_of}" + (
            f", {better} improved" if better else ""
        )


def _worse(line: Headline) -> tuple[float, float]:
    """Lower and upper bound of how much worse it is, as logarithms; inf before there is one."""
    if line.low is None or line.high is None:
        return -math.inf, math.inf
    low, high = math.log(line.low), math.log(line.high)
    return (low, high) if line.direction == "lower" else (-high, -low)


def gate(findings: Findings, within: float, by: By = "time") -> Gate:
    """Every headline of a study against a margin.

    Args:
        findings: of a study that was run here.
        within: the margin, as a fraction: 0.03 allows a time to be 1.03 times as long, and a rate
            to be 1/1.03 of the baseline's.
        by: the time of programs that decides.
    """
    asked = list(_headlines(findings, by))
    headlines, verdicts = _held(findings, asked, within)
    deciding = {(workload, cell.metric) for workload, cell, _ in asked}
    others = _headlines(findings, "cpu-time" if by == "time" else "time")
    beside = [one for one in others if (one[0], one[1].metric) not in deciding]
    undecided = np.array([line.outcome == "undecided" for line in headlines], dtype=np.bool_)
    failed = Counter(trial.system for trial in findings.trials if trial.outcome == "failed")
    level, margin, spending = level_of(len(headlines)), math.log1p(within), findings.design.spending
    return Gate(
        result=_result(findings, headlines),
        within=within,
        level=1 - level,
        question=findings.question,
        blocks=findings.blocks_done,
        trials=len(findings.trials),
        trials_failed=failed.total(),
        failed_by_system={name: failed[name] for name in sorted(failed)},
        stopped=findings.stopped,
        unit=findings.design.unit,
        blocks_needed=blocks_to_answer(verdicts.of(undecided), spending, margin, level),
        headlines=headlines,
        beside=_held(findings, beside, within)[0] if beside else (),
    )


def _held(
    findings: Findings, asked: Sequence[tuple[str, Cell, Comparison]], within: float
) -> tuple[tuple[Headline, ...], MarginVerdicts]:
    """Headlines against a margin, as one family."""
    level = level_of(len(asked))
    worse = np.array([1.0 if cell.direction == "lower" else -1.0 for _, cell, _ in asked])
    margin, ended = math.log1p(within), findings.stopped is not None
    differences, spending = _differences(asked, worse), findings.design.spending
    rounding = np.array([found.rounding for _, _, found in asked])
    verdicts = against_margin(differences, spending, margin, level, ended=ended, rounding=rounding)
    bounds = np.stack([verdicts.low, verdicts.high])
    low, high = np.where(worse > 0, bounds, -bounds[::-1])
    estimates = np.exp([worse * verdicts.estimate, low, high]).T.tolist()
    sides = verdicts.outcome.tolist(), verdicts.blocks.tolist(), verdicts.level.tolist()
    headlines = tuple(
        _headline(findings, *pair, Estimate(*estimate), side, blocks, level, within)
        for pair, estimate, side, blocks, level in zip(asked, estimates, *sides, strict=True)
    )
    return headlines, verdicts


def gate_decision(
    findings: Findings, within: float, by: By = "time", *, withheld: bool
) -> Decision:
    """Whether further blocks could change what the gate says.

    Args:
        findings: so far.
        within: the margin.
        by: the time of programs that decides.
        withheld: nothing may be claimed yet, because too many blocks were disturbed.
    """
    asked = list(_headlines(findings, by))
    found = gate(findings, within, by)
    still_open = [
        (workload, comparison)
        for (workload, _, comparison), line in zip(asked, found.headlines, strict=True)
        if line.outcome == "undecided" or (withheld and line.outcome != "invalid")
    ]
    last = findings.design.looks[-1].blocks
    lacking = any(len(comparison.differences) < last for _, comparison in still_open)
    done = not still_open or (findings.blocks_done >= last and not lacking)
    return Decision(
        done=done,
        open=tuple(comparison for _, comparison in still_open),
        reason=f"{found.sentence}, after {count_of(findings.blocks_done, 'block')}",
        going_on=frozenset(
            (system, workload)
            for workload, comparison in still_open
            for system in (comparison.system, comparison.against)
        ),
    )


def _headlines(findings: Findings, by: By) -> Iterator[tuple[str, Cell, Comparison]]:
    """Every cell of a headline metric, each system against the baseline.

    Where CPU time decides, it takes the place of the wall-clock time of the same workload.
    """
    for workload in findings.workloads:
        index = workload.cpu_time if by == "cpu-time" else None
        for cell in workload.cells:
            own, comparisons = cell, cell.comparisons
            if index is not None and cell.metric == WALL_TIME:
                own = next(one for one in workload.details if one.metric == index.name)
                comparisons = index.comparisons
            for found in comparisons:
                if found.against == findings.baseline:
                    yield workload.name, own, found


def _differences(asked: Sequence[tuple[str, Cell, Comparison]], worse: FloatArray) -> FloatArray:
    """Log ratios of the blocks, more is worse; shape (headlines, blocks), nan behind the last."""
    longest = max((len(found.differences) for _, _, found in asked), default=0)
    differences = np.full((len(asked), longest), np.nan)
    for row, (_, _, found) in enumerate(asked):
        differences[row, : len(found.differences)] = worse[row] * np.log(found.differences)
    return differences


def _headline(
    findings: Findings,
    workload: str,
    cell: Cell,
    found: Comparison,
    estimate: Estimate,
    side: int,
    blocks: int,
    level: float,
    within: float,
) -> Headline:
    """One headline, with its outcome; an improvement is one that the report says too."""
    several, known = len(findings.workloads) > 1, estimate if blocks else Estimate(None, None, None)
    medians = {own.system: own.median for own in cell.summaries}
    values = beside_ratios(medians, {found.system: known.ratio}, found.against)
    shown = side != BETTER or found.verdict == "faster"
    outcome, why = _WORDS[side if shown else WITHIN], ""
    line = Headline(
        workload=workload,
        metric=cell.metric,
        at=cell.at,
        name=", ".join(filter(None, (workload if several else "", cell.label, cell.at_label))),
        unit=cell.unit,
        shown_in=cell.shown_in,
        direction=cell.direction,
        system=found.system,
        against=found.against,
        value=values.get(found.system),
        value_against=values.get(found.against),
        blocks=blocks,
        **vars(known),
        level=level if blocks else 1 - LEVEL,
        outcome=outcome,
    )
    if found.verdict == "invalid":
        outcome, why = "invalid", found.sentence
    elif outcome != "regression" and (failed := _failing(findings, workload, found)):
        # Blocks to come may bring the share down.
        outcome = "undecided" if findings.stopped is None else "invalid"
        why = f"{line.name}: {failed}"
    elif outcome == "undecided" and _worse(line)[0] > math.log1p(within) and blocks:
        why = (
            f"{line.name}: worse by more than {100 * within:g} % by its own 95 % interval, not by "
            "one that holds together with those of the other headlines"
        )
    return line.model_copy(update={"outcome": outcome, "why": why})


def _failing(findings: Findings, workload: str, found: Comparison) -> str:
    """That more than the allowed share of its blocks have a failed trial; else nothing."""
    failed: dict[str, dict[int, bool]] = defaultdict(dict)
    for trial in findings.by_workload.get(workload, ()):
        own = failed[trial.system]
        own[trial.block] = own.get(trial.block, False) or trial.outcome == "failed"
    sides = failed[found.system], failed[found.against]
    both = sides[0].keys() & sides[1].keys()
    count = sum(any(own[block] for own in sides) for block in both)
    if count <= MAX_FAILED_SHARE * len(both):
        return ""
    return part_of(count, len(both), "block", "has a failed trial", "have a failed trial")


def _result(findings: Findings, headlines: Sequence[Headline]) -> Result:
    """Of the family; a workload without a value, and nothing to compare, are never a pass."""
    outcomes = {line.outcome for line in headlines}
    unmeasured = {own.name for own in findings.workloads} - {line.workload for line in headlines}
    for outcome, result in _ORDER:
        if outcome in outcomes:
            return result
        if outcome == "regression" and (unmeasured or not headlines):
            return "invalid"
    return "passed"
