"""Placeholders in words of commands and in texts: ``{name}``.

Only an identifier in braces is one, so that braces of shells, JSON, regular expressions and
configuration files stay what they are; ``${name}`` is a shell's, and ``{{name}}`` stands for the
literal text ``{name}``. The engine reads commands by the same rule (``engine/program``).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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


def partly_filled(value: Any, values: Mapping[str, str | Sequence[str]]) -> Any:
    """The same with the values that are known; what is left can be filled later.

    A word that is the name of a list stands for its words. Placeholders in a value are no
    placeholders: what they would be taken for is escaped.
    """
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: _known(match, values), value)
    if isinstance(value, dict):
        return {key: partly_filled(each, values) for key, each in value.items()}
    if not isinstance(value, list | tuple):
        return value
    words: list[Any] = []
    for each in value:
        match = _PLACEHOLDER.fullmatch(each) if isinstance(each, str) else None
        spliced = values.get(match[2]) if match and not match[1] else None
        if spliced is None or isinstance(spliced, str):
            words.append(partly_filled(each, values))
        else:
            words += map(_escaped, spliced)
    return words


def _known(match: re.Match[str], values: Mapping[str, str | Sequence[str]]) -> str:
    value = None if match[1] else values.get(match[2])
    return _escaped(value) if isinstance(value, str) else match[0]


def _escaped(text: str) -> str:
    return _PLACEHOLDER.sub(r"{{\2}}", text)
