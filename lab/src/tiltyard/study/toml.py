"""Write values as TOML; the standard library only reads it."""

import json
import re
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
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    text.encode()
    return text


def toml_key(key: str) -> str:
    """A key, quoted if it must be."""
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)
