"""From numbers to outcomes: the rules that every kind goes by.

To the digits as they stand a claim *follows*; within what rounding leaves open, and where it was
rounded twice, it is a matter of *rounding*; beyond that it is *contradicted*.
"""

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from tiltyard.collected.audited import Outcome
from tiltyard.collected.stated import Span, Stated

_FLOAT: Final = 1e-9
"""Relative: what calculating with floats may lose, far below any printed digit."""
_DIGITS_END: Final = 1e15
"""Beyond it a float has no digits after the point."""
_WORST: Final[dict[Outcome, int]] = {"follows": 0, "rounding": 1, "open": 2, "contradicted": 3}


def equal(stated: Stated, found: Span) -> Outcome:
    """Whether a stated number is the one that was found, to its last digit.

    One that only comes about by rounding twice is a matter of rounding.
    """
    outcome = within(found, stated.span.low, stated.span.high)
    return "rounding" if outcome == "contradicted" and rounded_twice(stated, found) else outcome


def rounded_twice(stated: Stated, found: Span) -> str:
    """How a last digit comes about that is wrong by one: ``65.15`` of 65.146, stated as 65.2.

    Returns:
        The number between, with one digit more than is stated; empty where that is not how.
    """
    if stated.span.low <= found.value <= stated.span.high or abs(found.value) > _DIGITS_END:
        return ""
    digit = Decimal(1).scaleb(-stated.decimals)
    once = Decimal(repr(found.value)).quantize(digit / 10, ROUND_HALF_UP)
    return str(once) if float(once.quantize(digit, ROUND_HALF_UP)) == stated.value else ""


def within(found: Span, low: float, high: float) -> Outcome:
    """Whether what was found lies between two bounds, themselves included.

    Only to touch them is not enough for rounding: 0.90 and 0.91 are never the same number.
    """
    if _least(low) <= found.value <= _most(high):
        return "follows"
    overlaps = found.high > _most(low) and found.low < _least(high)
    return "rounding" if overlaps else "contradicted"


def above(found: Span, bound: float) -> Outcome:
    """Whether what was found is more than a bound."""
    if found.value > bound:
        return "follows"
    return "rounding" if found.high > bound else "contradicted"


def below(found: Span, bound: float) -> Outcome:
    """Whether what was found is less than a bound."""
    return above(found.times(-1), -bound)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Of statements that are made together; they follow if there are none."""
    return max(outcomes, key=_WORST.__getitem__, default="follows")


def best(outcomes: Iterable[Outcome]) -> Outcome:
    """Of readings of one sentence, one of which is enough."""
    return min(outcomes, key=_WORST.__getitem__)


def _least(bound: float) -> float:
    return bound - _loss(bound)


def _most(bound: float) -> float:
    return bound + _loss(bound)


def _loss(bound: float) -> float:
    return _FLOAT * math.fabs(bound) if math.isfinite(bound) else 0.0
