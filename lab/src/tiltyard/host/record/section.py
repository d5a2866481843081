"""What a section of the system record is: what it asks of a host, and what it tells of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tiltyard.host.packages import Tool

ABSENT: Final = "not available"
"""The value of a fact that a host does not tell."""

Command = tuple[str, ...]


@dataclass(frozen=True)
class RecordRequest:
    """Whose record it is."""

    directory: Path = Path("/")
    """A directory there, on the file system that will be worked on; resolved."""
    tools: tuple[Tool, ...] = ()
    """Programs whose versions matter."""
    own: Mapping[str, str] = field(default_factory=dict)
    """Versions of what is not there as a program: the lab, its libraries, the engine."""


@dataclass(frozen=True)
class Seen:
    """What a host has answered. What it does not have is not in here."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Path → text without blanks at its ends; empty files are left out."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Path of whatever exists → where it really is."""
    answers: Mapping[Command, str] = field(default_factory=dict)
    """Command that succeeded → what it printed."""
    subject: RecordRequest = RecordRequest()

    def file(self, path: str) -> str:
        """The text of a file, or that it is not available."""
        return self.files.get(path, ABSENT)

    def chosen(self, path: str) -> str:
        """Of a choice such as ``none [mq-deadline] kyber`` the one in brackets."""
        text = self.file(path)
        return text.partition("[")[2].partition("]")[0] or text

    def field(self, path: str, name: str) -> str:
        """The first value of a ``name: value`` line of a file, or that it is not available."""
        return fields(self.files.get(path, "")).get(name, ABSENT)

    def answer(self, command: Command) -> str:
        """What a command printed; empty if it could not be asked."""
        return self.answers.get(command, "")

    def names(self, directory: str) -> list[str]:
        """Entries of a directory that is listed in :attr:`Section.links`, in order."""
        inside = f"{directory}/"
        found = {
            path.removeprefix(inside).partition("/")[0]
            for path in self.links
            if path.startswith(inside)
        }
        return sorted(found, key=_natural)


@dataclass(frozen=True)
class Section:
    """One line of :data:`tiltyard.host.record.SECTIONS`.

    Nothing is read but what is listed here: some files of ``/sys`` act when they are read.
    """

    name: str
    tell: Callable[[Seen], dict[str, str]]
    """Facts, from what was seen; it reads nothing itself."""
    files: tuple[str, ...] = ()
    """Files that do nothing when they are read; ``*`` stands for any part of one name."""
    links: tuple[str, ...] = ()
    """What may exist, and where it leads; it is not opened."""
    limits: tuple[str, ...] = ()
    """Files of the control group of whoever reads, and of all above it."""
    ask: Callable[[Seen], list[Command]] = lambda _: []
    """Commands that only tell, chosen by the files and links of this section."""
    volatile: frozenset[str] = frozenset()
    """Facts that change from one moment to the next."""
    unsettled: Callable[[Mapping[str, str]], frozenset[str]] = lambda _facts: frozenset()
    """Those that do so only on a host that has these facts."""


def fields(text: str) -> dict[str, str]:
    """The ``name: value`` lines of a text; of lines of one name the first."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def because(reason: str) -> str:
    """The value of a fact of which it is known why the host does not tell it."""
    return f"{ABSENT}, because {reason}"


def either(*values: str) -> str:
    """The first value that is available."""
    return next((value for value in values if value not in ("", ABSENT)), ABSENT)


def joined(*values: str, between: str = " ") -> str:
    """The values that are available, in a row."""
    return between.join(value for value in values if value not in ("", ABSENT)) or ABSENT


def _natural(name: str) -> tuple[str, int, str]:
    """Order of names that end in numbers: cpu2 before cpu10."""
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or -1), name
