"""Which line of a TOML text a key stands in. :mod:`tomllib` reads values but tells no lines.

The text has been read by ``tomllib`` before, so this scanner need not judge it: it only has to
know where keys, values and tables begin and end (TOML 1.0, https://toml.io/en/v1.0.0).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

KeyPath = tuple[str | int, ...]
"""Keys from the top; a number is a place in a list, counted from 0."""

_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


@dataclass(frozen=True)
class Lines:
    """Lines of all keys and list items of a text, counted from 1; found when one is asked for."""

    text: str

    @cached_property
    def by_path(self) -> Mapping[KeyPath, int]:
        """All of them."""
        scanner = _Scanner(self.text)
        scanner.document()
        return scanner.lines

    def known(self, path: KeyPath) -> KeyPath:
        """As much of a path as is in the text."""
        return next((path[:n] for n in range(len(path), 0, -1) if path[:n] in self.by_path), ())

    def of(self, path: KeyPath) -> int:
        """The line of a key; of what encloses it if it is not in the text; else the first line."""
        return self.by_path.get(self.known(path), 1)


def locate(text: str) -> Lines:
    """Lines of all keys and list items of a well-formed TOML text.

    A table's line is its header's, or that of the first dotted key which implies it; a list
    item's is the one in which the item begins.
    """
    return Lines(text)


class _Scanner:
    """Walks over a text once and notes where things begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.tables_in: dict[KeyPath, int] = {}
        """How many ``[[tables]]`` an array has so far."""
        self._lines_before = 0
        self._counted_to = 0

    def document(self) -> None:
        """Headers and the pairs under them, to the end of the text."""
        table: KeyPath = ()
        while self._skip(_BLANK) < len(self.text):
            if self.text.startswith("[[", self.at):
                table = self._array_header()
            elif self._next() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> KeyPath:
        """``[a.b]``: the path that the pairs below it belong to."""
        line = self._line()
        self.at += len("[")
        path = self._within_arrays(self._keys())
        self.at += len("]")
        self._note(path, line)
        return path

    def _array_header(self) -> KeyPath:
        """``[[a.b]]``: like a header, with the new item's place in the path."""
        line = self._line()
        self.at += len("[[")
        *outer, name = self._keys()
        array = (*self._within_arrays(outer), name)
        self.at += len("]]")
        place = self.tables_in.get(array, 0)
        self.tables_in[array] = place + 1
        self._note((*array, place), line)
        return (*array, place)

    def _within_arrays(self, keys: list[str]) -> KeyPath:
        """The path of a header's keys: an array of tables stands for its latest item."""
        path: KeyPath = ()
        for key in keys:
            path = (*path, key)
            if path in self.tables_in:
                path = (*path, self.tables_in[path] - 1)
        return path

    def _pair(self, table: KeyPath) -> None:
        """``key = value`` or ``a.b.c = value``."""
        line = self._line()
        path = (*table, *self._keys())
        self._note(path, line)
        self.at += len("=")
        self._skip(_SPACE)
        self._value(path)

    def _keys(self) -> list[str]:
        """The keys of ``a . "b c" . d``; stops after the last."""
        keys: list[str] = []
        while True:
            self._skip(_SPACE)
            if self._next() in "\"'":
                keys.append(tomllib.loads(f"key = {self._take(_STRING)}")["key"])
            else:
                keys.append(self._take(_BARE_KEY))
            self._skip(_SPACE)
            if self._next() != ".":
                return keys
            self.at += len(".")

    def _value(self, path: KeyPath) -> None:
        """Any value; lists and inline tables note what is in them."""
        if self._next() == "[":
            self._array(path)
        elif self._next() == "{":
            self._inline_table(path)
        elif self._next() in "\"'":
            self._take(_STRING)
        else:
            self._take(_SCALAR)
        self._skip(_SPACE)

    def _array(self, path: KeyPath) -> None:
        """``[ value, value, ]``, over as many lines as it likes."""
        self.at += len("[")
        place = 0
        while self._skip_to_item() != "]":
            self._note((*path, place), self._line())
            self._value((*path, place))
            place += 1
        self.at += len("]")

    def _inline_table(self, path: KeyPath) -> None:
        """``{ key = value, key = value }``."""
        self.at += len("{")
        while self._skip_to_item() != "}":
            self._pair(path)
        self.at += len("}")

    def _skip_to_item(self) -> str:
        """The character at which the next item, or the end of the list, begins."""
        self._skip(_BLANK)
        if self._next() == ",":
            self.at += len(",")
            self._skip(_BLANK)
        return self._next()

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> int:
        """Go past a pattern that may be empty; the place after it."""
        self._take(pattern)
        return self.at

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Go past a pattern; what it matched."""
        match = pattern.match(self.text, self.at)
        if match is None:
            raise AssertionError(f"not TOML at character {self.at}: tomllib would have refused it")
        self.at = match.end()
        return match[0]

    def _line(self) -> int:
        """Counted on from where it was asked for last: the scanner never goes back."""
        self._lines_before += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        return self._lines_before + 1

    def _note(self, path: KeyPath, line: int) -> None:
        """Remember where a path, and all that it implies, was seen first."""
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)
