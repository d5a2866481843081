"""One amount of work made smaller or larger: bytes, a count, or seconds.

Which parameters and settings are amounts is said where they are declared: by the key ``amount`` of
their JSON Schema, with the ``least`` that is worth measuring.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from pydantic import JsonValue

from tiltyard.units import format_size, parse_duration, parse_size, typed_size

Schema = Mapping[str, Any]

SORTS: Final = ("count", "seconds", "bytes")
"""Sorts of amounts; more work is more of the first of which a workload has any in force."""
_PAGE: Final = 4096
_FEW: Final = 3
"""Of longer lists only the ends are told."""


def amounts_in_force(effective: Mapping[str, Any], schema: Schema) -> dict[str, Schema]:
    """Parameters by which a workload does more work, with what is said of each; none: empty.

    Args:
        effective: what the engine makes of the parameters.
        schema: of the parameters.
    """
    for sort in SORTS:
        found = {
            name: each
            for name, each in schema.get("properties", {}).items()
            if each.get("amount") == sort and _are_amounts(effective.get(name))
        }
        if found:
            return found
    return {}


def _are_amounts(value: object) -> bool:
    """Whether a plan has an amount there, or several that make a grid."""
    each = value if isinstance(value, list) else [value]
    return bool(each) and all(map(is_amount, each))


def is_amount(value: object) -> bool:
    """A number, or a size as it is typed; not less than nothing."""
    if isinstance(value, str):
        try:
            value = parse_size(value)
        except ValueError:
            return False
    return isinstance(value, int | float) and value >= 0


def larger(value: JsonValue, schema: Schema, factor: float) -> JsonValue:
    """An amount times a factor of 1 or more, rounded up to one that a person would type.

    A power of two stays one; other sizes are whole pages, counts and seconds have two digits.
    """
    if schema["amount"] == "bytes":
        size = _bytes(value)
        most = math.ceil(size * factor)
        if size.bit_count() == 1:
            return typed_size(1 << (most - 1).bit_length())
        return typed_size(size if most == size else -(-most // _PAGE) * _PAGE)
    if not isinstance(value, int | float) or factor <= 1 or not value:
        return value
    more = value * factor
    unit = 10.0 ** (math.floor(math.log10(more)) - 1)
    rounded = min(math.ceil(more / unit - 1e-9) * unit, float(schema.get("maximum", math.inf)))
    return max(value, round(rounded)) if schema["amount"] == "count" else max(value, rounded)


def smaller(value: JsonValue, schema: Schema, fraction: Fraction) -> JsonValue:
    """An amount, or several that make a grid, scaled; what becomes the same is there once."""
    if isinstance(value, list):
        return list(dict.fromkeys(_smaller(one, schema, fraction) for one in value))
    return _smaller(value, schema, fraction)


def least_of(schema: Schema) -> float:
    """The least that is still that workload: the key ``least``, or what the parameter takes."""
    return float(schema.get("least", schema.get("minimum", 1)))


def is_held(value: JsonValue, schema: Schema, fraction: Fraction) -> bool:
    """Whether some amount is not made as small as the fraction has it."""
    free = {**schema, "least": 0}
    return smaller(value, schema, fraction) != smaller(value, free, fraction)


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
    least = least_of(schema)
    if schema["amount"] == "bytes":
        size = _bytes(value)
        return min(size, max(_size(size, fraction), int(least)))
    if schema["amount"] == "seconds" and isinstance(value, str):
        value = parse_duration(value)
    if not isinstance(value, int | float):
        return value  # what is not an amount here will be told by the engine
    if schema["amount"] == "count":
        return min(value, max(round(value * fraction), int(least)))
    return min(value, max(float(value * fraction), least))


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
    return value if isinstance(value, str) else f"{value:g} s"
