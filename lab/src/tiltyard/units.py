"""One way to read and to print a number with its unit.

Inside Tiltyard every value is in SI base units (B, s, B/s, 1/s, s/B; 1 for shares, count for
events; instr/op for path lengths). Size *suffixes* typed by a person are binary (``64k`` =
65536 B), as in every tool of the field; *printed* rates are decimal and say so by their prefix
(``1.21 GB/s`` = 1.21e9 B/s), sizes binary (``64 KiB``).

Of a network people read throughput in bits and latency in µs: :func:`reading_unit`. Such a unit
says only how to print; the value stays in its base unit.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fractions import Fraction

_NAMED: Final = 3
"""As many of a long list are named."""
_PART = re.compile(r"\d+/\d*[1-9]\d*|\d*\.?\d+")
_SIZE = re.compile(r"(\d+)\s*([kKmMgGtT]?)(i?[bB])?")
_BINARY = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|min|m|h)")
_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    "bit/s": ((1e9 / 8, "Gbit/s"), (1e6 / 8, "Mbit/s"), (1e3 / 8, "kbit/s"), (1 / 8, "bit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "µs": ((1e-6, "µs"),),
    "1/s": ((1.0, "/s"),),
    "s/B": ((1e-6 / 1024, "µs/KB"),),
    "B": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1.0, "B")),
    "count": ((1.0, ""),),
    "instr/op": ((1.0, "instr/op"),),
    "instr": ((1.0, "instr"),),
    "1": ((0.01, "%"),),
}
"""Unit → what a printed one is worth in base units, from the largest; the first that fits is taken.

A KB of service demand is 1024 B, as netperf prints it.
"""
_OF_NETWORKS = {"B/s": "bit/s", "s": "µs"}
_RATIO_DIGITS: Final = 4
_FINER: Final = 2
"""As many digits more show that an interval excludes 1."""
_SECONDS = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}


def parse_size(text: str | int) -> int:
    """Bytes of ``"64k"``, ``"1M"``, ``"4G"`` or a plain number of bytes.

    Raises:
        ValueError: if the text is not a size; the message says what would be.
    """
    if isinstance(text, int):
        return text
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f'"{text}" is not a size. A size is a number with k, M, G or T: "64k"')
    return int(match[1]) * _BINARY[match[2].lower()]


def typed_size(size_bytes: int) -> str:
    """As a person types it: ``65536`` → ``64k``; what is no multiple of a KiB in bytes."""
    for unit in ("T", "G", "M", "k"):
        if size_bytes and size_bytes % _BINARY[unit.lower()] == 0:
            return f"{size_bytes // _BINARY[unit.lower()]}{unit}"
    return str(size_bytes)


def parse_duration(text: str) -> float:
    """Seconds of ``"90 s"``, ``"45 min"`` or ``"2 h"``.

    Raises:
        ValueError: if the text is not a duration; the message says what would be.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'"{text}" is not a duration. Write it like "90 s", "45 min" or "2 h"')
    return float(match[1]) * _SECONDS[match[2]]


def parse_part(text: str) -> "Fraction":
    """The fraction that ``1/64`` or ``0.01`` stands for: more than 0, at most 1.

    Raises:
        ValueError: if it is none.
    """
    from fractions import Fraction

    fraction = Fraction(text) if _PART.fullmatch(text) else Fraction(0)
    if not 0 < fraction <= 1:
        raise ValueError(f'"{text}" is no part of the whole. Write it like "1/64"')
    return fraction


def parse_percent(text: str) -> float:
    """The fraction that ``"2%"`` or ``"2 %"`` stands for: 0.02.

    Raises:
        ValueError: if the text is not a percentage.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
    if match is None:
        raise ValueError(f'"{text}" is not a percentage. Write it like "2%"')
    return float(match[1]) / 100


SIZE_UNITS: Final[Mapping[str, int]] = {
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
"""Units in which sizes are shown, and their bytes."""


def format_size(size_bytes: int) -> str:
    """``65536`` → ``64 KiB``; exact for the powers of two that grids are made of."""
    value, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.4g} {unit}"


def format_duration(seconds: float) -> str:
    """``75`` → ``1:15``; ``0.4`` → ``0.4 s``; ``7500`` → ``2:05:00``."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def format_value(value: float, unit: str) -> str:
    """A measured value to three significant digits: ``1.21 GB/s``, ``18,400 /s``, ``3.2 ms``.

    Counts repeat, and have one more: ``5,694 instr/op``.
    """
    if not math.isfinite(value):
        return "–"
    factor, name = display_unit(value, unit)
    return f"{format_number(value / factor, digits_of(unit))} {name}".rstrip()


