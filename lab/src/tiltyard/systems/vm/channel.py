"""The channel between lab and guest: two pipes, and one JSON document a line.

What may be said is defined in the engine (``engine/guest/src/message.rs``).
"""

import json
import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tiltyard.errors import TiltyardError
from tiltyard.executors.words import MESSAGE_BYTES
from tiltyard.frozen import Frozen
from tiltyard.units import format_size

VERSION: Final = 1
_TICK_S = 0.1
_CHUNK = 1 << 16

T = TypeVar("T")


class _Said(Frozen):
    """Base of what a guest says."""


class Hello(_Said):
    """Its first words."""

    version: int
    engine: str
    troubles: tuple[str, ...]


class _Done(_Said):
    id: str
    found: dict[str, str] = Field({})


class _Refused(_Said):
    id: str
    message: str


class _Words(BaseModel):
    """One of these, under the name of its sort."""

    model_config = ConfigDict(frozen=True, extra="allow")

    hello: Hello | None = None
    done: _Done | None = None
    refused: _Refused | None = None


class _Line(BaseModel):
    guest: _Words


class Lost(TiltyardError):  # noqa: N818  it reads as what happened
    """There is no guest any more, or it says nothing."""


class Ended(Lost):
    """There is no guest any more."""


class Channel:
    """The lab's end. It is open only while something is asked, so that trials have it meanwhile."""

    def __init__(
        self, path: Path, check: Callable[[], None], has_ended: Callable[[], bool]
    ) -> None:
        """Nothing is touched yet.

        Args:
            path: of the pipes, without ``.in`` and ``.out``.
            check: called while waiting; raises if a person has asked to stop.
            has_ended: whether the machine has; its helpers may still hold the pipes open.
        """
        self._has_ended = has_ended
        self._into = path.with_name(path.name + ".in")
        self._out_of = path.with_name(path.name + ".out")
        self._check = check
        self._asked = 0

    def make(self) -> tuple[int, int]:
        """Make the pipes; descriptors into the guest and out of it, open to read and write."""
        for path in (self._into, self._out_of):
            os.mkfifo(path, 0o600)
        return os.open(self._into, os.O_RDWR), os.open(self._out_of, os.O_RDWR)

    def remove(self) -> None:
        """Remove the pipes of a machine that has ended; :meth:`make` makes others."""
        for path in (self._into, self._out_of):
            path.unlink()

    def hello(self, limit_s: float) -> Hello:
        """Wait for the guest's first words.

        Raises:
            Ended: if it ends before.
            Lost: if it says nothing for so long.
            TiltyardError: if it speaks another version.
        """
        out_of = os.open(self._out_of, os.O_RDONLY | os.O_NONBLOCK)
        try:
            hello = self._hear(out_of, limit_s, lambda words: words.hello)
        finally:
            os.close(out_of)
        if hello.version != VERSION:
            raise TiltyardError(f"the guest speaks version {hello.version}, this lab {VERSION}")
        return hello

    def ask(self, what: JsonValue, limit_s: float) -> dict[str, str]:
        """Ask for something and wait until it is done; what was found.

        Raises:
            Lost: if there is no guest any more, or no answer for so long.
            TiltyardError: if it is refused; the message is the guest's.
        """
        self._asked += 1
        number = f"lab-{self._asked}"
        try:
            into = os.open(self._into, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            raise Ended(f"is not there any more ({error.strerror})") from None
        out_of = os.open(self._out_of, os.O_RDONLY | os.O_NONBLOCK)
        try:
            # Shorter than PIPE_BUF, or nobody has read what was asked before: never torn, pipe(7).
            os.write(into, json.dumps({"id": number, "ask": what}).encode() + b"\n")
            return self._hear(out_of, limit_s, lambda words: _answer(words, number))
        finally:
            os.close(into)
            os.close(out_of)

    def _hear(self, out_of: int, limit_s: float, wanted: Callable[[_Words], T | None]) -> T:
        """Read until something that is wanted is said; all else is passed over."""
        give_up = time.monotonic() + limit_s
        heard = b""
        while time.monotonic() < give_up:
            self._check()
            select.select([out_of], [], [], _TICK_S)
            try:
                chunk = os.read(out_of, _CHUNK)
            except BlockingIOError:
                if self._has_ended():
                    raise Ended("has ended") from None
                continue
            # Of a pipe that nobody has open to write; it may have been so from the beginning.
            if not chunk:
                raise Ended("has ended")
            *lines, heard = (heard + chunk).split(b"\n")
            for line in lines:
                if (words := _words(line)) and (found := wanted(words)) is not None:
                    return found
            if len(heard) > MESSAGE_BYTES:
                raise Lost(f"says a line of more than {format_size(MESSAGE_BYTES)}")
        raise Lost(f"says nothing for {limit_s:g} s")


def _words(line: bytes) -> _Words | None:
    """What the guest itself says; ``None`` if the line is an engine's, or torn."""
    try:
        return _Line.model_validate_json(line).guest
    except ValidationError:
        return None


def _answer(words: _Words, number: str) -> dict[str, str] | None:
    """The answer to one question."""
    if words.refused is not None and words.refused.id == number:
        raise TiltyardError(words.refused.message)
    if words.done is not None and words.done.id == number:
        return words.done.found
    return None
