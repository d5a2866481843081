"""What is said of one pair of systems in one quantity, the same wherever it stands.

Sentences, tables, pictures, the terminal and exported files are projections of a :class:`Line`:
its direction, its base, its digits and the texts of its ratio, interval and percentage are made
here and nowhere else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol, runtime_checkable

from tiltyard.analysis.model import Average, Cell, Comparison, Findings, Index, Pair
from tiltyard.analysis.pairs import between
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.statements.numbers import WIDENED, open_ends, percent_digits, printed_digits
from tiltyard.analysis.verdict import (
    Estimate,
    Estimated,
    OverStudies,
    Verdict,
    turned_estimate,
)
from tiltyard.collected.model import PrintedAs
from tiltyard.study.model import Clock
from tiltyard.units import format_ratio, rounding_width

MARKS: dict[Verdict, str] = {
    "faster": "▲",
    "slower": "▼",
    "equivalent": "=",
    "undecided": "?",
    "invalid": "✗",
}
"""The sign of a verdict where there is no room for the word."""


def marks_key(tables: Iterable[Cell | Index] | None = None) -> str:
    """What the signs mean; of given tables that of undecided pairs only where there are such."""
    return "▲ better, ▼ worse, = equivalent" + (", ? undecided" if has_open(tables) else "")


def has_open(tables: Iterable[Cell | Index] | None) -> bool:
    """Whether a pair is undecided; of no tables at all one may be."""
    pairs = (pair for table in tables or () for pair in table.comparisons)
    return tables is None or any(pair.verdict == "undecided" for pair in pairs)


_OF_INSTRUCTIONS: dict[Verdict, str] = {"faster": "fewer", "slower": "more"}


@runtime_checkable
class Judged(Protocol):
    """What a verdict rests on the interval of."""

    @property
    def verdict(self) -> Verdict:
        """What the interval says."""


def verdict_word(verdict: Verdict, clock: Clock) -> str:
    """A verdict as it is read: instructions are ``fewer`` or ``more``, whatever else is faster."""
    return _OF_INSTRUCTIONS.get(verdict, verdict) if clock == "instructions" else verdict


def word_of(judged: Judged, clock: Clock) -> str:
    """The verdict on a comparison as it is read; over too few studies for one there is none."""
    if isinstance(judged, Comparison) and judged.over and judged.low is None:
        return NO_VERDICT
    return verdict_word(judged.verdict, clock)


def marked_word(judged: Judged, findings: Findings) -> str:
    """The same as a table has it; one that rests on disturbed blocks is marked."""
    return word_of(judged, findings.clock) + load_mark(judged.verdict, findings)


def load_mark(verdict: Verdict, findings: Findings) -> str:
    """Behind the word of a verdict that rests on disturbed blocks."""
    decided = verdict not in ("undecided", "invalid")
    return ", under load" if findings.under_load and decided else ""


NO_VERDICT: Final = "no verdict"
"""Of fewer studies or sessions than a verdict takes."""
IF_NORMAL: Final = "pooled: 95 % CI if studies like these spread normally; no verdict rests on it"


def without_verdict(pair: Comparison) -> Estimated:
    """Of a comparison over studies the estimate with the interval on which no verdict rests."""
    return Estimate(pair.over.ratio, pair.over.low, pair.over.high) if pair.over else pair


def pooled(pair: Comparison) -> Estimated:
    """The interval of the verdict; of too few studies for one that of :data:`IF_NORMAL`."""
    return without_verdict(pair) if pair.low is None else pair


def alone_note(pairs: Iterable[Comparison]) -> str:
    """What the intervals are of comparisons over studies that have no verdict; else empty."""
    without = [pair.over for pair in pairs if pair.over and pair.low is None]
    if not any(over.low is not None for over in without):
        return ""
    if any(over.values for over in without):
        return f"{IF_NORMAL[:1].upper()}{IF_NORMAL[1:]}."
    return "Interval: of these blocks alone; no verdict rests on it."


def another_study(over: OverStudies) -> Estimated:
    """Where the ratio in another study is expected."""
    return Estimate(None, over.predicted_low, over.predicted_high)


def ratio_text(estimate: Estimated) -> str:
    """The estimate with the digits that its interval supports: ``1.31``; a dash if none."""
    if estimate.ratio is None:
        return "–"
    return format_ratio(estimate.ratio, _half_width(estimate))


def interval_text(estimate: Estimated) -> str:
    """The interval: ``1.24 … 1.39``; a dash before the first look.

    ``0.53 … < 1.00`` where Holm's procedure shows a difference and no more: 1 is not in it;
    ``0.53 … 1.00†`` where it was widened to 1.
    """
    if estimate.low is None or estimate.high is None:
        return "–"
    half_width = _half_width(estimate)
    # A check of the protocol would take ten times as long as all the rest of it.
    verdict: Verdict = getattr(estimate, "verdict", "undecided")
    widened = WIDENED if getattr(estimate, "extended", False) else ""
    ends = estimate.low, estimate.high
    return _interval(ends, lambda end: format_ratio(end, half_width), verdict, widened)


def _interval(
    ends: tuple[float, float], number: Callable[[float], str], verdict: Verdict, widened: str
) -> str:
    """Two ratios as they are printed, with the signs of those that are 1."""
    marks = open_ends(*ends, verdict)
    low, high = (
        f"{mark}{number(end)}{widened if end == 1 else ''}"
        for mark, end in zip(marks, ends, strict=True)
    )
    return f"{low} … {high}"


def _half_width(estimate: Estimated) -> float | None:
    """By which it is rounded; ``None`` without an interval."""
    low, high = estimate.low, estimate.high
    return None if low is None or high is None else rounding_width(low, high)


@dataclass(frozen=True)
class Line:
    """A pair of systems in one quantity, from the side of the first: of what, against what.

    As a percentage it says how much better the first one is: more of a rate, less of a time.
    """

    pair: Pair
    ratio: float
    low: float | None
    """The interval of the ratio; ``None`` where nothing was repeated."""
    high: float | None
    verdict: Verdict
    direction: Direction
    digits: int = 1
    """Decimals of the percentage where there is no interval to round by."""
    is_time: bool = False
    extended: bool = False
    """Whether the interval was widened to end at 1."""
    level: float = 0.95
    blocks: int = 0

    @property
    def gain(self) -> Estimated:
        """How many times as good: above 1 is better, whatever is measured."""
        return self if self.direction == "higher" else turned_estimate(self)

    @cached_property
    def decimals(self) -> int:
        """Of the percentage: what the interval supports, and what shows that it excludes zero."""
        if self.low is None or self.high is None:
            return self.digits
        decimals = percent_digits((self.high - self.low) / 2)
        excludes = self.low > 1 or self.high < 1
        nearest = min(abs(self.low - 1), abs(self.high - 1)) if excludes else 1.0
        return decimals + sum(round(100 * nearest, decimals + more) == 0 for more in range(_FINER))

    @property
    def percent(self) -> float:
        """How much better, in percent."""
        return percent(self.ratio, self.direction)

    @cached_property
    def is_ratio(self) -> bool:
        """Whether a percentage cannot say all of it, so it is a ratio: no time is 131 % lower."""
        known = (end for end in (self.ratio, self.high) if end is not None)
        return any(beyond_percent(percent(end, self.direction), self.direction, self.decimals)
                   for end in known)  # fmt: skip

    @property
    def amount(self) -> str:
        """Unsigned, as a sentence has it: ``33.4``; ``2.31`` of a ratio."""
        return self._number(self.ratio).lstrip("+−")

    @property
    def size(self) -> str:
        """The same with its unit: ``33.4 %``, ``2.31×``."""
        return f"{self.amount}{'×' if self.is_ratio else ' %'}"

    @property
    def text(self) -> str:
        """Signed, as a table has it under ``%``: ``+33.4``, ``−5.0``; ``2.31× as much``."""
        return as_much(self.amount) if self.is_ratio else self._number(self.ratio)

    @property
    def told(self) -> str:
        """The same with its unit: ``+33.4 %``."""
        return self.text if self.is_ratio else f"{self.text} %"

    @property
    def value(self) -> float | None:
        """The percentage of a column; ``None`` where no percentage can say it."""
        return None if self.is_ratio else self.percent

    @property
    def interval(self) -> str:
        """``+24.0 … +39.1``, ``2.10 … 2.50×``, ``0.0† … +2.1``; empty without repetitions."""
        return self._between(WIDENED if self.extended else "")

    @property
    def told_interval(self) -> str:
        """For sentences, with its unit: ``+24.0 … +39.1 %``; empty where nothing was repeated."""
        interval = self._between("")
        return f"{interval} %" if interval and not self.is_ratio else interval

    @property
    def ends(self) -> tuple[str, ...]:
        """Both ends of the interval as it has them, unsigned; none where nothing was repeated."""
        return tuple(self._number(end).lstrip("+−") for end in self._ends or ())

    @property
    def as_speed(self) -> str:
        """``1.40× as fast``: of a time what pictures draw of it; empty of all else."""
        return f"{ratio_text(turned_estimate(self))}× as fast" if self.is_time else ""

    @property
    def in_full(self) -> str:
        """``+28 % (+20 … +35 %, faster, 1.40× as fast)``: what is known of it, in a headline."""
        known = (self.told_interval, self.verdict, self.as_speed)
        return f"{self.told} ({', '.join(filter(None, known))})"

    @property
    def is_repeated(self) -> bool:
        """Whether it has an interval."""
        return self.low is not None

    @property
    def is_decided(self) -> bool:
        """Whether one of the two is better."""
        return self.verdict in ("faster", "slower")

    @property
    def is_nothing(self) -> bool:
        """Whether it is zero as printed."""
        return round(self.percent, self.decimals) == 0

    @property
    def _ends(self) -> tuple[float, float] | None:
        """Of the interval, in the order in which it is printed."""
        if self.low is None or self.high is None:
            return None
        ends = self.low, self.high
        return ends if self.is_ratio or self.direction == "higher" else ends[::-1]

    def _between(self, widened: str) -> str:
        if self._ends is None:
            return ""
        suffix = "×" if self.is_ratio else ""
        return _interval(self._ends, self._number, self.verdict, widened) + suffix

    def _number(self, ratio: float) -> str:
        if self.is_ratio:
            return format_ratio(ratio, _half_width(self))
        return signed(percent(ratio, self.direction), self.decimals)


def line_in(findings: Findings, of: Cell | Index, pair: Pair) -> Line | None:
    """A pair in a cell or an index, ``None`` where it was not compared.

    Of single values it has no more digits than both support.
    """
    values = (
        {own.system: own.mean for own in of.summaries}
        if isinstance(of, Cell)
        else {own.system: own.value for own in of.standings}
    )
    value, against = values.get(pair.system), values.get(pair.against)
    digits = supported_decimals(findings, of.printed, value, against)
    is_time = of.unit == "s" and of.direction == "lower"
    found = between(of.comparisons, *pair.sides)
    if found is None:
        return None
    return line_of(found, of.direction, digits, pair.within, is_time=is_time)


def line_over_all(findings: Findings, pair: Pair) -> Line | None:
    """A pair in the geometric mean over all tests."""
    found = between(findings.overall, *pair.sides)
    digits = unprinted_decimals(findings)
    return None if found is None else line_of(found, "higher", digits, pair.within)


def line_of_averages(findings: Findings, of: Cell, own: Average, other: Average) -> Line:
    """Two arithmetic means of such cells, with the digits that both support; it is not judged."""
    digits = supported_decimals(findings, of.printed, own.value, other.value)
    pair = Pair(system=own.system, against=other.system, within="")
    return Line(pair, own.ratios[other.system], None, None, "undecided", of.direction, digits)


def line_of(
    found: Comparison,
    direction: Direction,
    digits: int = 1,
    within: str = "",
    *,
    is_time: bool = False,
) -> Line | None:
    """A comparison as it stands; ``None`` before it has a ratio."""
    if found.ratio is None:
        return None
    return Line(
        Pair(system=found.system, against=found.against, within=within),
        found.ratio,
        found.low,
        found.high,
        found.verdict,
        direction,
        digits,
        is_time,
        found.extended,
        found.level,
        found.blocks,
    )


def supported_decimals(
    findings: Findings, printed: PrintedAs | None, value: float | None, against: float | None
) -> int:
    """Decimals of the percentage between two values that their source prints so."""
    most = unprinted_decimals(findings)
    if printed is None or not value or not against:
        return most
    return printed_digits(value, against, 0.5 * 10.0**-printed.decimals * printed.factor, most)


_ALL: Final = 100

_FINER: Final = 2
"""As many decimals more show that an interval excludes zero."""


def percent(ratio: float, direction: Direction) -> float:
    """How much better a ratio is than 1, in percent: more, or less of a time."""
    return 100 * (ratio - 1 if direction == "higher" else 1 - ratio)


def beyond_percent(percent: float, direction: Direction, decimals: int) -> bool:
    """Whether less of it than nothing would be left if it were lower by so much."""
    return direction == "lower" and round(percent, decimals) <= -_ALL


def as_much(ratio: str) -> str:
    """``2.31× as much``: what stands where a percentage cannot say it."""
    return f"{ratio}× as much"


def unprinted_decimals(findings: Findings) -> int:
    """Decimals of a percentage that has no interval, at most: those of its source."""
    return findings.provenance.delta_decimals if findings.provenance else 1


def unsigned(value: float, decimals: int) -> str:
    """``1,749.8``."""
    return f"{abs(round(value, decimals)):,.{decimals}f}"


def signed(value: float, decimals: int) -> str:
    """``+1,749.8``, ``−0.3``, ``0.0``."""
    rounded = round(value, decimals)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return sign + unsigned(value, decimals)
