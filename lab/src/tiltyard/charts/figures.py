"""Figures of a comparison as words, the same in pictures, pages and the terminal."""

import re
from collections.abc import Iterable
from typing import Protocol

from tiltyard.analysis.model import Comparison
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.statements.numbers import percent_digits
from tiltyard.analysis.verdict import Verdict
from tiltyard.study.model import Clock
from tiltyard.units import format_ratio

MARKS: dict[Verdict, str] = {
    "faster": "▲",
    "slower": "▼",
    "equivalent": "=",
    "undecided": "?",
    "invalid": "✗",
}
"""The sign of a verdict where there is no room for the word."""


_OF_INSTRUCTIONS: dict[Verdict, str] = {"faster": "fewer", "slower": "more"}


class Estimated(Protocol):
    """A ratio with its interval: a comparison, or an effect."""

    @property
    def ratio(self) -> float | None:
        """The estimate."""

    @property
    def low(self) -> float | None:
        """Lower end of the interval; ``None`` before the first look."""

    @property
    def high(self) -> float | None:
        """Upper end."""


def verdict_word(verdict: Verdict, clock: Clock) -> str:
    """A verdict as it is read: instructions are ``fewer`` or ``more``, whatever else is faster."""
    return _OF_INSTRUCTIONS.get(verdict, verdict) if clock == "instructions" else verdict


def ratio_text(found: Estimated) -> str:
    """The estimate with the digits that its interval supports: ``1.31``; a dash if none."""
    if found.ratio is None:
        return "–"
    return format_ratio(found.ratio, _half_width(found))


def interval_text(found: Estimated) -> str:
    """The interval: ``1.24 … 1.39``; a dash before the first look."""
    if found.low is None or found.high is None:
        return "–"
    half_width = _half_width(found)
    low, high = (format_ratio(bound, half_width) for bound in (found.low, found.high))
    return f"{low} … {high}"


def advantage_text(comparison: Comparison, direction: Direction) -> str:
    """By how many percent it is better: ``+20.1 %``, also ``+24.1 %`` for a latency of 0.759."""
    if comparison.ratio is None:
        return "–"
    digits = percent_digits(_half_width(comparison) or 0.0)
    return percent_better(comparison.ratio, direction, digits)


def percent_better(ratio: float, direction: Direction, digits: int = 1) -> str:
    """How much better a ratio is than 1: more is better, or less of a time."""
    percent = round(100 * (ratio - 1 if direction == "higher" else 1 - ratio), digits)
    sign = "+" if percent > 0 else "−" if percent < 0 else ""
    return f"{sign}{abs(percent):,.{digits}f} %"


def between(comparisons: Iterable[Comparison], system: str, against: str) -> Comparison | None:
    """The comparison of two systems, told from the first one's side; ``None`` if there is none."""
    for pair in comparisons:
        if (pair.system, pair.against) == (system, against):
            return pair
        if (pair.system, pair.against) == (against, system):
            return turned(pair)
    return None


def with_unit(label: str, unit: str) -> str:
    """A head for figures: ``write, GB/s``, but ``transactions/s`` and ``files/s, loop 2``."""
    if not unit.startswith("/"):
        return ", ".join(filter(None, (label, unit)))
    metric, *place = re.split(r"(, | over )", label, maxsplit=1)
    return "".join((metric, unit, *place))


def alone(unit: str) -> str:
    """A unit under a head that it does not continue, as that of a system: ``1/s`` for ``/s``."""
    return f"1{unit}" if unit.startswith("/") else unit


def against(comparisons: tuple[Comparison, ...], baseline: str) -> list[Comparison]:
    """Every system against the baseline, turned round where the pair was stored the other way."""
    return [
        pair if pair.against == baseline else turned(pair)
        for pair in comparisons
        if baseline in (pair.system, pair.against)
    ]


def _half_width(found: Estimated) -> float | None:
    if found.low is None or found.high is None:
        return None
    return (found.high - found.low) / 2
