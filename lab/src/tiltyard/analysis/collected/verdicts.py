"""From evidence about many pairs to comparisons with verdicts, corrected as one family."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tiltyard.analysis.collected.evidence import Blocks, Evidence
from tiltyard.analysis.judging import FARTHEST
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
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.types import BoolArray, FloatArray

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
    topic: str
    """``random write, 64 KiB record``."""
    direction: Direction
    unit: str
    """``s`` of a time; empty over several units."""
    evidence: Evidence


def compare(pairs: Sequence[Pair], equivalent_within: float, together: bool) -> list[Comparison]:
    """A comparison for each pair, in the same order.

    Args:
        pairs: one family; its size is the number of pairs that have a test.
        equivalent_within: half-width of the region of equivalence, as a fraction.
        together: corrected by Holm's procedure, with intervals that hold together; else by
            Benjamini and Hochberg's, with intervals of differences that are corrected for having
            been selected. As :mod:`tiltyard.stats.family` does it at each look.
    """
    tested = [pair.evidence for pair in pairs if pair.evidence.p is not None]
    judged = iter(_judged(tested, math.log1p(equivalent_within), together))
    return [
        _comparison(
            pair,
            _Outcome() if pair.evidence.p is None else next(judged),
            equivalent_within,
            None if together else RATE,
        )
        for pair in pairs
    ]


@dataclass(frozen=True)
class _Outcome:
    """What became of one pair; by default of one that has no test."""

    p_adjusted: float | None = None
    alpha: float = RATE
    """Error rate of the interval."""
    ends: tuple[float, float] | None = None
    verdict: Literal["equivalent", "different", "undecided"] = "undecided"


def _judged(tested: Sequence[Evidence], rope: float, together: bool) -> list[_Outcome]:
    """Every test of one family; arguments as of :func:`compare`."""
    if not tested:
        return []
    size = len(tested)
    p_values = np.array([found.p for found in tested], dtype=np.float64)
    adjusted = (holm if together else benjamini_hochberg)(p_values)
    common = RATE / size if together else RATE
    ends = [found.interval(common) for found in tested]
    same = [own is not None and -rope <= own[0] and own[1] <= rope for own in ends]
    claimed = ~np.array(same) & (adjusted <= RATE)
    if not together:
        claimed = _agreeing(claimed, p_values)
    selected = common if together else RATE * int(claimed.sum()) / size
    outcomes = []
    for row, found in enumerate(tested):
        p = float(adjusted[row])
        if claimed[row]:
            beyond = _beyond_zero(found.interval(selected), found.estimate)
            outcomes.append(_Outcome(p, selected, beyond, "different"))
        elif same[row]:
            outcomes.append(_Outcome(p, common, ends[row], "equivalent"))
        else:
            outcomes.append(_Outcome(p, common, _reaching_zero(ends[row])))
    return outcomes


def _agreeing(claimed: BoolArray, p_values: FloatArray) -> BoolArray:
    """The largest set of claims whose intervals, at the level of so many claims, exclude zero."""
    while True:
        kept: BoolArray = claimed & (p_values <= RATE * int(claimed.sum()) / max(1, len(p_values)))
        if np.array_equal(kept, claimed):
            return claimed
        claimed = kept


def _beyond_zero(ends: tuple[float, float] | None, estimate: float) -> tuple[float, float]:
    """The interval of a difference; cut at zero where Holm's procedure shows more than it does."""
    low, high = ends or (-FARTHEST, FARTHEST)
    return (max(low, 0.0), high) if estimate > 0 else (low, min(high, 0.0))


def _reaching_zero(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """The interval of what the family does not let claim; it only grows, so its coverage holds."""
    return None if ends is None else (min(ends[0], 0.0), max(ends[1], 0.0))


def _comparison(pair: Pair, outcome: _Outcome, within: float, rate: float | None) -> Comparison:
    found = pair.evidence
    verdict: Verdict = "faster"
    if outcome.verdict != "different":
        verdict = outcome.verdict
    elif (found.estimate > 0) != (pair.direction == "higher"):
        verdict = "slower"
    low, high = map(ratio_of, outcome.ends) if outcome.ends else (None, None)
    estimate = ratio_of(found.estimate)
    over = found.over(1 - outcome.alpha)
    return Comparison(
        system=pair.system,
        against=pair.against,
        blocks=sum(over.blocks) if over else found.n,
        ratio=estimate,
        low=low,
        high=high,
        level=1 - outcome.alpha,
        p=found.p,
        p_adjusted=outcome.p_adjusted,
        verdict=verdict,
        at_least=_nearest(low, high) if verdict in ("faster", "slower") else None,
        geometric_mean_ratio=estimate,
        ahead=_ahead(found, pair.direction),
        sentence=_sentence(pair, verdict, low, high, 1 - outcome.alpha, within, rate),
        differences=tuple(map(ratio_of, found.differences)),
        unpaired=not found.paired,
        over=over,
        **marks(low, high, found.p, 1 - outcome.alpha, verdict),
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
    head = f"{pair.system} against {pair.against} in {pair.topic}: "
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
    if pair.unit == "s":
        of = f"{amount} the time of" if scale.factor else f"{amount} {_LESS[ratio > 1]} time than"
        where = "" if pair.topic == "time" else f" in {pair.topic}"
        return f"{pair.system} takes {of} {pair.against}{where} ({basis})."
    way = "higher" if ratio > 1 else "lower"
    word = f"{way} ({verdict})" if pair.direction == "lower" else verdict
    size = f"{amount} the value of" if scale.factor else f"{amount} {word} than"
    return f"{pair.system} is {size} {pair.against} in {pair.topic} ({basis})."


def ratio_of(estimate: float) -> float:
    """The ratio of a log ratio, a number also where no float is so large."""
    return math.exp(min(max(estimate, -FARTHEST), FARTHEST))
