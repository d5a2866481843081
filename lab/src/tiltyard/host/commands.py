"""Run one command of the host: an argument list, never a shell, and an error a person can use."""

import contextlib
import os
import re
import select
import shlex
import signal
import string
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tiltyard.address import REMARKS
from tiltyard.errors import MALFORMED, HostLacksError, TiltyardError
from tiltyard.frozen import Frozen, read_json
from tiltyard.host.packages import find_program
from tiltyard.units import format_size

_REMARK: Final = re.compile(f"warning|note|{REMARKS}", re.IGNORECASE)
LIMIT_S = 300.0
"""How long a command may take, unless its caller knows better."""
OUTPUT_BYTES = 8 * 2**20
"""As much a command may print, whatever it is and whoever has a part in it: a host with 500
processors has 3 MiB to tell."""
_LOOK_S: Final = 0.05
"""So often it is looked how much it has printed."""
LONGEST: Final = 500
"""Characters of what others say that are of use in a message."""


class Command(Frozen):
    """A command that was executed, exactly."""

    argv: tuple[str, ...]
    elapsed_s: float


class CommandFailedError(TiltyardError):
    """A command ended with a status that is not 0.

    Attributes:
        status: the exit status; negative is the signal that killed it.
        complaint: the line of its output that says why.
    """

    def __init__(self, argv: Sequence[str], status: int, complaint: str) -> None:
        """As it was called, and how it ended."""
        super().__init__(f"{shlex.join(argv)}: {complaint}")
        self.status = status
        self.complaint = complaint


class CommandLimitError(TiltyardError):
    """A command was killed: it took too long, or printed too much.

    Attributes:
        limit: what it has not kept to.
    """

    def __init__(self, argv: Sequence[str], limit: str) -> None:
        """As it was called."""
        super().__init__(f"{shlex.join(argv)}: {limit}, so it was killed")
        self.limit = limit


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


def run(
    argv: Sequence[str],
    *,
    stdin: Path = Path(os.devnull),
    timeout_s: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Output:
    """Run a command to its end.

    It gets a session of its own, so that Ctrl-C in the terminal does not reach a half-done mkfs or
    an umount; the caller decides what an interrupt means. What it says goes into memory and not
    through a pipe, which would kill it (SIGPIPE) in the middle of its work when we are killed.

    Args:
        argv: program and arguments.
        stdin: file that it reads.
        timeout_s: after this it is killed, and that is an error; :data:`LIMIT_S` if left out.
        environment: instead of ours; messages are in English either way.

    Raises:
        HostLacksError: if there is no such program.
        CommandFailedError: if it fails; the message has its complaint.
        CommandLimitError: if it takes too long, or prints more than :data:`OUTPUT_BYTES`.
    """
    program = find_program(argv[0])
    if program is None:
        raise HostLacksError(f'there is no program "{argv[0]}" on this host')
    began = time.monotonic()
    give_up = began + (LIMIT_S if timeout_s is None else timeout_s)
    with stdin.open("rb") as reads, _in_memory() as told, _in_memory() as complained:
        process = subprocess.Popen(
            argv,
            executable=program,
            stdin=reads,
            stdout=told,
            stderr=complained,
            env={**(environment or os.environ), "LC_ALL": "C"},
            start_new_session=True,
        )
        try:
            if excess := _excess(process, give_up, (told, complained)):
                raise CommandLimitError(argv, excess.format(give_up - began))
        finally:
            # Whatever it has started has its session, and may hold what it prints to open.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        stdout, stderr = _text(told), _text(complained)
    if status != 0:
        # What a signal has cut off is a part of a result and no reason.
        why = stderr or (stdout if status > 0 else "")
        raise CommandFailedError(argv, status, complaint(why, status))
    elapsed_s = time.monotonic() - began
    return Output(Command(argv=tuple(argv), elapsed_s=elapsed_s), stdout, stderr)


def _excess(process: "subprocess.Popen[bytes]", give_up: float, said: Sequence[int]) -> str | None:
    """Wait for its end, and what it was too much of."""
    ended = os.pidfd_open(process.pid)
    try:
        (poll := select.poll()).register(ended, select.POLLIN)
        while True:
            has_ended = bool(poll.poll(_LOOK_S * 1e3))
            if any(os.fstat(each).st_size > OUTPUT_BYTES for each in said):
                return f"it prints more than {format_size(OUTPUT_BYTES)}"
            if has_ended:
                return None
            if time.monotonic() > give_up:
                return "not done after {:g} s"
    finally:
        os.close(ended)


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


@contextlib.contextmanager
def _in_memory() -> Iterator[int]:
    """A file that is nowhere else: memfd_create(2)."""
    file = os.memfd_create("said")
    try:
        yield file
    finally:
        os.close(file)


def _text(said: int) -> str:
    """Output as text, whatever its bytes; separators that are no blanks stay at its ends."""
    text = os.pread(said, OUTPUT_BYTES, 0).decode(errors="replace")
    return text.strip(string.whitespace)


def complaint(text: str, status: int) -> str:
    """The line that says why: the first that is no remark; help and hints come after it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    why = next((line for line in lines if not _REMARK.match(line)), f"exit status {status}")
    return why[:LONGEST]
