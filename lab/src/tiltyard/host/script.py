"""A dry run: what would be done to this host, told and not done.

Every change and every command that changes something goes through the ledger, so a ledger that
only notes them tells what a system would do. That nothing is done all the same is not left to the
systems' good behaviour: while they are asked, a hook of the interpreter (PEP 578) stops whatever
would write, make, remove or start something, and what follows is then said to be unknown.
"""

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from tiltyard.host import commands
from tiltyard.host.changes import Change
from tiltyard.host.ledger import Ledger, state_directory

C = TypeVar("C", bound=Change)

_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ACTS: Final = (
    *("os.chmod", "os.chown", "os.kill", "os.link", "os.mkdir", "os.remove", "os.rename"),
    *("os.rmdir", "os.setxattr", "os.symlink", "os.system", "os.truncate", "os.utime"),
    *("os.posix_spawn", "socket.bind", "socket.connect"),
)
_LOOKING: Final = ("findmnt", "lsblk", "od", "readlink", "wipefs", "zgrep")
"""Programs that may be asked; ours calls them only with options that look."""


class UntoldError(Exception):
    """What follows depends on what was only told; no error that a system may make something of."""


class Script(Ledger):
    """A ledger that notes what would be done."""

    def __init__(self) -> None:  # super() would open a file
        """Nothing is told yet, and no file is made."""
        self.token = "TOKEN"
        self.path = state_directory() / "none"
        self.lines: list[str] = []
        self._changes: list[Change] = []
        self.untold = ""
        """Why no more can be told; empty as long as everything is."""

    @property
    def dry(self) -> bool:
        """Yes."""
        return True

    def record(self, change: C) -> C:
        """Only remembered."""
        self._changes.append(change)
        return change

    def holds(self, change: Change) -> bool:
        """Whether it would be outstanding."""
        return change in self._changes

    def elsewhere(self) -> Iterator[tuple[int, Change]]:
        """What others changed is seen by the run itself."""
        return iter(())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nothing is recorded."""
        yield

    def undo(self, change: Change) -> str | None:
        """Tell how it would be taken back."""
        if change in self._changes:
            self._changes.remove(change)
            self._note(change.way_back)
        return None

    def unmake(self, change: Change) -> None:
        """Tell how it would be taken back for a moment."""
        self._note(change.way_back)

    def run(
        self,
        argv: Sequence[str],
        stdin: Path = Path(os.devnull),  # noqa: ARG002
        environment: Mapping[str, str] | None = None,  # noqa: ARG002
        stand_in: str = "",
    ) -> commands.Output:
        """Tell the command; its output is what stands in for it."""
        self._note(shlex.join(argv))
        return commands.Output(commands.Command(argv=tuple(argv), elapsed_s=0), stand_in, "")

    def act(self, said: str, action: Callable[[], object]) -> None:  # noqa: ARG002
        """Tell it."""
        self._note(f"# {said}")

    @property
    def hold(self) -> tuple[int, ...]:
        """No lock is held."""
        return ()

    def close(self) -> None:
        """Tell how what is left would be taken back at the end of a run."""
        while self._changes:
            self.undo(self._changes[-1])

    @contextlib.contextmanager
    def nothing_is_done(self) -> Iterator[None]:
        """Stop whatever would change this host all the same.

        Raises:
            UntoldError: from inside, at the first thing that would.
        """
        writes_bytecode = sys.dont_write_bytecode
        sys.dont_write_bytecode = True
        _watched.append(self)
        if not _hooked:
            _hooked.append(True)
            sys.addaudithook(_watch)
        try:
            yield
        finally:
            _watched.remove(self)
            sys.dont_write_bytecode = writes_bytecode

    def stop(self, at: str) -> None:
        """Tell nothing any more: what follows is only the way out of here.

        Raises:
            UntoldError: always.
        """
        self.untold = f"what follows depends on what these steps bring about ({at})"
        raise UntoldError(self.untold)

    def _note(self, line: str) -> None:
        if not self.untold:
            self.lines.append(line)


_watched: list[Script] = []
_hooked: list[bool] = []
"""A hook cannot be taken away again; it does nothing while nobody is watched."""


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """The hook: what it raises keeps the thing from being done."""
    if not _watched:
        return
    if event == "subprocess.Popen":
        program = Path(os.fsdecode(str(arguments[0]))).name
        if program not in _LOOKING:
            _watched[-1].stop(program)
    elif event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & _WRITES and path != os.devnull:
            _watched[-1].stop(f"writing {path}")
    elif event in _ACTS:
        _watched[-1].stop(f"{event} {arguments[0]}")
