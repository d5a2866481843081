"""The twelve rules for reporting measurements, and how one study meets each of them.

Source: T. Hoefler and R. Belli, "Scientific Benchmarking of Parallel Computing Systems: Twelve ways
to tell the masses when reporting performance results", SC 2015. The rules are paraphrased; whether
one is met follows from the findings, for results from elsewhere as for our own.
"""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from tiltyard.analysis.model import Cell, Comparison, Findings, Summary
from tiltyard.analysis.statements.disturbances import left_out
from tiltyard.analysis.statements.statement import Statement
from tiltyard.frozen import Frozen
from tiltyard.units import agreeing, count_of, part_of

Outcome = Literal["met", "not met", "does not apply"]
_Judgement: TypeAlias = tuple[Outcome, str]
_UNITS: Final = {"block": "blocks", "session": "sessions", "study": "studies", "value": "values"}


class Rule(Frozen):
    """One rule, held against one study."""

    number: int
    rule: str
    """What it asks for."""
    outcome: Outcome
    sentence: str
    """How this study meets it, or why it does not."""


def _base_case(findings: Findings) -> _Judgement:
    ranked = [workload.index.standings for workload in findings.workloads]
    if not any(ranked):
        return "does not apply", "Nothing has been measured yet, so no ratio is claimed."
    if all(findings.baseline in {s.system for s in own} for own in ranked if own):
        return "met", (
            f"Every ratio is relative to {findings.baseline}, whose value is in each "
            "ranking table with its unit."
        )
    return "not met", (
        f"{findings.baseline}, to which ratios are relative, has no value of its own in every "
        "workload."
    )


def _subsets(findings: Findings) -> _Judgement:
    if not findings.planned:
        return "not met", (
            "What else was measured at the source, and why it was left out, is not known."
        )
    failed = findings.trials_failed
    disturbed = len(findings.disturbed.blocks) if findings.disturbed else 0
    return "met", (
        f"All cells of the plan are shown; {count_of(failed, 'failed trial')} and "
        f"{count_of(disturbed, 'disturbed block')} "
        f"are listed with their reasons; of the other trials {left_out(findings)}."
    )


def _means(findings: Findings) -> _Judgement:
    if findings.planned:
        return "met", (
            "Verdicts rest on medians and on ratios within blocks. Arithmetic means are shown "
            "for comparison only, and no verdict rests on one."
        )
    rates = [c for c in _cells(findings) if c.unit.endswith("/s") and _summarised(c)]
    if rates:
        return "not met", (
            f"{count_of(len(rates), 'cell holds', 'cells hold')} means of rates as the source "
            "states them; whether they are "
            "arithmetic or harmonic is not known."
        )
    return "met", "Means that the source states are of costs, or their values are here."


def _ratios(findings: Findings) -> _Judgement:
    most = max((workload.index.cells for workload in findings.workloads), default=0)
    if most <= 1:
        return "met", "Nothing is summarised over several cells."
    return "not met", (
        f"Workloads are ranked by a geometric mean over up to {count_of(most, 'cell')}, all of "
        "one weight, "
        "because no total of them has a meaning; every cell is listed with its absolute "
        "value and its own verdict."
    )


def _intervals(findings: Findings) -> _Judgement:
    pairs = list(_headline(findings))
    bare = sum(pair.low is None for pair in pairs)
    if not pairs:
        return "does not apply", "Nothing has been compared yet."
    if bare == len(pairs):
        return "not met", "No comparison has an interval: too little was repeated, or kept."
    if bare:
        return "not met", (
            f"{part_of(bare, len(pairs), 'headline comparison', 'has', 'have')} no interval."
        )
    blocks = min(pair.blocks for pair in pairs)
    return "met", (
        f"Every headline ratio has an interval, over at least {blocks} "
        f"{_UNITS[findings.unit]}; every cell shows how many "
        "it rests on."
    )


def _normality(findings: Findings) -> _Judgement:
    judged = [pair for pair in _pairs(findings) if pair.low is not None]
    if not judged:
        return "does not apply", "There is no interval that could assume anything."
    if not findings.planned and findings.unit == "session":
        return "met", "Intervals are of exact ranks of sessions' means."
    if findings.unit == "study":
        return "not met", (
            "The interval over studies takes what a study adds as normal (Hartung and Knapp); no "
            "level is claimed that so few studies of two kinds would not allow."
        )
    if any(pair.unpaired for pair in judged):
        count = sum(pair.unpaired for pair in judged)
        return "not met", (
            f"{count} of {len(judged)} intervals take the means of logarithms as normal (Welch), "
            "because the values were not kept in pairs."
        )
    if findings.design.looks and findings.design.looks[0].t is not None:
        return "not met", (
            "The first look is a t-test and takes the noise as normal; later looks use ranks."
        )
    return "met", "Intervals are of signed ranks, which do not assume normal noise."


