"""One amount of work made smaller: bytes, a count, or seconds.

Which parameters and settings are amounts is said where they are declared: by the key ``amount`` of
their JSON Schema, with the ``least`` that is worth measuring.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from pydantic import JsonValue

from tiltyard.units import format_size, parse_size

Schema = Mapping[str, Any]

_PAGE: Final = 4096
_FEW: Final = 3
"""Of longer lists only the ends are told."""


def smaller(value: JsonValue, schema: Schema, fraction: Fraction) -> JsonValue:
    """An amount, or several that make a grid, scaled; what becomes the same is there once."""
    if isinstance(value, list):
        return list(dict.fromkeys(_smaller(one, schema, fraction) for one in value))
    return _smaller(value, schema, fraction)


def within(value: JsonValue, whole: JsonValue) -> JsonValue:
    """Sizes that are no larger than the largest of those that they are parts of."""
    sizes = [_bytes(one) for one in _listed(value)]
    most = max(_bytes(one) for one in _listed(whole))
    if max(sizes) <= most:
        return value
    fitting = list(dict.fromkeys(min(size, most) for size in sizes))
    return [*fitting] if isinstance(value, list) else fitting[0]


def told(value: JsonValue, amount: str) -> str:
    """An amount in words: ``1 MiB … 2 GiB``; ``20,000``; ``0.5 s``."""
    words = [_told(one, amount) for one in _listed(value)]
    return ", ".join(words) if len(words) <= _FEW else f"{words[0]} … {words[-1]}"


def _smaller(value: JsonValue, schema: Schema, fraction: Fraction) -> JsonValue:
    least = schema.get("least", schema.get("minimum", 1))
    if schema["amount"] == "bytes":
        size = _bytes(value)
        return min(size, max(_size(size, fraction), int(least)))
    if not isinstance(value, int | float):
        return value  # what is not an amount here will be told by the engine
    if schema["amount"] == "count":
        return min(value, max(round(value * fraction), int(least)))
    return min(value, max(float(value * fraction), float(least)))


def _size(size_bytes: int, fraction: Fraction) -> int:
    """A power of two stays one, so that grids stay grids; other sizes are whole pages."""
    scaled = int(size_bytes * fraction)
    if size_bytes.bit_count() == 1:
        return 1 << (scaled.bit_length() - 1) if scaled else 0
    return scaled - scaled % _PAGE if scaled > _PAGE else scaled


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


def _bytes(value: JsonValue) -> int:
    return parse_size(value if isinstance(value, int) else str(value))


def _told(value: JsonValue, amount: str) -> str:
    if amount == "bytes":
        return format_size(_bytes(value))
    if amount == "count":
        return f"{value:,}"
    return f"{value:g} s"
