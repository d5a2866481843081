"""Values of a profile's parameters: what may be typed, and what is written to the command."""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from tiltyard.study.problems import not_a, shown
from tiltyard.units import parse_duration, parse_size
from tiltyard.workloads.file import ParameterTable, Sort

Value = str | int | float | bool | list[str]
"""What a placeholder stands for. False, an empty text and an empty list are empty: the word that
has them is left out."""

_UNITS: Final = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "s": 1, "ms": 1e-3}
_ROUNDING: Final = 1e-9
"""More than the error of a quotient, less than any share of a unit."""


def schema_of(table: ParameterTable) -> dict[str, Any]:
    """JSON Schema of a parameter, with the marks of the engine's own: ``amount``, ``brings``."""
    schema: dict[str, Any] = {"description": table.help, **_SCHEMAS[table.type]}
    for ours, name in (("min", "minimum"), ("max", "maximum"), ("least", "least")):
        if (limit := getattr(table, ours)) is not None:
            schema[name] = _number(table, limit)
    if isinstance(table.choices, list):
        schema["enum"] = table.choices
    elif table.choices:
        words = {name: _line(value) for name, value in table.choices.items()}
        del schema["type"]
        schema["oneOf"] = [
            {"type": "string", "const": name, "description": text} for name, text in words.items()
        ]
    if table.scales:
        schema["amount"] = _AMOUNTS[table.type]
    if table.type in ("path", "file", "files"):
        schema["path"] = "study"
    if table.brings:
        schema["brings"] = table.brings
    default = table.find if table.find else table.default
    return schema if default is None else {**schema, "default": default}


def value_of(table: ParameterTable, typed: JsonValue, roots: Sequence[Path]) -> Value:
    """What a typed value stands for in a command.

    Args:
        table: the parameter.
        typed: as it stands in a file.
        roots: where relative paths begin: the first in which there is such a file.

    Raises:
        ValueError: if it is none; the message says what would be right.
    """
    if table.type in ("size", "int", "float", "duration"):
        return _limited(table, typed)
    if table.type in ("words", "files"):
        if not (isinstance(typed, list) and all(isinstance(word, str) for word in typed)):
            raise ValueError(f'{shown(typed)} is not a list of texts. Write it like ["a", "b"]')
        if table.type == "words":
            return [str(word) for word in typed]
        return [_file(str(word), roots, weight=table.weights) for word in typed]
    if table.type == "bool":
        if not isinstance(typed, bool):
            raise ValueError(f"{shown(typed)} is not true or false")
        return table.words if typed and table.words is not None else typed
    if not isinstance(typed, str):
        raise ValueError(f"{shown(typed)} is not text. Text stands in quotes")
    if table.choices is not None:
        if typed not in table.choices:
            raise ValueError(not_a(typed, "choice", table.choices))
        return typed if isinstance(table.choices, list) else table.choices[typed]
    if table.type == "file":
        return _file(typed, roots) if typed else typed
    return absolute(typed, roots) if table.type == "path" else typed


def default_of(table: ParameterTable) -> JsonValue:
    """The value of a parameter that is left out, on this host; ``None``: there is none."""
    if table.as_root is not None and os.geteuid() == 0:
        return table.as_root
    if table.find is None:
        return table.default
    found = Path("/").glob(table.find.lstrip("/"))
    return max(map(str, found), key=_version, default=table.find)


def as_text(value: str | float) -> str:
    """A value as a word, or a part of one: 10, not 10.0."""
    if isinstance(value, bool):
        return str(value).lower()
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def _limited(table: ParameterTable, typed: JsonValue) -> Value:
    """A number within its limits, in what the program counts in."""
    number = _number(table, typed)
    for limit, beyond, word in (
        (table.min, number.__lt__, "small: at least"),
        (table.max, number.__gt__, "large: at most"),
    ):
        if limit is not None and beyond(_number(table, limit)) is True:
            raise ValueError(f"{shown(typed)} is too {word} {limit}")
    if table.unit is None:
        return number
    return math.ceil(number / _UNITS[table.unit] - _ROUNDING)


def _number(table: ParameterTable, typed: JsonValue) -> float:
    """What is typed as a number: bytes, seconds, or as it is."""
    value = _READERS[table.type](typed) if isinstance(typed, str) else typed
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{shown(typed)} is not {_WANTED[table.type]}")
    if table.type in ("size", "int") and value != int(value):
        raise ValueError(f"{shown(typed)} is not {_WANTED[table.type]}")
    if value < 0 and table.type in ("size", "duration"):
        raise ValueError(f"{shown(typed)} is less than nothing")
    return int(value) if table.type in ("size", "int") else float(value)


def absolute(typed: str, roots: Sequence[Path]) -> str:
    """A path that does not depend on where one stands; empty: no file."""
    if not typed or Path(typed).is_absolute():
        return typed
    # A study's folder may not be there yet, and what is typed as ../file is beside it.
    places = [Path(os.path.normpath(root.absolute() / typed)) for root in roots]
    return str(next(filter(Path.exists, places), places[0]))


def weighed(word: str, *, weight: bool) -> tuple[str, str]:
    """A file and the weight after it, ``@3``; empty where there is none."""
    name, at, number = word.rpartition("@")
    return (name, at + number) if weight and name and number.isdecimal() else (word, "")


def _file(typed: str, roots: Sequence[Path], *, weight: bool = False) -> str:
    """The absolute path of a file that is there, its weight after it."""
    name, after = weighed(typed, weight=weight)
    path = Path(absolute(name, roots))
    if not path.is_file():
        places = "" if Path(name).is_absolute() else f" in {' or '.join(map(str, roots))}"
        what = "is no file" if path.exists() else f"there is no such file{places}"
        raise ValueError(f"{name}: {what}. Fix: name one that is there")
    return f"{path}{after}"


def _version(path: str) -> list[tuple[int, int | str]]:
    """By which a version 15 comes after 9."""
    parts = re.findall(r"\d+|\D+", path)
    return [(0, int(part)) if part.isdigit() else (1, part) for part in parts]


def _line(value: str | list[str]) -> str:
    """What a choice writes to the command, for people."""
    return value if isinstance(value, str) else " ".join(value)


_READERS: Final[Mapping[Sort, Callable[[str], float | str]]] = {
    "size": parse_size,
    "duration": parse_duration,
    "int": str,
    "float": str,
}
_WANTED: Final[Mapping[Sort, str]] = {
    "size": 'a size. Write it like "64M"',
    "duration": 'a duration. Write it like "10 s"',
    "int": "a whole number",
    "float": "a number",
}
_AMOUNTS: Final[Mapping[Sort, str]] = {"size": "bytes", "int": "count", "duration": "seconds"}
_SCHEMAS: Final[Mapping[Sort, dict[str, Any]]] = {
    "size": {
        "type": ["integer", "string"],
        "format": "size",
        "pattern": "^[0-9]+[kKmMgGtT]?$",
    },
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "duration": {"type": ["number", "string"], "pattern": r"^[0-9.]+\s*(s|sec|min|m|h)$"},
    "bool": {"type": "boolean"},
    "choice": {"type": "string"},
    "text": {"type": "string"},
    "path": {"type": "string"},
    "file": {"type": "string"},
    "files": {"type": "array", "items": {"type": "string"}},
    "words": {"type": "array", "items": {"type": "string"}},
}