def _sound(findings: Findings) -> _Judgement:
    judged = sum(pair.low is not None for pair in _pairs(findings))
    if not judged:
        return "not met", "Without intervals no difference can be distinguished from chance."
    intervals = (
        f"{count_of(judged, 'comparison has an interval', 'comparisons have intervals')} "
        f"and {agreeing(judged, 'is', 'are')} corrected together"
    )
    if not findings.planned and findings.unit != "value":
        turns = "took turns within each study" if findings.unit == "study" else "did not take turns"
        return "not met", (
            f"{intervals}; the systems {turns}, and how often one looks was not fixed beforehand."
        )
    if not findings.planned:
        return "not met", (
            f"{intervals}, but the order of measurement was not drawn at random."
            if not (findings.kept and findings.kept.interleaved)
            else f"{intervals}; systems took turns, but nothing was frozen beforehand."
        )
    return "met", (
        f"The order was drawn at random, the looks were fixed beforehand, and "
        f"{count_of(findings.family, 'comparison was', 'comparisons were')} corrected together."
    )


def _percentiles(findings: Findings) -> _Judgement:
    timed = sum(bool(s.percentiles) for cell in _cells(findings) for s in cell.summaries)
    if timed:
        return "met", (
            "Where single operations were timed their p50 to p99.9 are listed; typical values are "
            "medians over blocks."
            if findings.planned
            else "Percentiles of single operations are listed where the source has them."
        )
    return "not met", "Single operations were not timed: their slowest ones are not known."


def _setup(findings: Findings) -> _Judgement:
    if not findings.planned:
        return "not met", (
            "Only what the source states of machine and systems is known."
            if findings.host
            else "The source states nothing about the machine that is kept here."
        )
    if not findings.record:
        return "not met", "There is no system record of the host."
    facts = sum(len(section) for section in findings.record.values())
    return "met", (
        f"The system record has {facts} facts on the host; every system is listed with its levels, "
        "its commands and the facts the kernel reports."
    )


def _timing(findings: Findings) -> _Judgement:
    unrecorded = [workload.name for workload in findings.workloads if not workload.timing]
    if unrecorded:
        return "not met", f"The timed interval is not stated for {', '.join(unrecorded)}."
    return "met", "For each workload the two timed instants, and what is between, are stated."


def _bounds(findings: Findings) -> _Judgement:
    floor = "; the cost of the instrument itself is reported" if findings.planned else ""
    return "not met", (
        f"No bound of device, memory or line was measured beside the results{floor}."
    )


def _plots(findings: Findings) -> _Judgement:
    bare = [cell for cell in _cells(findings) if _summarised(cell)]
    if bare:
        return "not met", (
            f"Of {count_of(len(bare), 'cell')} only summaries were kept, so their values cannot "
            "be drawn."
        )
    return "met", (
        "Every block is a point beside its interval; lines join values only along an ordered "
        "dimension, and scales begin at zero or are logarithmic, as their captions say."
    )


def _cells(findings: Findings) -> Iterator[Cell]:
    """Everything that is compared, cell by cell."""
    for workload in findings.workloads:
        yield from workload.cells
        if workload.latencies:
            yield from workload.latencies.cells


def _pairs(findings: Findings) -> Iterator[Comparison]:
    for workload in findings.workloads:
        for table in workload.compared:
            yield from table.comparisons


def _headline(findings: Findings) -> Iterator[Comparison]:
    for workload in findings.workloads:
        yield from workload.index.comparisons


def _summarised(cell: Cell) -> bool:
    """Whether the values behind a cell were not kept."""
    return any(_is_bare(summary) for summary in cell.summaries)


def _is_bare(summary: Summary) -> bool:
    return not summary.values


RULES: Final = tuple(
    Statement(judge.__name__.strip("_"), "rule", says, "every study", judge)
    for says, judge in (
        ("a speed-up names its base case, with its absolute value", _base_case),
        ("a part of what was measured is shown only with a reason", _subsets),
        ("arithmetic means are of costs, harmonic ones of rates", _means),
        ("ratios are not summarised", _ratios),
        ("what varies is reported with its interval", _intervals),
        ("normal distributions are not assumed", _normality),
        ("differences are judged by a sound comparison", _sound),
        ("typical values are joined by percentiles where tails matter", _percentiles),
        ("all factors and the whole setup are documented", _setup),
        ("how time was taken is stated", _timing),
        ("bounds of performance are shown", _bounds),
        ("pictures show what is needed to interpret the results", _plots),
    )
)
"""In the order of their authors."""
