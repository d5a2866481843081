"""The answer that collected results allow: one sentence a workload."""

import math
from collections.abc import Sequence
from typing import Final

from tiltyard.analysis.dataset import Point
from tiltyard.analysis.model import Comparison, Index
from tiltyard.analysis.statements.numbers import compatible, confidence
from tiltyard.units import count_of, listed

NAMED: Final = 3
"""As many pairs are told with their intervals; of more the nearest, and how many."""


def answer(index: Index, compared: Sequence[Point], details: Sequence[Point]) -> str:
    """The best system by estimate, and which of the others it is found to differ from.

    Args:
        index: of the workload.
        compared: its points that are compared; they say why there is no verdict.
        details: its other points.
    """
    ranked = [standing.system for standing in index.standings]
    if len(ranked) < 2:
        return f"No verdict on {index.label}: {_why_none(compared, details)}."
    best = ranked[0]
    own = [pair for pair in index.comparisons if best in (pair.system, pair.against)]
    if all(pair.low is None for pair in own):
        return (
            f"No verdict on {index.label}: without repetitions of both sides no difference can be "
            f"distinguished from chance. By value alone {best} is first of "
            f"{count_of(len(ranked), 'system')}."
        )
    found = {
        verdict: sorted(
            (pair for pair in own if pair.verdict in alike), key=lambda pair: abs(_log(pair))
        )
        for verdict, alike in _ALIKE.items()
    }
    return " ".join(
        filter(
            None,
            (
                _open(index, best, found["undecided"]),
                *(pair.sentence for pair in found["equivalent"][:NAMED]),
                _decided(best, found["different"]),
            ),
        )
    )


def _why_none(compared: Sequence[Point], details: Sequence[Point]) -> str:
    """Why fewer than two systems can be compared."""
    if not compared:
        read = dict.fromkeys(point.metric.label for point in details)
        if read:
            return f"nothing that is compared was read, only {listed([*read])}"
        return "fewer than two systems have values"
    shared = [point for point in compared if len(point.readings) > 1]
    systems = dict.fromkeys(system for point in compared for system in point.readings)
    if len(systems) < 2:
        return f"only {listed([*systems])} has values"
    if not shared:
        return "no two systems have values of the same thing"
    zero = dict.fromkeys(
        system
        for point in shared
        for system, reading in point.readings.items()
        if min(reading.values, default=reading.mean or 0) <= 0
    )
    if zero:
        return f"values of {listed([*zero])} are 0, which have no ratio"
    return "no two systems have values of all that is compared"


_ALIKE: Final = {
    "undecided": ("undecided", "invalid"),
    "equivalent": ("equivalent",),
    "different": ("faster", "slower"),
}


def _log(pair: Comparison) -> float:
    return math.log(pair.ratio) if pair.ratio else 0.0


def _open(index: Index, best: str, pairs: Sequence[Comparison]) -> str:
    """Of each the interval, from the side that tables show."""
    if not pairs:
        return ""
    head = f"No difference shown in {index.label} between {best} and"
    if len(pairs) > NAMED:
        return f"{head} {count_of(len(pairs), 'other')}."
    return f"{head} {listed([_named(pair, best) for pair in pairs])}."


def _named(pair: Comparison, best: str) -> str:
    other = pair.against if pair.system == best else pair.system
    if pair.low is None or pair.high is None:
        return f"{other} (no interval)"
    basis = (
        f"{confidence(pair.level)} {compatible(pair.low, pair.high)}, "
        f"{count_of(pair.blocks, 'value')}"
    )
    return f"{other} ({pair.system}: {basis})"


def _decided(best: str, pairs: Sequence[Comparison]) -> str:
    if len(pairs) <= NAMED:
        return " ".join(pair.sentence for pair in pairs)
    return (
        f"{pairs[0].sentence} {count_of(len(pairs), 'system')} differ from {best}; this one is "
        "the nearest."
    )
