"""From evidence about many pairs to comparisons with verdicts, corrected as one family."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.analysis.amounts import compatible, scale_of_difference
from tiltyard.analysis.collected.evidence import Evidence
from tiltyard.analysis.model import Comparison, Verdict
from tiltyard.analysis.quantity import Direction
from tiltyard.stats.types import FloatArray

RATE: Final = 0.05


@dataclass(frozen=True)
class Pair:
    """Two systems in one quantity."""

    system: str
    against: str
    topic: str
    """``random write, 64 KiB record``."""
    direction: Direction
    evidence: Evidence


def compare(
    pairs: Sequence[Pair],
    equivalent_within: float,
    correct: Callable[[FloatArray], FloatArray],
) -> list[Comparison]:
    """A comparison for each pair, in the same order.

    Args:
        pairs: one family.
        equivalent_within: half-width of the region of equivalence, as a fraction.
        correct: p-values of a family → adjusted ones.
    """
    tested = [place for place, pair in enumerate(pairs) if pair.evidence.p is not None]
    p_values = np.array([pairs[place].evidence.p for place in tested], dtype=np.float64)
    adjusted = dict(zip(tested, correct(p_values).tolist() if tested else (), strict=True))
    rope = math.log1p(equivalent_within)
    return [
        _comparison(pair, adjusted.get(place), rope, equivalent_within)
        for place, pair in enumerate(pairs)
    ]


def _comparison(pair: Pair, adjusted: float | None, rope: float, within: float) -> Comparison:
    found = pair.evidence
    verdict = _verdict(pair, adjusted, rope)
    low, high = (None if bound is None else math.exp(bound) for bound in (found.low, found.high))
    return Comparison(
        system=pair.system,
        against=pair.against,
        blocks=found.n,
        ratio=math.exp(found.estimate),
        low=low,
        high=high,
        p=found.p,
        p_adjusted=adjusted,
        verdict=verdict,
        at_least=_nearest(low, high) if verdict in ("faster", "slower") else None,
        geometric_mean_ratio=math.exp(found.estimate),
        ahead=_ahead(found, pair.direction),
        sentence=_sentence(pair, verdict, low, high, within),
        differences=tuple(math.exp(one) for one in found.differences),
        unpaired=not found.paired,
    )


def _verdict(pair: Pair, adjusted: float | None, rope: float) -> Verdict:
    found = pair.evidence
    if found.low is None or found.high is None or adjusted is None:
        return "undecided"
    if -rope <= found.low and found.high <= rope:
        return "equivalent"
    if adjusted < RATE and (found.low > 0 or found.high < 0):
        better = (found.estimate > 0) == (pair.direction == "higher")
        return "faster" if better else "slower"
    return "undecided"


def _nearest(low: float | None, high: float | None) -> float | None:
    if low is None or high is None:
        return None
    return low if low >= 1 else high


def _ahead(found: Evidence, direction: Direction) -> float | None:
    if not found.differences:
        return None
    sign = 1 if direction == "higher" else -1
    return sum(sign * one > 0 for one in found.differences) / len(found.differences)


def _sentence(
    pair: Pair, verdict: Verdict, low: float | None, high: float | None, within: float
) -> str:
    """The verdict in words, with what it rests on."""
    head = f"{pair.system} against {pair.against} in {pair.topic}: "
    ratio = math.exp(pair.evidence.estimate)
    if low is None or high is None:
        return f"{head}{ratio:.3f}×; undecided, because repetitions of both were not kept."
    heaps = "paired blocks" if pair.evidence.paired else "values a side, not paired"
    basis = f"95 % interval {compatible(low, high)}, {pair.evidence.n} {heaps}"
    if verdict == "equivalent":
        return f"{head}equivalent within {100 * within:g} % ({basis})."
    if verdict == "undecided":
        excludes = low > 1 or high < 1
        why = ", which many comparisons at once do not allow to be called one" if excludes else ""
        return f"{head}undecided ({basis}{why})."
    scale = scale_of_difference(low, high)
    amount = scale.amount(ratio)
    more = "more" if ratio > 1 else "less"
    size = f"{amount} as much" if scale.factor else f"{amount} {more}"
    return f"{head}{verdict}, {size} ({basis})."
