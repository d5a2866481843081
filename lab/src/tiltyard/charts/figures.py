"""Figures as words, the same in pictures, pages and the terminal.

Comparisons (:func:`ratio_text` and others), the unit and digits in which the values of one metric
are printed together (:class:`Measure`), and how uncertain a value is (:class:`Spread`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, runtime_checkable

from tiltyard.analysis.model import Cell, Comparison, Findings, Index, Summary
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.statements.deltas import as_much, beyond_percent, percent, signed
from tiltyard.analysis.statements.numbers import WIDENED, open_ends, percent_digits
from tiltyard.analysis.verdict import OverStudies, Verdict
from tiltyard.study.model import Clock
from tiltyard.units import digits_of, display_unit, format_number, format_ratio, rounding_width

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


_KILO = 1024

SpreadKind = Literal["interval", "se", "sd"]
SPREADS: Final[dict[SpreadKind, str]] = {
    "interval": "line: 95 % interval of the median",
    "se": "line: ± 1 standard error",
    "sd": "line: ± 1 standard deviation",
}
"""What a whisker of each kind shows, printed once a picture."""

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


@dataclass(frozen=True)
class _Estimate:
    ratio: float | None
    low: float | None
    high: float | None


NO_VERDICT: Final = "no verdict"
"""Of fewer studies or sessions than a verdict takes."""
IF_NORMAL: Final = "pooled: 95 % CI if studies like these spread normally; no verdict rests on it"


def without_verdict(pair: Comparison) -> Estimated:
    """Of a comparison over studies the estimate with the interval on which no verdict rests."""
    return _Estimate(pair.over.ratio, pair.over.low, pair.over.high) if pair.over else pair


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
    return _Estimate(None, over.predicted_low, over.predicted_high)


def verdict_if_any(pair: Comparison) -> str:
    """The verdict; of too few studies for one, that."""
    return word_of(pair, "time")


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
    low, high = (format_ratio(bound, half_width) for bound in (estimate.low, estimate.high))
    # A check of the protocol would take ten times as long as all the rest of it.
    verdict: Verdict = getattr(estimate, "verdict", "undecided")
    below, above = open_ends(estimate.low, estimate.high, verdict)
    if getattr(estimate, "extended", False):
        low += WIDENED if estimate.low == 1 else ""
        high += WIDENED if estimate.high == 1 else ""
    return f"{below}{low} … {above}{high}"


def advantage_text(comparison: Comparison, direction: Direction) -> str:
    """By how many percent it is better: ``+20.1 %``, also ``+24.1 %`` for a latency of 0.759."""
    if comparison.ratio is None:
        return "–"
    digits = percent_digits(_half_width(comparison) or 0.0)
    return percent_better(comparison.ratio, direction, digits)


def percent_better(ratio: float, direction: Direction, digits: int = 1) -> str:
    """How much better a ratio is than 1: more is better, or less of a time.

    Of a time that is more than twice as long no percentage is: ``2.31× as much``.
    """
    size = percent(ratio, direction)
    if beyond_percent(size, direction, digits):
        return as_much(format_ratio(ratio))
    return f"{signed(size, digits)} %"


def between(comparisons: Iterable[Comparison], system: str, against: str) -> Comparison | None:
    """The comparison of two systems, from the first one's side; ``None`` if there is none."""
    for pair in comparisons:
        if (pair.system, pair.against) == (system, against):
            return pair
        if (pair.system, pair.against) == (against, system):
            return turned(pair)
    return None


def with_unit(label: str, unit: str) -> str:
    """A head for figures: ``write, GB/s``, but ``transactions/s`` and ``files/s, loop 2``.

    A label of a source, ``1000 Files, 1MB Size``, is no noun that a rate could continue.
    """
    if not unit.startswith("/"):
        return ", ".join(filter(None, (label, unit)))
    metric, *place = re.split(r"(, | over )", label, maxsplit=1)
    if re.search(r"[\d:]", metric):
        return f"{label}, {alone(unit)}"
    return "".join((metric, unit, *place))


def alone(unit: str) -> str:
    """A unit under a head that it does not continue, as that of a system: ``1/s`` for ``/s``."""
    return f"1{unit}" if unit.startswith("/") else unit


def against(comparisons: Sequence[Comparison], baseline: str) -> list[Comparison]:
    """Every system against the baseline, reversed where the pair was stored the other way."""
    return [
        pair if pair.against == baseline else turned(pair)
        for pair in comparisons
        if baseline in (pair.system, pair.against)
    ]


