"""How the values of one metric are printed in one picture or table: unit, and digits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tiltyard.analysis.model import Cell, Index, Summary
from tiltyard.charts.figures import with_unit
from tiltyard.units import digits_of, display_unit, format_number

_KILO = 1024


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
    own = list(cells)
    printed = {one.printed for one in own}
    if len(printed) == 1 and (known := own[0].printed) is not None:
        return Measure(known.unit, known.factor, known.decimals)
    largest = max((abs(value) for one in own for value in _values(one)), default=1.0)
    factor, unit = display_unit(largest, own[0].shown_in if own else "")
    return Measure(unit, factor, None, digits_of(own[0].unit if own else ""))


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


def _values(one: Cell | Index) -> Iterator[float]:
    if isinstance(one, Index):
        yield from (standing.value for standing in one.standings)
    else:
        yield from (value for summary in one.summaries for value in drawn_values(summary))
