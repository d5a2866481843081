"""Start the server of a connection, and end it: an engine that serves."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence

from pydantic import ValidationError

from tiltyard.errors import TiltyardError
from tiltyard.executors.words import MESSAGE, MESSAGE_BYTES, Words
from tiltyard.units import format_size
from tiltyard.wire import PROTOCOL, Listening, ListeningLine

_BEGINS_S = 60.0
"""How long it may take until it listens; a connection by ssh takes its time, and so does a host
whose CPUs are not free."""
_ENDS_S = 20.0
"""How long it may take to end at the end of its input; no figure of a trial waits for that."""
_WORDS_S = 2.0
"""How long what it has started may hold its standard error open."""
_CHUNK = 4096


def _port(listening: Listening) -> int:
    """Of the first address."""
    return int(listening.addresses[0].rpartition(":")[2])


class FarEngine:
    """An engine that serves for as long as its standard input is open.

    It ends when we close it, and also when we die: then the kernel closes it.
    """

    def __init__(self, argv: Sequence[str], first_words: bytes = b"") -> None:
        """Start it and wait until it listens.

        Args:
            argv: the command that serves and ends at the end of its input.
            first_words: what it reads first.

        Raises:
            TiltyardError: if it does not listen; the message has its own words.
        """
        self._words = Words()
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words.into,
                start_new_session=True,
            )
        except BaseException:
            self._words.abandon()
            raise
        self._words.begin()
        try:
            self._say(first_words)
            self.listening = self._await()
        except BaseException:
            self.stop()
            raise

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return _port(self.listening)

    def stop(self) -> None:
        """End it and wait for its end; harmless when it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        # Whoever still writes there ends by that.
        self._process.stdout.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                self._process.wait(_ENDS_S)
                break
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, number)
        self._process.wait()

    def _say(self, words: bytes) -> None:
        """Write to its input; one that has ended already is found out by its silence."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(words)
            self._process.stdin.flush()

    def _await(self) -> Listening:
        """Its first line."""
        line = self._first_line()
        try:
            listening = ListeningLine.model_validate_json(line).data
            _port(listening)
        except (ValidationError, LookupError, ValueError):
            said = line.decode(errors="replace").strip()[:MESSAGE] or self._complaint()
            raise TiltyardError(f"the server does not listen: {said}") from None
        if listening.protocol != PROTOCOL:
            raise TiltyardError(
                f"the server speaks protocol {listening.protocol}, this lab speaks {PROTOCOL}"
            )
        return listening

    def _first_line(self) -> bytes:
        """What it says first; empty if it ends without a word."""
        assert self._process.stdout is not None
        stdout = self._process.stdout.fileno()
        give_up = time.monotonic() + _BEGINS_S
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(give_up - time.monotonic()):
                    raise TiltyardError(f"the server does not listen after {_BEGINS_S:g} s")
                if not (chunk := os.read(stdout, _CHUNK)):
                    return line
                line += chunk
                if len(line) > MESSAGE_BYTES:
                    most = format_size(MESSAGE_BYTES)
                    raise TiltyardError(f"the server does not listen: it says more than {most}")
        return line

    def _complaint(self) -> str:
        """The first line that it wrote for people; help comes after it."""
        try:
            ended = f"it ended with status {self._process.wait(_ENDS_S)}"
        except subprocess.TimeoutExpired:
            ended = "it says nothing"
        return self._words.line(0, _WORDS_S) or ended
