"""Pairs of systems, what they rest on, and their verdicts, corrected as one family."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from tiltyard.analysis.dataset import CollectedQuantity, Sample, together
from tiltyard.analysis.estimators import Blocks, Evidence, evidence_of, ratio_of
from tiltyard.analysis.judging import rules_of, verdict_words
from tiltyard.analysis.model import Comparison
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.statements.numbers import (
    compatible,
    confidence,
    ends,
    is_extended,
    marks,
    scale_of_difference,
    scale_of_doubt,
)
from tiltyard.analysis.verdict import Verdict
from tiltyard.plan.model import Design
from tiltyard.stats.estimators import AtOnce
from tiltyard.stats.family import FamilyVerdicts, judge_family
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.units import count_of

RATE: Final = 0.05
_LESS: Final = {True: "more", False: "less"}
_NOT_AMONG_MANY: Final = (
    "; extended to equality: not significant after correction for multiple comparisons"
)


@dataclass(frozen=True)
class Pair:
    """Two systems in one quantity."""

    system: str
    against: str
    quantity: CollectedQuantity
    evidence: Evidence


def over_tests(tests: Sequence[CollectedQuantity]) -> CollectedQuantity:
    """The mean over several tests, each counted once, times turned into speeds.

    Nothing tells how tests vary together, so their errors count as fully dependent.
    """
    found: dict[str, list[Sample]] = {}
    for own in tests:
        sign = 1.0 if own.direction == "higher" else -1.0
        for name, sample in own.samples.items():
            found.setdefault(name, []).append(replace(sample, mean=sign * sample.mean))
    whole = {name: together(own) for name, own in found.items() if len(own) == len(tests)}
    topic = f"the geometric mean of {count_of(len(tests), 'test')}"
    return CollectedQuantity(topic, "", "higher", whole)


def pairs_in(quantity: CollectedQuantity, baseline: str) -> list[Pair]:
    """Every pair of systems once.

    As (later, earlier) of the study's order, but that all are compared against the baseline.
    """
    found = quantity.samples
    baseline_first = sorted(found, key=lambda name: name != baseline)
    names = [(later, earlier) for earlier, later in combinations(baseline_first, 2)]
    evidence = evidence_of([(found[later], found[earlier]) for later, earlier in names])
    return [Pair(*pair, quantity, own) for pair, own in zip(names, evidence, strict=True)]


def compare(pairs: Sequence[Pair], design: Design, together: bool) -> list[Comparison]:
    """A comparison for each pair, in the same order.

    Args:
        pairs: one family; its size is the number of pairs that have a test.
        design: its rules.
        together: corrected by Holm's procedure, with intervals that hold together; else by
            Benjamini and Hochberg's, with intervals of differences that are corrected for having
            been selected. As :mod:`tiltyard.stats.family` does it at each look.
    """
    adjust = holm if together else benjamini_hochberg
    rules = rules_of(design, adjust, RATE, together=together)
    found = judge_family(AtOnce([pair.evidence for pair in pairs]), rules, to_come=0)
    selection = None if together else RATE
    words = verdict_words(found, [pair.quantity.direction for pair in pairs])
    return [
        _comparison(pair, found, row, words[row], design.equivalent_within, selection)
        for row, pair in enumerate(pairs)
    ]


def _comparison(
    pair: Pair,
    judged: FamilyVerdicts,
    row: int,
    verdict: Verdict,
    within: float,
    rate: float | None,
) -> Comparison:
    """One row of the judged family: nan where there is no test, infinite where no interval."""
    found = pair.evidence
    level = 1 - RATE if found.p is None else float(judged.level[row])
    ends = float(judged.low[row]), float(judged.high[row])
    low, high = map(ratio_of, ends) if any(map(math.isfinite, ends)) else (None, None)
    estimate = ratio_of(found.estimate)
    over = found.over(level)
    return Comparison(
        system=pair.system,
        against=pair.against,
        blocks=sum(over.blocks) if over else found.n,
        ratio=estimate,
        low=low,
        high=high,
        level=level,
        p=found.p,
        p_adjusted=None if found.p is None else float(judged.p_adjusted[row]),
        verdict=verdict,
        at_least=_nearest(low, high) if verdict in ("faster", "slower") else None,
        geometric_mean_ratio=estimate,
        ahead=_ahead(found, pair.quantity.direction),
        sentence=_sentence(pair, verdict, low, high, level, within, rate),
        differences=tuple(map(ratio_of, found.differences)),
        unpaired=not found.paired,
        over=over,
        **marks(low, high, found.p, level, verdict),
    )


def _nearest(low: float | None, high: float | None) -> float | None:
    if low is None or high is None:
        return None
    return low if low >= 1 else high


def _ahead(found: Evidence, direction: Direction) -> float | None:
    if not isinstance(found, Blocks):
        return None
    sign = 1 if direction == "higher" else -1
    return sum(sign * one > 0 for one in found.differences) / len(found.differences)


def _sentence(
    pair: Pair,
    verdict: Verdict,
    low: float | None,
    high: float | None,
    level: float,
    within: float,
    rate: float | None,
) -> str:
    """The verdict in words, with what it rests on; ``rate``: of the selection, if not together."""
    head = f"{pair.system} against {pair.against} in {pair.quantity.topic}: "
    ratio = ratio_of(pair.evidence.estimate)
    if low is None and pair.evidence.over(level):
        return f"{head}no verdict, because {pair.evidence.lacks(level)}."
    if low is None or high is None:
        return f"{head}{ratio:.3f}×; undecided, because {pair.evidence.lacks(level)}."
    basis = f"{confidence(level, rate)} {compatible(low, high)}, {pair.evidence.basis}"
    if verdict == "equivalent":
        estimate = scale_of_doubt(low, high).signed(ratio)
        detected = f"; a difference of {estimate} % was detected" if low > 1 or high < 1 else ""
        return f"{head}equivalent within ±{100 * within:g} % ({basis}){detected}."
    if verdict == "undecided":
        extended = is_extended(low, high, pair.evidence.p or 0.0, level)
        return f"{head}undecided ({basis}{_NOT_AMONG_MANY if extended else ''})."
    scale = scale_of_difference(low, high)
    amount = scale.amount(ratio)
    basis = f"{confidence(level, rate)} {ends(low, high)}, {pair.evidence.basis}"
    if pair.quantity.unit == "s":
        of = f"{amount} the time of" if scale.factor else f"{amount} {_LESS[ratio > 1]} time than"
        where = "" if pair.quantity.topic == "time" else f" in {pair.quantity.topic}"
        return f"{pair.system} takes {of} {pair.against}{where} ({basis})."
    way = "higher" if ratio > 1 else "lower"
    word = f"{way} ({verdict})" if pair.quantity.direction == "lower" else verdict
    size = f"{amount} the value of" if scale.factor else f"{amount} {word} than"
    return f"{pair.system} is {size} {pair.against} in {pair.quantity.topic} ({basis})."
