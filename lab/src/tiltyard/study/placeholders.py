"""Placeholders in words of commands and in texts: ``{name}``.

Only an identifier in braces is one, so that braces of shells, JSON, regular expressions and
configuration files stay what they are; ``${name}`` is a shell's, and ``{{name}}`` stands for the
literal text ``{name}``. The engine reads commands by the same rule (``engine/program``).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_PLACEHOLDER: Final = re.compile(r"(?<![${])(\{)?\{([A-Za-z_][A-Za-z0-9_]*)\}(?(1)\})")


def names_in(value: Any) -> Iterator[str]:
    """Names of the placeholders in a text, or in all texts of lists and tables."""
    if isinstance(value, str):
        yield from (match[2] for match in _PLACEHOLDER.finditer(value) if not match[1])
    elif isinstance(value, dict):
        for each in value.values():
            yield from names_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from names_in(each)


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with values in the place of all its placeholders.

    Raises:
        KeyError: with the name of one that has no value.
    """
    return _PLACEHOLDER.sub(lambda match: f"{{{match[2]}}}" if match[1] else values[match[2]], text)


def partly_filled(value: Any, values: Mapping[str, str]) -> Any:
    """The same with the values that are known; what is left can be filled later.

    Placeholders in a value are no placeholders: what they would be taken for is escaped.
    """
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: _known(match, values), value)
    if isinstance(value, dict):
        return {key: partly_filled(each, values) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [partly_filled(each, values) for each in value]
    return value


def _known(match: re.Match[str], values: Mapping[str, str]) -> str:
    if match[1] or match[2] not in values:
        return match[0]
    return _PLACEHOLDER.sub(r"{{\2}}", values[match[2]])
