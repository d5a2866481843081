"""Write values as TOML, which the standard library only reads; read those that were typed."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

TomlValue = str | int | float | bool | Sequence["TomlValue"] | Mapping[str, "TomlValue"] | JsonValue

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: TomlValue) -> str:
    """A value on one line. JSON's strings and numbers are TOML's, save for one character.

    Raises:
        ValueError: if text holds half a surrogate pair (a file name that is not UTF-8).
    """
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float):
        return repr(value)  # JSON has no infinity.
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    text.encode()
    return text


def toml_key(key: str) -> str:
    """A key, quoted if it must be."""
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)


def split_list(text: str) -> list[str]:
    """``a,[b,c],d`` at the commas that stand outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if character == "," and not depth and not quote:
            parts.append("")
            continue
        parts[-1] += character
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in "[{") - (character in "]}")
    return parts


def as_typed(text: str) -> TomlValue:
    """A value as it stands in a study: text needs no quotes on a command line, nor in a list."""
    if text.startswith("[") and text.endswith("]"):
        inside = text[1:-1].strip()
        return [as_typed(each.strip()) for each in split_list(inside)] if inside else []
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # a whole number of 5,000 digits too
        return text
    value: TomlValue = document.get("value")
    return value if document.keys() == {"value"} and _is_plain(value) else text


def _is_plain(value: object) -> bool:
    """Whether it can be written again: no date, no time."""
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, str | int | float)
