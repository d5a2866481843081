"""What the units that tools print are worth, exactly, and metrics that are printed in them."""

import re
from collections.abc import Iterable
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
        return float(printed if self.factor == 1 else printed * self.factor)

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
BYTES: Final = Unit("B", "B", Fraction(1))
COUNT: Final = Unit("count", "count", Fraction(1))

_PLAIN: Final[dict[str, tuple[str, Fraction | int]]] = {
    "%": ("1", Fraction(1, 100)), "1": ("1", 1), "count": ("count", 1), "/s": ("1/s", 1),
    "1/s": ("1/s", 1),
}  # fmt: skip
_TIMES: Final[dict[str, Fraction | int]] = {
    "s": 1, "sec": 1, "secs": 1, "seconds": 1, "min": 60, "h": 3600,
    "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6), "usec": Fraction(1, 10**6), "ns": Fraction(1, 10**9),
}  # fmt: skip
_PREFIXES: Final[dict[str, int]] = {
    "": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip
_AMOUNT: Final = re.compile(r"(?P<prefix>(?:[KMGT]i|[kKMGT])?)(?P<of>B|bits?|b)")
_RATE: Final = re.compile(r"(?P<prefix>[kKMG]?)(?:tps|TPS|qps|QPS|rps|IOPS|iops|Hz)")
_COUNTED: Final = re.compile(r"(?P<prefix>[kKMG]?)(?:ops?|reqs?|requests|tx|IOs?)|[a-z]+")
KNOWN_UNITS: Final = (
    "s, ms, µs (us), ns, min, h; B, kB, MB, GB, KiB, MiB, GiB, and each per second (MB/s); bit/s, "
    "kbit/s, Mbit/s, Gbit/s (Mbps); 1/s, ops/s, req/s, kops/s, files/s and the like, tps, IOPS; "
    "ns/op, B/op, allocs/op; count, %, 1"
)
"""What :func:`unit_named` understands. Prefixes are decimal (``MB/s`` is 10⁶ B/s) where they are
not binary by name (``MiB/s``)."""


def unit_named(name: str) -> Unit | None:
    """What a unit is worth that a person names; ``None`` if it is not one of the known."""
    base, factor = _PLAIN.get(name) or _worth(name)
    return Unit(name, base, Fraction(factor)) if base else None


def _worth(name: str) -> tuple[str, Fraction | int]:
    """Base unit, and what one is worth in it; no base unit where it is not known."""
    noun, _, per = name.partition("/")
    per = "s" if per in ("sec", "second") else per
    if name.endswith("bps"):
        noun, per = name.removesuffix("ps"), "s"
    worth: Fraction | int = 1
    bases: dict[str, str] = {}
    if noun in _TIMES:
        worth, bases = _TIMES[noun], {"": "s", "op": "s"}
    elif match := _RATE.fullmatch(noun):
        worth, bases = _PREFIXES[match["prefix"]], {"": "1/s"}
    elif match := _AMOUNT.fullmatch(noun):
        bits = match["of"] != "B"
        worth = Fraction(_PREFIXES[match["prefix"]], 8 if bits else 1)
        bases = {"s": "B/s"} if bits else {"s": "B/s", "": "B", "op": "B"}
    elif match := _COUNTED.fullmatch(noun):
        worth, bases = _PREFIXES[match["prefix"] or ""], {"s": "1/s", "op": "count"}
    return bases.get(per, ""), worth


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


_SUFFIXES: Final = {"1/s": "operations", "s": "time", "B": "bytes", "s/B": "demand"}


def name_in(name: str, unit: str, usual: str) -> str:
    """What a metric is called that a tool printed in another base unit than it usually does."""
    return name if unit == usual else f"{name}_{_SUFFIXES.get(unit, unit)}"


def all_units(of_each: Iterable[Iterable[CollectedMetric]]) -> tuple[CollectedMetric, ...]:
    """The metrics of a tool that prints in several units: those of the first keep their names."""
    found: dict[str, CollectedMetric] = {}
    usual: dict[str, str] = {}
    for metrics in of_each:
        for one in metrics:
            name = name_in(one.name, one.unit, usual.setdefault(one.name, one.unit))
            found.setdefault(name, one.model_copy(update={"name": name}))
    return tuple(found.values())


def percentile_name(percent: Fraction) -> str:
    """What a percentile is called: ``p50``, ``p99``, and ``p999`` of 99.9."""
    whole, _, rest = f"{float(percent):.6f}".partition(".")
    return f"p{whole}{rest.rstrip('0')}"
