"""Run one command of the host: an argument list, never a shell, and an error a person can use."""

import contextlib
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.frozen import Frozen, read_json
from tiltyard.host.packages import find_program

_REMARK = re.compile(
    "warning|note|@|it is (also )?possible|someone could|the fingerprint|sha256:|please contact|"
    "add correct|offending|remove with|ssh-keygen",
    re.IGNORECASE,
)
"""What ssh says of a changed key, before the line that says so, is among them."""
SSH_FAILED: Final = 255
"""Exit status of ssh when it is ssh that failed, and not the command there (ssh(1))."""


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
    timeout_s: float = 300,
    hold: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
) -> Output:
    """Run a command to its end.

    It gets a session of its own, so that Ctrl-C in the terminal does not reach a half-done mkfs or
    an umount; the caller decides what an interrupt means. What it says goes into memory and not
    through a pipe, which would kill it (SIGPIPE) in the middle of its work when we are killed.

    Args:
        argv: program and arguments.
        stdin: file that it reads.
        timeout_s: after this it is killed, and that is an error.
        hold: file descriptors that the command keeps open, so that locks on them outlive us.
        environment: instead of ours; messages are in English either way.

    Raises:
        HostLacksError: if there is no such program.
        CommandFailedError: if it fails; the message has its complaint.
        TiltyardError: if it takes too long.
    """
    program = find_program(argv[0])
    if program is None:
        raise HostLacksError(f'there is no program "{argv[0]}" on this host')
    line = shlex.join(argv)
    began = time.monotonic()
    try:
        with stdin.open("rb") as reads, _in_memory() as told, _in_memory() as complained:
            done = subprocess.run(
                argv,
                executable=program,
                stdin=reads,
                stdout=told,
                stderr=complained,
                timeout=timeout_s,
                env={**(environment or os.environ), "LC_ALL": "C"},
                start_new_session=True,
                pass_fds=tuple(hold),
                check=False,
            )
            stdout, stderr = _text(told), _text(complained)
    except subprocess.TimeoutExpired:
        raise TiltyardError(f"{line}: not done after {timeout_s:g} s, so it was killed") from None
    if (status := done.returncode) != 0:
        # What a signal, or ssh, has cut off is a part of a result and no reason.
        why = stderr or (stdout if 0 < status < SSH_FAILED else "")
        raise CommandFailedError(argv, status, complaint(why, status))
    elapsed_s = time.monotonic() - began
    return Output(Command(argv=tuple(argv), elapsed_s=elapsed_s), stdout, stderr)


@contextlib.contextmanager
def _in_memory() -> Iterator[int]:
    """A file that is nowhere else: memfd_create(2)."""
    file = os.memfd_create("said")
    try:
        yield file
    finally:
        os.close(file)


def _text(said: int) -> str:
    """Output as text, whatever its bytes."""
    return os.pread(said, os.fstat(said).st_size, 0).decode(errors="replace").strip()


def complaint(text: str, status: int) -> str:
    """The line that says why: the first that is no remark; help and hints come after it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if not _REMARK.match(line)), f"exit status {status}")
