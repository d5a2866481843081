"""JSON that a tool wrote, read by keys that an error can name."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from tiltyard.errors import UsageError
from tiltyard.importers.reading import number, printable, refusal, shown, text_of

_BEGINS: Final = re.compile(r"\A\s*(?=[\[{])|^(?=[\[{])", re.MULTILINE)
"""What is indented is a part of another text."""


@dataclass(frozen=True)
class _Number:
    """A number as it is written, so that none is rounded or becomes infinite on the way."""

    text: str


@dataclass(frozen=True)
class Node:
    """A place in a JSON file."""

    file: str
    path: str
    """``jobs[0].read.bw_bytes``; empty at the top."""
    content: Any

    def refused(self, why: str) -> UsageError:
        """The error that names file and key."""
        return UsageError(": ".join(filter(None, (self.file, printable(self.path[:120]), why))))

    def __getitem__(self, key: str) -> "Node":
        """What stands under a key.

        Raises:
            UsageError: if it is not there.
        """
        found = self.get(key)
        if found is None:
            raise self.refused(f'has no "{key}"; give the file as the tool wrote it')
        return found

    def get(self, key: str) -> "Node | None":
        """The same, or ``None``."""
        content = self.table().get(key)
        return None if content is None else Node(self.file, _joined(self.path, key), content)

    def table(self) -> dict[str, Any]:
        """Its keys.

        Raises:
            UsageError: if it is not a table.
        """
        if not isinstance(self.content, dict):
            raise self.refused("should be a table { … }")
        return self.content

    def items(self) -> Iterator[tuple[str, "Node"]]:
        """Its keys with what stands under them."""
        for key, content in self.table().items():
            yield key, Node(self.file, _joined(self.path, key), content)

    def entries(self) -> list["Node"]:
        """The entries of a list.

        Raises:
            UsageError: if it is not a list.
        """
        if not isinstance(self.content, list):
            raise self.refused("should be a list [ … ]")
        return [
            Node(self.file, f"{self.path}[{place}]", one) for place, one in enumerate(self.content)
        ]

    def text(self) -> str:
        """A string, or a number as it is written.

        Raises:
            UsageError: if it is neither.
        """
        if isinstance(self.content, _Number):
            return self.content.text
        if not isinstance(self.content, str):
            raise self.refused("should be a text")
        return self.content

    def value(self, *, signed: bool = False) -> Fraction:
        """A number, exactly; also one in quotes.

        Raises:
            NoFigureError: if it is negative, not finite, or beyond all reason.
            UsageError: if it is something else.
        """
        text = self.text()
        try:
            return number(text, signed=signed)
        except ValueError as error:
            refused = self.refused(f"{shown(text)} should be a number: {error}")
            raise refusal(refused, error) from None

    def count(self) -> int:
        """A whole number.

        Raises:
            UsageError: if it is something else.
        """
        value = self.value()
        if value.denominator != 1:
            raise self.refused(f"{shown(self.text())} should be a whole number")
        return value.numerator


def json_of(data: bytes, name: str) -> Node:
    """The top of the one JSON text in a file; lines before and after it are for people.

    Raises:
        UsageError: if there is none, or another one that is not the same again.
    """
    (_, first), *others = texts_of(data, name)
    for line, other in others:
        if other.content != first.content:
            raise UsageError(
                f"{name}:{line}: a second result begins here; give one alone, or each in a file of "
                "its own"
            )
    return first


def result_of(data: bytes, name: str) -> Node:
    """The same where a result is a table; also the only one in a list.

    Raises:
        UsageError: if there is none, or another one that is not the same again.
    """
    top = json_of(data, name)
    if not isinstance(top.content, list):
        return top
    first, *others = top.entries() or [top]
    if any(other.content != first.content for other in others):
        raise UsageError(
            f"{name}: a list of {len(top.content)} results; give one alone, or each in a file of "
            "its own"
        )
    return first


def texts_of(data: bytes, name: str) -> list[tuple[int, Node]]:
    """Every JSON text that begins a line of a file, with the number of that line.

    Raises:
        UsageError: if there is none, one is cut off, or nested more deeply than any tool writes.
    """
    text = text_of(data, name)
    decoder = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    found: list[tuple[int, Node]] = []
    flaw: json.JSONDecodeError | None = None
    place = 0
    while match := _BEGINS.search(text, place):
        start = match.end()
        try:
            content, place = decoder.raw_decode(text, start)
            rest = text[place:].partition("\n")[0]
            if rest.strip():
                raise json.JSONDecodeError("Extra data", text, place)
        except json.JSONDecodeError as error:
            flaw, place = flaw or error, start + 1
            if text[start] == "{":  # a line of notes may begin with a bracket
                break
        except RecursionError as error:
            raise UsageError(f"{name}: nested more deeply than any tool writes JSON") from error
        else:
            found.append((text.count("\n", 0, start) + 1, Node(name, "", content)))
    if flaw and (not found or text[place - 1] == "{"):
        raise UsageError(
            f"{name}:{flaw.lineno}: not JSON, or cut off: {flaw.msg} at column {flaw.colno}"
        )
    if not found:
        raise UsageError(f"{name}:1: not JSON, or cut off: no line begins with a brace or bracket")
    return found


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
