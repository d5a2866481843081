"""In which unit a column of values is printed, and with how many digits."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiltyard.analysis.model import Cell, Index, Summary
from tiltyard.charts.figures import Measure
from tiltyard.report.document import Entry
from tiltyard.units import digits_of, display_unit, format_duration

MISSING = Entry("–", quiet=True)
"""What stands where there is no value."""


@dataclass(frozen=True)
class Printing(Measure):
    """One unit for many values, so that they can be read against each other."""

    def entry(self, value: float | None, *, strong: bool = False, quiet: bool = False) -> Entry:
        """A value in base units as a cell of a table; a dash where there is none."""
        if value is None:
            return MISSING
        return Entry(self.number(value), value / self.factor, strong=strong, quiet=quiet)


def printing(
    shown: Cell | Index, values: Iterable[float], digits: int | None = None, *, widest: bool = False
) -> Printing:
    """As the source prints a metric; else in the unit of the smallest positive value.

    So no value loses its digits; with ``widest`` in that of the largest, as people say a rank.
    """
    if shown.printed is not None:
        return Printing(shown.printed.unit, shown.printed.factor, shown.printed.decimals)
    positive = [value for value in values if value > 0]
    size = (max if widest else min)(positive, default=0.0)
    factor, unit = display_unit(size, shown.shown_in)
    return Printing(unit, factor, None, digits or digits_of(shown.unit))


def summary_of(cell: Cell, system: str) -> Summary | None:
    """What is known of one system at one point."""
    return next((found for found in cell.summaries if found.system == system), None)


def system_entry(name: str, *, quiet: bool = False) -> Entry:
    """A system with its sign."""
    return Entry(name, kind="system", quiet=quiet)


def percent_text(share: float | None) -> str:
    """``0.034`` → ``3.4 %``; a dash where there is none."""
    if share is None:
        return "–"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def percent_entry(share: float | None, *, quiet: bool = False) -> Entry:
    """A share under a head with ``%``."""
    if share is None:
        return MISSING
    return Entry(percent_text(share).removesuffix(" %"), 100 * share, quiet=quiet)


def p_text(p: float | None) -> str:
    """Two digits, never zero: ``0.011``, ``< 0.001``."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def p_entry(p: float | None) -> Entry:
    """A p-value as a cell of a table."""
    return Entry(p_text(p), p) if p is not None else MISSING


def duration_entry(seconds: float) -> Entry:
    """A time that it took: ``1:15``; its number is in seconds."""
    return Entry(format_duration(seconds), seconds)


def count_entry(count: int, *, quiet: bool = False) -> Entry:
    """A whole number."""
    return Entry(f"{count:,}", float(count), quiet=quiet)
