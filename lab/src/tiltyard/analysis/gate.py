"""The gate: is any headline of a change worse than the baseline by more than a margin?

One rule for all headlines of a study, as one family (:mod:`tiltyard.stats.margin`). Of each
headline (a metric at a point of its grid, one system against the baseline) the repeated confidence
interval of the ratio is held against the margin [1/(1 + m), 1 + m]. Ratios are those of the blocks
as they are: nothing is taken off for covariates.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np

from tiltyard.analysis.decision import Decision
from tiltyard.analysis.model import Cell, Comparison, Findings
from tiltyard.frozen import Frozen
from tiltyard.stats.margin import BEYOND, UNDECIDED, WITHIN, against_margin, level_of
from tiltyard.units import count_of

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
    """Median of the system over blocks, in ``unit``."""
    value_against: float | None
    blocks: int
    """That the interval rests on; 0 before a look that has one."""
    ratio: float | None
    """System / against."""
    low: float | None
    high: float | None
    outcome: Outcome
    why: str = ""
    """Of an invalid one, in a sentence."""


class Gate(Frozen):
    """What the gate says of a study."""

    result: Result
    within: float
    """The margin m, as a fraction."""
    level: float
    """Coverage of each interval by itself; all together have 95 %."""
    question: str
    blocks: int
    trials_failed: int
    stopped: str | None
    headlines: tuple[Headline, ...]

    def having(self, *outcomes: Outcome) -> tuple[Headline, ...]:
        """The headlines with one of these outcomes."""
        return tuple(line for line in self.headlines if line.outcome in outcomes)

    @property
    def blocks_needed(self) -> float:
        """About as many as decide all that is undecided: intervals narrow as 1/√blocks.

        inf where an estimate is the margin itself, or there is no interval yet.
        """
        return max(
            (_blocks_needed(line, self.within) for line in self.having("undecided")), default=0
        )

    @property
    def margin_reached(self) -> float:
        """The margin within which the intervals of all that is undecided lie, as a fraction."""
        bounds = (_worse(line) for line in self.having("undecided"))
        return math.expm1(max((high for _, high in bounds), default=0.0))

    @property
    def sentence(self) -> str:
        """The whole in one sentence."""
        margin, all_of = f"{100 * self.within:g} %", count_of(len(self.headlines), "headline")
        if self.result == "regression":
            return f"{len(self.having('regression'))} of {all_of} worse by more than {margin}"
        if self.result == "undecided":
            return f"{len(self.having('undecided'))} of {all_of} undecided at a margin of {margin}"
        if self.trials_failed:
            return f"invalid: {count_of(self.trials_failed, 'trial')} failed"
        if self.result == "invalid":
            invalid = len(self.having("invalid"))
            return f"{invalid} of {all_of} invalid" if self.headlines else "nothing to compare"
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


def _blocks_needed(line: Headline, within: float) -> float:
    """Where the nearer bound of the interval would reach the margin, at the same estimate."""
    low, high = _worse(line)
    if line.ratio is None or math.isinf(high):
        return math.inf
    estimate = math.log(line.ratio) * (1 if line.direction == "lower" else -1)
    margin = math.log1p(within)
    is_beyond = estimate > margin
    reach = estimate - low if is_beyond else high - estimate
    if not (distance := abs(estimate - margin)):
        return math.inf
    return math.ceil(line.blocks * max(1.0, (reach / distance) ** 2))


def gate(findings: Findings, within: float) -> Gate:
    """Every headline of a study against a margin.

    Args:
        findings: of a study that was run here.
        within: the margin, as a fraction: 0.03 allows a time to be 1.03 times as long, and a rate
            to be 1/1.03 of the baseline's.
    """
    asked = list(_headlines(findings))
    level = level_of(len(asked))
    headlines = tuple(
        _headline(*pair, judged, several=len(findings.workloads) > 1)
        for pair, judged in zip(asked, _judged(findings, asked, within, level), strict=True)
    )
    return Gate(
        result=_result(findings, headlines),
        within=within,
        level=1 - level,
        question=findings.question,
        blocks=findings.blocks_done,
        trials_failed=findings.trials_failed,
        stopped=findings.stopped,
        headlines=headlines,
    )


def gate_decision(findings: Findings, within: float, *, withheld: bool) -> Decision:
    """Whether further blocks could change what the gate says.

    Args:
        findings: so far.
        within: the margin.
        withheld: nothing may be claimed yet, because too many blocks were disturbed.
    """
    asked = list(_headlines(findings))
    found = gate(findings, within)
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


def _headlines(findings: Findings) -> Iterator[tuple[str, Cell, Comparison]]:
    """Every cell of a headline metric, each system against the baseline."""
    for workload in findings.workloads:
        for cell in workload.cells:
            for found in cell.comparisons:
                if found.against == findings.baseline:
                    yield workload.name, cell, found


def _judged(
    findings: Findings, asked: Sequence[tuple[str, Cell, Comparison]], within: float, level: float
) -> Iterator[tuple[Outcome, int, float, float, float]]:
    """Of each headline its outcome, the blocks it rests on, and ratio, lower and upper bound."""
    worse = np.array([1.0 if cell.direction == "lower" else -1.0 for _, cell, _ in asked])
    longest = max((len(found.differences) for _, _, found in asked), default=0)
    differences = np.full((len(asked), longest), np.nan)
    for row, (_, _, found) in enumerate(asked):
        differences[row, : len(found.differences)] = worse[row] * np.log(found.differences)
    margin, ended = math.log1p(within), findings.stopped is not None
    verdicts = against_margin(differences, findings.design.spending, margin, level, ended=ended)
    bounds = np.stack([verdicts.low, verdicts.high])
    low, high = np.where(worse > 0, bounds, -bounds[::-1])
    rows = zip(
        verdicts.outcome.tolist(),
        (verdicts.high < 0).tolist(),
        verdicts.blocks.tolist(),
        *np.exp([worse * verdicts.estimate, low, high]).tolist(),
        strict=True,
    )
    for outcome, better, blocks, *ratios in rows:
        word = _WORDS[outcome]
        yield ("improvement" if word == "within" and better else word, blocks, *ratios)


def _headline(
    workload: str,
    cell: Cell,
    found: Comparison,
    judged: tuple[Outcome, int, float, float, float],
    *,
    several: bool,
) -> Headline:
    """One headline, with its outcome."""
    medians = {own.system: own.median for own in cell.summaries}
    outcome, blocks, ratio, low, high = judged
    if found.verdict == "invalid":
        outcome = "invalid"
    return Headline(
        workload=workload,
        metric=cell.metric,
        at=cell.at,
        name=", ".join(filter(None, (workload if several else "", cell.label, cell.at_label))),
        unit=cell.unit,
        shown_in=cell.shown_in,
        direction=cell.direction,
        system=found.system,
        against=found.against,
        value=medians.get(found.system),
        value_against=medians.get(found.against),
        blocks=blocks,
        ratio=ratio if blocks else None,
        low=low if blocks else None,
        high=high if blocks else None,
        outcome=outcome,
        why=found.sentence if outcome == "invalid" else "",
    )


def _result(findings: Findings, headlines: Sequence[Headline]) -> Result:
    """Of the family; failed trials and nothing to compare are never a pass."""
    outcomes = {line.outcome for line in headlines}
    for outcome, result in _ORDER:
        if outcome in outcomes:
            return result
        if outcome == "regression" and (findings.trials_failed or not headlines):
            return "invalid"
    return "passed"
