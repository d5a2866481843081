"""Numbers and lists in sentences: as many digits as the interval supports."""

import math
import re
from dataclasses import dataclass
from typing import Final

from tiltyard.analysis.verdict import Verdict
from tiltyard.stats.sequential import LEVEL
from tiltyard.units import count_of

DOUBLE: Final = 2.0
"""From this ratio on a difference is given as a factor, below it in percent."""

NO_WIDTH: Final = 1e-7
"""In percent, or of a factor: an interval of no more width is of values that are all the same."""

_FINER: Final = 3
"""As many decimals more show that a number of an interval that excludes 1 is not 1 itself."""


@dataclass(frozen=True)
class Scale:
    """How the numbers of one interval are printed: all as factors, or all in percent."""

    factor: bool
    digits: int
    """Decimals: two significant digits of the interval's width."""
    excludes: bool = False
    """Whether the interval excludes 1: none of its numbers is printed as 1 or as 0 %."""

    def number(self, ratio: float) -> str:
        """``2.3`` for a factor; else the percentage that the ratio is away from 1, unsigned."""
        value, same = (ratio, 1) if self.factor else (100 * abs(ratio - 1), 0)
        finer = range(self.digits, self.digits + (_FINER if self.excludes else 0))
        digits = next((d for d in finer if round(value, d) != same), finer.stop)
        return f"{value:.{digits}f}"

    def signed(self, ratio: float) -> str:
        """``2.3×``, ``+5.2`` or ``−3.0``."""
        if self.factor:
            return f"{self.number(ratio)}×"
        shown = self.number(ratio)
        return shown if float(shown) == 0 else ("+" if ratio > 1 else "−") + shown

    def amount(self, ratio: float) -> str:
        """``2.3×`` or ``24 %``."""
        return self.number(ratio) + ("×" if self.factor else " %")


def scale_of_difference(low: float, high: float) -> Scale:
    """For an interval that excludes 1: a factor where the typical ratio is 2 or more."""
    return _scale(math.sqrt(low * high) >= DOUBLE, low, high)


def scale_of_doubt(low: float, high: float) -> Scale:
    """For an interval that decides nothing: a factor where either end is 2 or more away."""
    return _scale(high >= DOUBLE or low <= 1 / DOUBLE, low, high)


def _scale(factor: bool, low: float, high: float) -> Scale:
    width = (high - low) * (1 if factor else 100)
    if width <= NO_WIDTH:
        # The same in every block, as counts are: so many digits that a difference shows.
        width = 1.0 if factor else min(1.0, 100 * max(abs(low - 1), abs(high - 1)))
    digits = 1 - math.floor(math.log10(width)) if width > NO_WIDTH else 1
    digits = min(3 if factor else 9, max(1 if factor else 0, digits))
    return Scale(factor, digits, excludes=low > 1 or high < 1)


def open_ends(low: float, high: float, verdict: Verdict) -> tuple[str, str]:
    """What stands before the ends of an interval: ``> `` or ``< `` before a 1 that is not in it.

    Where Holm's procedure shows more than intervals that hold together, they end at 1, open.
    """
    decided = verdict in ("faster", "slower")
    return "> " if decided and low == 1 else "", "< " if decided and high == 1 else ""


def marks(
    low: float | None, high: float | None, p: float | None, level: float, verdict: Verdict
) -> dict[str, bool]:
    """What must be known of the ends of an interval, as fields of a comparison."""
    if low is None or high is None:
        return {}
    below, above = open_ends(low, high, verdict)
    extended = verdict == "undecided" and is_extended(low, high, 1.0 if p is None else p, level)
    return {"open_low": bool(below), "open_high": bool(above), "extended": extended}


def compatible(low: float, high: float, verdict: Verdict = "undecided") -> str:
    """All that an interval leaves possible: ``−3.0 to +5.2 %``, or ``0.4× to 2.9×``.

    ``−9 to < 0 %`` of one that ends at 1 and does not hold it.
    """
    scale = scale_of_doubt(low, high)
    below, above = open_ends(low, high, verdict)
    suffix = "" if scale.factor else " %"
    return f"{below}{scale.signed(low)} to {above}{scale.signed(high)}{suffix}"


def is_extended(low: float, high: float, p: float, level: float) -> bool:
    """Whether an interval of an undecided comparison reaches to 1 only because of its family.

    By itself, at its level, it excludes 1; see :mod:`tiltyard.stats.family`.
    """
    return 1.0 in (low, high) and p <= (1 - level) * (1 + 1e-9)


