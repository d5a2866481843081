"""A command of a host that was executed, and what others say as a person can use it."""

import contextlib
import re
import shlex
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tiltyard.address import REMARKS
from tiltyard.errors import MALFORMED, HostLacksError, TiltyardError
from tiltyard.frozen import Frozen, read_json

_REMARK: Final = re.compile(f"warning|note|{REMARKS}", re.IGNORECASE)
LONGEST: Final = 500
"""Characters of what others say that are of use in a message."""


class Command(Frozen):
    """A command that was executed, exactly."""

    argv: tuple[str, ...]
    elapsed_s: float


@dataclass(frozen=True)
class Output:
    """What a command left behind."""

    command: Command
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """What it printed as JSON.

        Raises:
            TiltyardError: if it is none.
        """
        try:
            return read_json(self.stdout)
        except ValueError as error:
            line = shlex.join(self.command.argv)
            raise TiltyardError(f"{line}: {error}") from error


@contextlib.contextmanager
def understood(who: str) -> Iterator[None]:
    """What is read of an answer in it was written by somebody else.

    Args:
        who: has answered.

    Raises:
        HostLacksError: instead of whatever reading it has raised.
    """
    try:
        yield
    except MALFORMED as error:
        raise HostLacksError(
            f"{who} has answered what cannot be read: {shown(str(error))}"
        ) from None


def shown(text: str, most: int = LONGEST) -> str:
    """The beginning of what somebody else has said, in one line, for a message."""
    return " ".join(text[: 2 * most].split())[:most]


def signal_name(number: int) -> str:
    """``SIGKILL``; many numbers have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def complaint(text: str, status: int) -> str:
    """The line that says why: the first that is no remark; help and hints come after it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    why = next((line for line in lines if not _REMARK.match(line)), f"exit status {status}")
    return why[:LONGEST]
