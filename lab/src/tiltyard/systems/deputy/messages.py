"""What a deputy says, as data: systems that are up, problems, and errors that come back as such.

And its own end of the pipes that this goes through.
"""

import contextlib
import os
import selectors
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, JsonValue

from tiltyard.errors import (
    BusyError,
    HostLacksError,
    InterruptedRunError,
    NotRestoredError,
    RefusedError,
    TiltyardError,
    TrialsFailedError,
    UsageError,
)
from tiltyard.executors.engine import FarEnd, FarPlace
from tiltyard.frozen import Frozen
from tiltyard.host.commands import Command, shown
from tiltyard.host.processes import Process
from tiltyard.recipe import Recipe

_KINDS: Final = {
    kind.__name__: kind
    for kind in (
        *(BusyError, HostLacksError, NotRestoredError, RefusedError),
        *(TrialsFailedError, UsageError, TiltyardError),
    )
}
"""What may fail over there. That this run is interrupted, or boots, is said here only."""
_TEXT: Final = 2000
"""Characters of an error."""
_Word = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00]+$")]
"""Of a command, as an operating system takes it."""
_Words = Annotated[tuple[_Word, ...], Field(max_length=64)]
LEASE_S = 900.0
"""After so long without a word a deputy ends by itself: some ways break without ending its
input."""
_BEAT_S: Final = 15.0
"""So often whoever waits for an answer is told that it is there."""


class Message(Frozen):
    """Base of all of them."""


class Failure(Message):
    """An error over there."""

    kind: str
    """Name of its class, or of what that is derived from, among those that may fail there."""
    text: str

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        """As it will be raised here; one that is none of ours is a line of text."""
        names = (each.__name__ for each in type(error).__mro__ if each.__name__ in _KINDS)
        text = str(error)[:_TEXT] or type(error).__name__
        return cls(kind=next(names, TiltyardError.__name__), text=text)

    def error(self, host: str) -> TiltyardError:
        """The error, with the host it is of."""
        known = _KINDS.get(self.kind, HostLacksError)
        return known(f"{host}: {shown(self.text, _TEXT)}")


class Request(Message):
    """What a deputy is asked for."""

    do: str
    system: str = ""
    """Name of the system that it is about."""
    given: dict[str, JsonValue] = Field({})


class Hello(Message):
    """What a deputy says first."""

    process: Process
    directory: Path
    """Where it has its copy, its scratch folder and what it is told of the study folder."""
    recovered: tuple[str, ...] = ()
    """What an earlier run had left changed on that host."""


class Answer(Message):
    """One line of a deputy; one of these."""

    hello: Hello | None = None
    note: str | None = None
    """What a person should know meanwhile."""
    beat: bool = False
    """That it is there, and works."""
    failed: Failure | None = None
    done: JsonValue = None
    """What was asked for, where nothing else stands in the line."""


class UpThere(Message):
    """A system that is up on another host: what :class:`tiltyard.systems.kind.Up` says of it."""

    target: Path | FarEnd
    commands: tuple[Command, ...]
    facts: dict[str, str]
    failed_boots: tuple[str, ...] = ()
    prefix: _Words = ()
    engine: _Words
    cpus: tuple[int, ...] = ()
    variables: dict[str, str] = Field({})
    far_place: FarPlace | None = None
    is_served: bool = False
    """Whether it is nothing without processes, so that it is asked whether they live."""
    recipe: Recipe = Recipe()


def line(said: BaseModel) -> bytes:
    """As it goes through the pipe."""
    return said.model_dump_json(exclude_defaults=True).encode() + b"\n"


def plain(value: Any) -> JsonValue:
    """What stands in :attr:`Answer.done`."""
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


class Pipe:
    """Requests that come, and lines that go.

    Whatever else writes to the standard output writes to the standard error.
    """

    def __init__(self) -> None:
        """Take both over; nothing that is started here has them."""
        self._in, self._out = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        self._saying = threading.Lock()
        self._wakes, self._woken = os.pipe()
        for end in (self._wakes, self._woken):
            os.set_blocking(end, False)
        self._heard = b""
        self._heard_at = time.monotonic()
        self._ended = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._in, selectors.EVENT_READ)
        self._selector.register(self._wakes, selectors.EVENT_READ)

    def __enter__(self) -> "Pipe":
        """End with signals as with the input."""
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._end)
        return self

    def __exit__(self, *_: object) -> None:
        """It ends with the process."""

    def _end(self, *_: object) -> None:
        self._ended = True

    def requests(self) -> Iterator[Request]:
        """One after the other, until the end."""
        while (request := self._next(LEASE_S)) is not None or not self._ended:
            if request is None:
                return
            if request.do not in ("beat", "interrupt"):
                yield request

    def check(self) -> None:
        """Between two steps of what is asked for.

        Raises:
            InterruptedRunError: if nobody wants it any more.
        """
        while (request := self._next(0)) is not None:
            if request.do == "interrupt":
                raise InterruptedRunError("interrupted")
        if self._ended or time.monotonic() - self._heard_at > LEASE_S:
            self._ended = True
            raise InterruptedRunError("the connection has ended")

    def _next(self, wait_s: float) -> Request | None:
        """The next one; ``None`` if none has come in time, or none will."""
        while True:
            text, newline, rest = self._heard.partition(b"\n")
            if newline:
                self._heard = rest
                return Request.model_validate_json(text)
            if self._ended or not self._read(wait_s):
                return None

    def _read(self, wait_s: float) -> bool:
        """Whether more has come."""
        for key, _ in self._selector.select(wait_s):
            if key.fd == self._in:
                chunk = os.read(self._in, 1 << 16)
                self._heard += chunk
                self._heard_at = time.monotonic()
                self._ended = self._ended or not chunk
                return bool(chunk)
        return False

    def say(self, said: Answer) -> None:
        """A line; if nobody reads it, that is the end."""
        left = memoryview(line(said))
        try:
            with self._saying:
                while left:
                    left = left[os.write(self._out, left) :]
        except OSError:
            self._ended = True

    @contextlib.contextmanager
    def beating(self) -> Iterator[None]:
        """Say meanwhile that we are here; between requests nothing wakes the host."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(_BEAT_S):
                self.say(Answer(beat=True))

        (thread := threading.Thread(target=beat, daemon=True)).start()
        try:
            yield
        finally:
            over.set()
            thread.join()
