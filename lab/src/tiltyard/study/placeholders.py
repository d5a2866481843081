"""Placeholders in words of commands and in texts: ``{name}``.

Only an identifier in braces is one, so that braces of shells, JSON, regular expressions and
configuration files stay what they are; ``${name}`` is a shell's, and ``{{name}}`` stands for the
literal text ``{name}``. The engine reads commands by the same rule (``engine/program``); whoever
else fills in a text of ours does it here.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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


def name_of(value: Any) -> str | None:
    """The name, where a text is one placeholder and nothing else."""
    match = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    return match[2] if match and not match[1] else None


def put(text: str, value_of: Callable[[str], str | None]) -> str:
    """A text with values in the place of placeholders; of what has none, the placeholder stays."""

    def replaced(match: re.Match[str]) -> str:
        value = None if match[1] else value_of(match[2])
        return match[0] if value is None else value

    return _PLACEHOLDER.sub(replaced, text)


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with values in the place of all its placeholders.

    Raises:
        KeyError: with the name of one that has no value.
    """
    return _PLACEHOLDER.sub(lambda match: f"{{{match[2]}}}" if match[1] else values[match[2]], text)


def escaped(text: str, known: Collection[str] = ()) -> str:
    """A text that is filled in as it is, but for the placeholders that are known."""
    return put(text, lambda name: None if name in known else f"{{{{{name}}}}}")


def unescaped(text: str) -> str:
    """What :func:`escaped` made it of."""
    return _PLACEHOLDER.sub(lambda match: f"{{{match[2]}}}", text)


def spliced(value: Any, lists: Mapping[str, Sequence[str]]) -> Any:
    """Where a word is the name of a list, the words of the list; nothing else is filled in."""
    return _walked(value, lambda text: text, lists.get)


def partly_filled(value: Any, values: Mapping[str, str | Sequence[str]]) -> Any:
    """A value with those of its placeholders filled in that are known; the rest can be later.

    A word that is the name of a list stands for its words. Placeholders in a value are no
    placeholders: what they would be taken for is escaped.
    """
    texts = {name: escaped(each) for name, each in values.items() if isinstance(each, str)}
    lists = {
        name: [*map(escaped, each)] for name, each in values.items() if not isinstance(each, str)
    }
    return _walked(value, lambda text: put(text, texts.get), lists.get)


def _walked(
    value: Any, fill: Callable[[str], str], words_of: Callable[[str], Sequence[str] | None]
) -> Any:
    """A value with each of its texts filled in; words that name a list become its words."""
    if isinstance(value, str):
        return fill(value)
    if isinstance(value, dict):
        return {key: _walked(each, fill, words_of) for key, each in value.items()}
    if not isinstance(value, list | tuple):
        return value
    found: list[Any] = []
    for each in value:
        name = name_of(each)
        words = None if name is None else words_of(name)
        found += [_walked(each, fill, words_of)] if words is None else words
    return found
