"""One execution of IOzone in a file: what its banner says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tiltyard.importers.quantities import KIB_S, MICROSECONDS, PER_S, Unit
from tiltyard.importers.reading import Line
from tiltyard_readers.iozone.columns import TESTS

BEGINS: Final = re.compile(r"\s*Iozone: (?:Performance Test|command line) of .*")
_VERSION: Final = re.compile(r"Version \$Revision: (\d+)\.\s*(\d+)")
_WITH_VALUE: Final = frozenset("bdfFgHijJklLnPqrsStuUVXyY")
"""Options of one letter that take the rest of the word, or the next one."""
_MODES: Final = (
    ("O_DIRECT feature enabled", "direct"),
    ("SYNC Mode.", "O_SYNC"),
    ("Include fsync in write timing", "fsync timed"),
    ("Include close in write timing", "close timed"),
    ("Using mmap files", "mmap"),
    ("POSIX Async I/O", "async"),
    ("POSIX async I/O", "async"),
    ("Purge Mode On", "purge"),
)
"""What a line of the banner says, and what it makes of the figures."""
_OPTION_MODES: Final = {
    "I": "direct", "o": "O_SYNC", "e": "fsync timed", "c": "close timed", "B": "mmap",
    "D": "mmap", "H": "async", "k": "async", "p": "purge",
}  # fmt: skip


@dataclass(frozen=True)
class Session:
    """The lines of one execution."""

    lines: Sequence[Line]

    @cached_property
    def version(self) -> str:
        """``3.489``; empty where the banner is not there."""
        found = self._found(_VERSION)
        return f"{found[1]}.{found[2]}" if found else ""

    @property
    def version_number(self) -> tuple[int, int] | None:
        """The same, to compare."""
        major, _, minor = self.version.partition(".")
        return (int(major[:9]), int(minor[:9])) if minor else None

    @cached_property
    def command(self) -> str:
        """The command line that it echoes; empty where it is not there."""
        found = self._found(re.compile(r"\s*Command line used: (.+)"))
        return found[1].strip() if found else ""

    @cached_property
    def unit(self) -> Unit:
        """In which figures are printed."""
        if self._says("microseconds per operation"):
            return MICROSECONDS
        return PER_S if self._says("operations per second") else KIB_S

    @cached_property
    def modes(self) -> tuple[str, ...]:
        """What changes the meaning of a figure, whatever the order of options: ``direct``."""
        told = {word for text, word in _MODES if self._says(text)}
        typed = {_OPTION_MODES[letter] for letter, _ in self._options if letter in _OPTION_MODES}
        return tuple(dict.fromkeys(word for _, word in _MODES if word in told | typed))

    @cached_property
    def selected(self) -> frozenset[int]:
        """The tests that were to be executed; all, where the command line does not say.

        IOzone reads the digits that a value begins with: ``-i 0,1`` is test 0 alone.
        """
        typed = [value for letter, value in self._options if letter == "i"]
        chosen = {int(digits[0]) for value in typed if (digits := re.match(r"\d{1,2}", value))}
        return frozenset(chosen or (test.number for test in TESTS))

    @cached_property
    def _options(self) -> list[tuple[str, str]]:
        """Letters of the command line with their values."""
        words = iter(self.command.split()[1:])
        found = []
        for word in words:
            if not word.startswith("-") or word.startswith("-+"):
                continue
            for place, letter in enumerate(word[1:], 2):
                if letter in _WITH_VALUE:
                    found.append((letter, word[place:] or next(words, "")))
                    break
                found.append((letter, ""))
        return found

    def _says(self, text: str) -> bool:
        return any(text in line.text for line in self.lines)

    def _found(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return next(
            (match for line in self.lines if (match := pattern.search(line.text))),
            None,
        )
