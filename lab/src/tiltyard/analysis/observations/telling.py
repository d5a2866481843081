"""Words that several kinds share."""

import math
from collections.abc import Sequence
from typing import Final

from tiltyard.analysis.amounts import compatible, coverage, scale_of_doubt

NAMED_WITHIN: Final = math.log(1.1)
"""A factor is named only if the whole interval is within ±10 % of it."""
RISES: Final = {2: "doubles", 3: "triples", 4: "quadruples", 10: "grows tenfold"}
FALLS: Final = {2: "halves", 3: "falls to a third", 4: "falls to a quarter", 10: "falls to a tenth"}


def named(estimate: float, low: float, high: float) -> str | None:
    """``doubles``, ``falls to a third``; ``None`` where no factor is named (logs of ratios)."""
    for factor, word in (RISES if estimate > 0 else FALLS).items():
        goal = math.copysign(math.log(factor), estimate)
        if goal - NAMED_WITHIN < low and high < goal + NAMED_WITHIN:
            return word
    return None


def moves(estimate: float, low: float, high: float) -> str:
    """What a value does: ``doubles``, ``rises to 2.3×``, ``falls by 24 %`` (logs of ratios)."""
    if word := named(estimate, low, high):
        return word
    verb = "rises" if estimate > 0 else "falls"
    scale = scale_of_doubt(math.exp(low), math.exp(high))
    joint = "to" if scale.factor else "by"
    return f"{verb} {joint} {scale.amount(math.exp(estimate))}"


def interval(low: float, high: float, level: float = 0.99) -> str:
    """``99 % interval +1.2 to +3.4 %`` of a ratio (logs)."""
    return f"{coverage(level)} interval {compatible(math.exp(low), math.exp(high))}"


def ratio(estimate: float, low: float, high: float) -> str:
    """``+2.3 %`` or ``2.3×``, with the digits that the interval supports (logs)."""
    scale = scale_of_doubt(math.exp(low), math.exp(high))
    return scale.signed(math.exp(estimate)) + ("" if scale.factor else " %")


def nearest(low: float, high: float) -> float:
    """The distance from zero of the interval's nearest end; 0 where it contains zero."""
    return max(low, -high, 0.0)


def listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))


def p_text(p: float) -> str:
    """``p = 0.003``; below a millionth only that."""
    return "p < 1e-06" if p < 1e-6 else f"p = {p:.2g}"