def digits_of(unit: str) -> int:
    """Significant digits with which values of a unit are printed."""
    return 4 if unit in ("instr/op", "instr") else 3


def display_unit(value: float, unit: str) -> tuple[float, str]:
    """What to divide a value by for printing, and the unit it then has: ``(1e9, "GB/s")``."""
    scale = _SCALES.get(unit, ((1.0, unit),))
    size = abs(value) or 1.0
    return next((step for step in scale if size >= step[0]), scale[-1])


def printed_units(unit: str) -> tuple[tuple[float, str], ...]:
    """All that :func:`display_unit` may take for a unit: what one is worth, and its name."""
    return _SCALES[unit]


def reading_unit(unit: str, *, network: bool) -> str:
    """How people read a unit: of a network, throughput in ``bit/s`` and times in ``µs``."""
    return _OF_NETWORKS.get(unit, unit) if network else unit


def format_ratio(ratio: float, half_width: float | None = None) -> str:
    """A ratio with as many digits as its interval supports: ``1.31``, ``0.997``, ``12.4``.

    Never fewer than one that counts: ``0.04``, however wide the interval is.
    """
    if not math.isfinite(ratio):
        return "–"
    digits = 2
    if half_width is not None:
        width_digits = 1 - math.floor(math.log10(half_width)) if half_width > 0 else 4
        digits = min(_RATIO_DIGITS, max(0, width_digits))
    if ratio >= 10:
        digits = min(digits, 1)
    elif ratio > 0:
        digits = max(digits, 1, -math.floor(math.log10(ratio)))
    return f"{ratio:.{digits}f}"


def rounding_width(low: float, high: float) -> float:
    """The half-width by which an interval of ratios is rounded.

    Finer than its own where only that shows that the interval excludes 1.
    """
    half_width, nearest = (high - low) / 2, low if low > 1 else high
    for _ in range(_FINER if low > 1 or high < 1 else 0):
        if float(format_ratio(nearest, half_width)) == 1:
            half_width /= 10
    return half_width


def format_number(value: float, digits: int = 3) -> str:
    """Three significant digits, thousands grouped, never an exponent: ``18,400``."""
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


_BOUND: Final = re.compile(
    r"(?<=\d) (?=(?:{})(?![\w/]))".format(
        "|".join(
            map(
                re.escape, {"%", *(name for scale in _SCALES.values() for _, name in scale if name)}
            )
        )
    )
)


def unbroken(text: str) -> str:
    """A text for people in which no line ends between a number and its unit: ``5 %``, ``4 KiB``."""
    return _BOUND.sub("\N{NO-BREAK SPACE}", text)


def listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``; see :func:`few` of many."""
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))


def few(items: Sequence[str]) -> str:
    """The same of four at most, and of more the first three: ``a, b, c and 5 more``."""
    more = len(items) - _NAMED
    return listed([*items[:_NAMED], f"{more} more"] if more > 1 else items)


def count_of(number: int | str, one: str, several: str = "") -> str:
    """``1 block``, ``3 blocks``, ``2 studies``; ``several``: what stands after all but 1."""
    return f"{number} {agreeing(number, one, several or _plural(one))}"


def agreeing(number: int | str, one: str, several: str) -> str:
    """The word that agrees with a number: ``is`` with 1, ``are`` with all others."""
    return one if number in (1, "1") else several


def part_of(number: int, whole: int, noun: str, one: str = "is", several: str = "are") -> str:
    """``1 of 3 blocks is``, ``2 of 3 blocks are``, ``0 of 1 block is``."""
    return f"{number} of {count_of(whole, noun)} {one if 1 in (number, whole) else several}"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
