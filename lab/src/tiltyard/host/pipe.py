"""A pipe to the engine's agent of a host: lines to it, and lines that bear the mark of its own.

How it ends is told apart: another host that is not reached, one that lacks something, and an agent
that has ended or does not answer.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Final, NoReturn

from pydantic import ValidationError

from tiltyard.address import Address
from tiltyard.errors import HostLacksError, UnreachableError
from tiltyard.executors.stderr_tail import StderrTail
from tiltyard.host.commands import complaint, shown
from tiltyard.wire import RECORD_SEPARATOR, HostLine

THIS: Final = "this host"
_ANSWER_BYTES: Final = 9 * 2**20
"""More than its longest line, which has 8 MiB: a host with 500 processors has 3 to tell."""
STALLED_S: Final = 60.0
"""So long it may take nothing of what it is told, and say nothing where it need not do anything."""
_GRACE_S: Final = 5.0
_TAKES_BACK_S: Final = 300.0
"""So long one on this host may take for a command of its ops that is to come to its end."""
_WORDS_S: Final = 1.0
_CHUNK: Final = 1 << 20


class Pipe:
    """It leads to a process, which ends with its input, and so with us."""

    def __init__(
        self, argv: Sequence[str], name: str, reach: Address | None, pass_fds: Sequence[int]
    ) -> None:
        """Start it; see :class:`tiltyard.host.host.Host`.

        Raises:
            HostLacksError: if it cannot be started.
        """
        self.name = name
        self._reach = reach
        self._has_begun = False
        """Whether it has said what it is; where it ends after that it is lost, whatever ends it."""
        self.hold: tuple[int, ...] = ()
        """File descriptors that what works here for us keeps open: at its end it waits for that."""
        self._rest = b""
        program = shutil.which(argv[0])
        if program is None:
            raise HostLacksError(f'there is no program "{argv[0]}" on this host')
        self._words = StderrTail()
        try:
            self._process = subprocess.Popen(
                argv,
                executable=program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words.into,
                start_new_session=True,
                pass_fds=pass_fds,
                bufsize=0,
            )
        except OSError as error:
            self._words.abandon()
            raise HostLacksError(f"{program}: cannot be started: {error.strerror}") from None
        except BaseException:
            self._words.abandon()
            raise
        self._words.begin()
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)

    @property
    def pid(self) -> int:
        """The process of this host that is it, or leads to it."""
        return self._process.pid

    @property
    def is_there(self) -> bool:
        """Whether it can be asked."""
        assert self._process.stdin is not None
        return not self._process.stdin.closed and self._process.poll() is None

    def _tell(self, line: bytes) -> None:
        """Write to it; one that has ended is lost, and so is one that takes nothing."""
        assert self._process.stdin is not None
        left = memoryview(line)
        try:
            (poll := select.poll()).register(self._process.stdin, select.POLLOUT)
            while left:
                if not poll.poll(STALLED_S * 1e3):
                    raise self._silent("it does not read what it is told")
                left = left[os.write(self._process.stdin.fileno(), left) :]
        except (BrokenPipeError, ValueError):  # The latter of a pipe that we have closed.
            self._ended()

    def _heard(self, limit_s: float) -> HostLine:
        """The next line that is an agent's.

        Raises:
            HostLacksError: if there is none.
        """
        line = self._own(limit_s)
        try:
            return HostLine.model_validate_json(line)
        except ValidationError:
            raise self._lost(f'"{shown(line.decode(errors="replace"))}" is no answer') from None

    def _own(self, limit_s: float) -> bytes:
        """The next line, which begins with the mark of its own lines."""
        give_up = time.monotonic() + limit_s
        assert self._process.stdout is not None
        while not self._has_line():
            left_s = give_up - time.monotonic()
            if left_s <= 0 or not self._waits(left_s):
                raise self._silent(f"it has not answered for {limit_s:g} s")
            if not (chunk := os.read(self._process.stdout.fileno(), _CHUNK)):
                self._ended()
            self._rest += chunk
            if len(self._rest) > _ANSWER_BYTES:
                raise self._lost("its answer does not end")
        line, _, self._rest = self._rest.partition(b"\n")
        noise, mark, own = line.partition(RECORD_SEPARATOR)
        if mark and not noise:
            return own
        said = shown(line.decode(errors="replace"))
        if self._reach:
            self._kill()
            raise self._reach.noise(said, "an answer should be")
        raise self._lost(f'"{said}" is no answer')

    def _has_line(self) -> bool:
        """Whether one is here, and was not looked at."""
        return b"\n" in self._rest

    def _waits(self, limit_s: float) -> bool:
        """Whether there is something to read by then."""
        (poll := select.poll()).register(self._process.stdout or 0, select.POLLIN)
        return bool(poll.poll(limit_s * 1e3))

    def _lost(self, why: str) -> HostLacksError:
        """It is of no use any more."""
        self._kill()
        said = self._words.line(-1, _WORDS_S)
        self.close()
        return HostLacksError(f"the engine's agent on {self.name}: {why}{said and f': {said}'}")

    def _silent(self, why: str) -> HostLacksError:
        """The same of one that says nothing: another host may not be reached any more."""
        lost = self._lost(why)
        return (
            UnreachableError(f"lost the connection to {self.name}: {why}") if self._reach else lost
        )

    def _ended(self) -> NoReturn:
        """It has closed its pipes, and whatever leads to it has ended or is about to."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_WORDS_S)
        status = self._process.poll()
        if self._reach is None or status is None:
            raise self._lost("it has ended")
        said = complaint(self._words.heard(_WORDS_S), status)
        self.close()
        if self._reach.is_lost(status, said):
            raise UnreachableError(f"cannot reach {self.name}: {said}")
        if self._has_begun:
            raise UnreachableError(f"the engine's agent on {self.name} has ended: {said}")
        raise HostLacksError(f"{self.name}: {said}")

    def _kill(self) -> None:
        """It, and on the way to another host whatever leads there."""
        if self._process.poll() is None:
            if self._reach:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def close(self) -> None:
        """End it, and wait for its end. Harmless when it has ended."""
        self._let_go()
        try:
            self._process.wait(_GRACE_S if self._reach else _TAKES_BACK_S)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()

    def _let_go(self) -> None:
        """Ask for nothing more: it ends, and takes back what it has changed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        for descriptor in self.hold:
            os.close(descriptor)
        self.hold = ()