@dataclass(frozen=True)
class Measure:
    """A unit in which several values are printed together."""

    unit: str
    factor: float
    """What one of it is worth in base units."""
    decimals: int | None
    """As its source prints; ``None`` for the significant digits of ours."""
    digits: int = 3

    def scaled(self, value: float | None) -> float | None:
        """A value as it is drawn; what is missing stays missing."""
        return None if value is None else value / self.factor

    def number(self, value: float) -> str:
        """A value without its unit: ``2,619,762``, ``50.46``, ``1.31``."""
        if self.decimals is None:
            return format_number(value / self.factor, self.digits)
        return f"{value / self.factor:,.{self.decimals}f}"

    def whole(self, value: float) -> str:
        """A large value without the decimals that its source prints: ``100,477``."""
        scaled = value / self.factor
        large = self.decimals is not None and abs(scaled) >= 10**self.digits
        return f"{scaled:,.0f}" if large else self.number(value)

    def short(self, value: float) -> str:
        """Three significant digits, however many its source prints: for keys and tight places."""
        return format_number(value / self.factor, self.digits)

    def brief(self, value: float) -> str:
        """The same with its unit, for what is described: ``8,650 10⁶ bit/s``."""
        return f"{self.short(value)} {self.unit}".rstrip()

    def text(self, value: float) -> str:
        """A value with its unit: ``50.46 µs``."""
        return f"{self.number(value)} {self.unit}".rstrip()

    @property
    def note(self) -> str:
        """What a reader could get wrong: ``1 KB = 1024 B``; mostly nothing."""
        prefix, byte = self.unit[:1], self.unit[1:2]
        power = dict(zip("KMGT", range(1, 5), strict=True)).get(prefix.upper())
        binary = byte == "B" and power is not None and self.factor == _KILO**power
        return f"1 {prefix}B = {_KILO**power:,} B" if binary and power else ""


def measure_of(cells: Iterable[Cell | Index]) -> Measure:
    """The unit for all of some cells or indices, which have one metric: by the largest value."""
    sources = list(cells)
    printed = {source.printed for source in sources}
    if len(printed) == 1 and (known := sources[0].printed) is not None:
        return Measure(known.unit, known.factor, known.decimals)
    largest = max((abs(value) for source in sources for value in _values(source)), default=1.0)
    factor, unit = display_unit(largest, sources[0].shown_in if sources else "")
    return Measure(unit, factor, None, digits_of(sources[0].unit if sources else ""))


def head_of(label: str, measure: Measure, one: Cell | Index, *, noted: bool = True) -> str:
    """A head for values: ``throughput, KB/s (1 KB = 1,024 B)``, ``run time, s (less is better)``.

    Args:
        label: what was measured.
        measure: in which unit it is printed.
        one: a cell or index of it: says which way is better.
        noted: whether the unit is explained, which is done once a picture.
    """
    better = "" if one.direction == "higher" else "less is better"
    notes = "; ".join(filter(None, (better, measure.note if noted else "")))
    return with_unit(label, measure.unit) + (f" ({notes})" if notes else "")


def drawn_values(summary: Summary) -> tuple[float, ...]:
    """What is known of a system at a point: its values, or the mean alone."""
    return summary.values or (summary.median,)


@dataclass(frozen=True)
class Panel:
    """Some cells that are drawn together, in the order in which they are drawn."""

    title: str
    cells: tuple[Cell, ...]
    peers: tuple[Cell, ...]
    """Those of all panels that have one unit and one scale with it."""

    @property
    def measure(self) -> Measure:
        """In which unit values are printed."""
        return measure_of(self.peers)


@dataclass(frozen=True)
class Spread:
    """A whisker, in base units."""

    kind: SpreadKind
    low: float
    high: float


def spread_of(summary: Summary) -> Spread | None:
    """The whisker of a value: its interval, else what its source gives; ``None`` without any."""
    if summary.median_low is not None and summary.median_high is not None:
        return Spread("interval", summary.median_low, summary.median_high)
    if summary.se is not None:
        return Spread("se", summary.mean - summary.se, summary.mean + summary.se)
    return deviation_of(summary)


def deviation_of(summary: Summary) -> Spread | None:
    """Mean ± one standard deviation; ``None`` where no deviation is known."""
    if summary.sd is None:
        return None
    return Spread("sd", summary.mean - summary.sd, summary.mean + summary.sd)


def replicates(summary: Summary) -> int | None:
    """How many values stand behind a mean, as far as it is known."""
    return summary.n if summary.n is not None else len(summary.values) or None


def whiskers(summaries: Iterable[Summary]) -> str:
    """What the whiskers of some values are, in words; empty where there are none."""
    return in_words(map(spread_of, summaries))


def in_words(spreads: Iterable[Spread | None]) -> str:
    """``line: ± 1 standard error``: each kind among some whiskers."""
    kinds = {spread.kind for spread in spreads if spread is not None}
    return "; ".join(SPREADS[kind] for kind in SPREADS if kind in kinds)


def _half_width(estimate: Estimated) -> float | None:
    """By which it is rounded; ``None`` without an interval."""
    low, high = estimate.low, estimate.high
    return None if low is None or high is None else rounding_width(low, high)


def _values(one: Cell | Index) -> Iterator[float]:
    if isinstance(one, Index):
        yield from (standing.value for standing in one.standings)
    else:
        yield from (value for summary in one.summaries for value in drawn_values(summary))


def kind_of(label: str) -> str:
    """``read tests`` for ``random read`` and ``freread``, ``write tests``, else ``other tests``."""
    words = re.findall(r"[a-z]+", label.lower())
    reads = any(word.endswith("read") for word in words)
    writes = any(word.endswith("write") for word in words)
    if reads == writes:
        return "other tests"
    return "read tests" if reads else "write tests"
