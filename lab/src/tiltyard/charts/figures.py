"""Figures as words, the same in pictures, pages and the terminal.

Comparisons (:func:`ratio_text` and others), the unit and digits in which the values of one metric
are printed together (:class:`Measure`), and how uncertain a value is (:class:`Spread`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from tiltyard.analysis.model import Cell, Index, Summary
from tiltyard.units import digits_of, display_unit, format_number

_KILO = 1024

SpreadKind = Literal["interval", "se", "sd"]
SPREADS: Final[dict[SpreadKind, str]] = {
    "interval": "line: 95 % interval of the median",
    "se": "line: ± 1 standard error",
    "sd": "line: ± 1 standard deviation",
}
"""What a whisker of each kind shows, printed once a picture."""


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