WIDENED: Final = "†"
"""Behind an end of an interval that was widened to no difference, in tables and pictures."""


def widened_note(count: int) -> str:
    """What the mark means; ``count`` intervals have it, 0: those of a picture, not counted."""
    subject = count_of(count, "interval was", "intervals were") if count else "Some intervals were"
    return (
        f"{subject} widened to end at no difference (ratio 1, 0 %), marked {WIDENED}: not "
        "significant after correction for multiple comparisons."
    )


def nearest_first(low: float, high: float) -> tuple[float, float]:
    """The ends of an interval that excludes 1, the one nearest to 1 first."""
    return (low, high) if low >= 1 else (high, low)


def ends(low: float, high: float) -> str:
    """``4 to 27 %``, ``2.1 to 2.6×``: as the difference itself, the end nearest to 1 first.

    ``> 0 to 27 %`` of an interval that ends at 1 and does not hold it.
    """
    scale = scale_of_difference(low, high)
    nearest, farthest = nearest_first(low, high)
    is_open = "> " if nearest == 1 != farthest else ""
    return f"{is_open}{scale.number(nearest)} to {scale.amount(farthest)}"


def percent_digits(half_width: float) -> int:
    """Decimals of a percentage whose ratio is known within a half-width: two that count."""
    digits = 1 - math.floor(math.log10(100 * half_width)) if half_width > 0 else 1
    return min(2, max(0, digits))


def printed_digits(value: float, against: float, half: float, most: int) -> int:
    """Decimals of a percentage between two rounded values: the last is the first left open.

    Args:
        value: not 0, in the unit of all three.
        against: not 0.
        half: half a unit of the last printed digit of both.
        most: decimals that are never exceeded, nor fallen short of where only zeros would be shown.
    """
    open_percent = 100 * abs(value / against) * (half / abs(value) + half / abs(against))
    apart = 100 * abs(value / against - 1)
    supported = min(most, max(0, -math.floor(math.log10(open_percent))))
    return next((d for d in range(supported, most) if round(apart, d) != 0), most)


def coverage(level: float) -> str:
    """``95 %``, ``98.3 %`` or ``99.979 %``: two significant digits of what is left out."""
    left_out = 100 * (1 - level)
    digits = 1 - math.floor(math.log10(left_out) + 1e-9)
    return f"{round(100 * level, digits):.6g} %"


def confidence(level: float, rate: float | None = None) -> str:
    """``95 % CI``; of one among many comparisons ``simultaneous 95 % CI``, whatever its own level.

    Args:
        level: coverage of this interval alone.
        rate: the false coverage rate over those that were selected, if it is that which is kept:
            ``selection-adjusted 95 % CI``.
    """
    if level <= 1 - LEVEL:
        return f"{coverage(level)} CI"
    if rate is None:
        return f"simultaneous {coverage(1 - LEVEL)} CI"
    return f"selection-adjusted {coverage(1 - rate)} CI"


_CONFIDENCE: Final = re.compile(r"(?:(?:simultaneous|selection-adjusted) )?[\d.]+ % CI ")


def confidence_said_once(text: str) -> str:
    """Of intervals that all have one :func:`confidence`, only the first one says so."""
    found = list(_CONFIDENCE.finditer(text))
    if len({one[0] for one in found}) != 1:
        return text
    behind = found[0].end()
    return text[:behind] + text[behind:].replace(found[0][0], "")


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
    """``99 % CI +1.2 to +3.4 %`` of a ratio (logs)."""
    return f"{coverage(level)} CI {compatible(math.exp(low), math.exp(high))}"


def ratio(estimate: float, low: float, high: float) -> str:
    """``+2.3 %`` or ``2.3×``, with the digits that the interval supports (logs)."""
    scale = scale_of_doubt(math.exp(low), math.exp(high))
    return scale.signed(math.exp(estimate)) + ("" if scale.factor else " %")


def nearest(low: float, high: float) -> float:
    """The distance from zero of the interval's nearest end; 0 where it contains zero."""
    return max(low, -high, 0.0)


def p_text(p: float) -> str:
    """``p = 0.003``; below a millionth only that."""
    return "p < 1e-06" if p < 1e-6 else f"p = {p:.2g}"


def p_number(p: float | None) -> str:
    """Two digits, never zero: ``0.011``, ``< 0.001``; a dash where there is none."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def percent_text(share: float | None) -> str:
    """``0.034`` → ``3.4 %``, ``1.74`` → ``174 %``; a dash where there is none."""
    if share is None:
        return "–"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
