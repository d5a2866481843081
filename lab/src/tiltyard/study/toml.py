"""Write values as TOML; the standard library only reads it."""

import json
import re
from collections.abc import Sequence

TomlValue = str | int | float | bool | Sequence["TomlValue"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: TomlValue) -> str:
    """A value on one line. JSON's strings, numbers and lists are TOML's, save for one character.

    Raises:
        ValueError: if text holds half a surrogate pair (a file name that is not UTF-8).
    """
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    text.encode()
    return text


def toml_key(key: str) -> str:
    """A key, quoted if it must be."""
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)
