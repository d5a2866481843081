"""What the units that tools print are worth, exactly, and metrics that are printed in them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from tiltyard.collected.model import CollectedMetric, PrintedAs


@dataclass(frozen=True)
class Unit:
    """A unit in which a tool prints."""

    name: str
    """As it is printed: ``KB/s``."""
    base: str
    """SI base unit: ``B/s``."""
    factor: Fraction
    """What one is worth in base units."""

    def value(self, printed: Fraction | int) -> float:
        """A printed number in base units, rounded once."""
        return float(printed * self.factor)

    def printed(self, decimals: int) -> PrintedAs:
        """How values are printed in it again."""
        return PrintedAs(unit=self.name, factor=float(self.factor), decimals=decimals)


BYTES_S: Final = Unit("B/s", "B/s", Fraction(1))
KIB_S: Final = Unit("KB/s", "B/s", Fraction(2**10))
"""A KB of 1024 B, as most tools for disks mean it."""
MIB_S: Final = Unit("MB/s", "B/s", Fraction(2**20))
"""A MB of 1024² B."""
GIB_S: Final = Unit("GB/s", "B/s", Fraction(2**30))
PER_S: Final = Unit("/s", "1/s", Fraction(1))
SECONDS: Final = Unit("s", "s", Fraction(1))
MILLISECONDS: Final = Unit("ms", "s", Fraction(1, 10**3))
MICROSECONDS: Final = Unit("µs", "s", Fraction(1, 10**6))
NANOSECONDS: Final = Unit("ns", "s", Fraction(1, 10**9))
PERCENT: Final = Unit("%", "1", Fraction(1, 100))
BITS_S: Final = Unit("bit/s", "B/s", Fraction(1, 8))
KBIT_S: Final = Unit("kbit/s", "B/s", Fraction(10**3, 8))
MBIT_S: Final = Unit("Mbit/s", "B/s", Fraction(10**6, 8))
GBIT_S: Final = Unit("Gbit/s", "B/s", Fraction(10**9, 8))


def metric(
    name: str,
    unit: Unit,
    decimals: int | None,
    *,
    label: str = "",
    direction: Literal["higher", "lower"] | None = None,
    headline: bool = True,
) -> CollectedMetric:
    """A metric that a tool prints.

    Args:
        name: as the workload of ours names it, where there is one: ``random_read``.
        unit: in which it is printed.
        decimals: with which it is printed; ``None`` where three significant digits are right.
        label: as people say it; by default the name with blanks.
        direction: what is better; by default more of a rate, less of a time.
        headline: whether it is compared.
    """
    return CollectedMetric(
        name=name,
        label=label or name.replace("_", " "),
        unit=unit.base,
        direction=direction or ("higher" if unit.base in ("B/s", "1/s") else "lower"),
        headline=headline,
        printed=None if decimals is None else unit.printed(decimals),
    )


def percentile_name(percent: Fraction) -> str:
    """What a percentile is called: ``p50``, ``p99``, and ``p999`` of 99.9."""
    whole, _, rest = f"{float(percent):.6f}".partition(".")
    return f"p{whole}{rest.rstrip('0')}"
