"""What a program says for people: read as it comes, and little of it kept."""

import contextlib
import fcntl
import functools
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Final

HEAD_BYTES: Final = 64 * 2**10
"""Kept of the beginning."""
TAIL_BYTES: Final = 64 * 2**10
"""Kept of the end."""
MESSAGE: Final = 500
"""Characters of a line that are printed."""
MESSAGE_BYTES: Final = 2**20
"""The longest line of an engine or a guest about itself, which is read as it comes."""
_CHUNK = 1 << 16
MASK: Final = "{secret}"
"""Stands for a secret in what is kept and said."""
_PLAIN: Final = re.compile(r"|/.*|[0-9.]{1,7}|[A-Za-z_-]{1,12}|.{1,3}", re.DOTALL)
"""Values that are not hidden in other texts: they may stand there by chance."""


class StderrTail:
    """The standard error of a program, read to its end beside whatever else is done.

    A program that floods it fills neither a disk nor our memory, and is never made to wait: what
    is neither at the beginning nor at the end is thrown away.
    """

    def __init__(self) -> None:
        """A pipe; nothing is read before :meth:`begin`."""
        self._out_of, self.into = os.pipe()
        """``into`` is for the program."""
        self._head = bytearray()
        self._tail = bytearray()
        self._said_bytes = 0
        self._reader = threading.Thread(target=self._read, daemon=True)

    def begin(self) -> None:
        """The program has its end; ours of it is closed."""
        os.close(self.into)
        self._reader.start()

    def abandon(self) -> None:
        """There is no program."""
        os.close(self.into)
        os.close(self._out_of)

    def heard(self, limit_s: float) -> str:
        """All that is kept, when the program has ended.

        Args:
            limit_s: how long to wait for the end of the pipe, which others that the program has
                started may hold open.
        """
        self._reader.join(limit_s)
        kept = bytes(self._head), bytes(self._tail)
        missing = self._said_bytes - len(kept[0]) - len(kept[1])
        between = f"\n… {missing} bytes …\n".encode() if missing > 0 else b""
        return between.join(kept).decode(errors="replace").strip()

    def line(self, which: int, limit_s: float) -> str:
        """One line of it, as much as a message takes: 0 is the first one, -1 the last; or empty."""
        lines = self.heard(limit_s).splitlines()
        return lines[which][:MESSAGE] if lines else ""

    def _read(self) -> None:
        """To its end, in a thread of its own: it sleeps while nothing is said."""
        try:
            while chunk := os.read(self._out_of, _CHUNK):
                self._said_bytes += len(chunk)
                room = HEAD_BYTES - len(self._head)
                self._head += chunk[:room]
                self._tail += chunk[room:]
                del self._tail[:-TAIL_BYTES]
        finally:
            os.close(self._out_of)


def widened(pipe: IO[bytes], size_bytes: int) -> IO[bytes]:
    """A pipe that holds so much, where the host allows it: who writes there waits less for us."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size_bytes)
    return pipe


def hidden(job: bytes, secret: str) -> dict[str, str]:
    """What is not kept of a trial → what stands for it: its secret, and values that it hands on.

    Of a variable that is passed on the value is left out of the environment, and of all that is
    printed unless it is a path, a short number or a plain word, which other texts may have.
    """
    found = {secret: MASK} if secret else {}
    for name in json.loads(job).get("parameters", {}).get("pass", ()):
        value = json.dumps(os.environ.get(name, ""), ensure_ascii=False)[1:-1]
        found[f'"{name}":"{value}"'] = f'"{name}":"{{{name}}}"'
        if not _PLAIN.fullmatch(value):
            found[value] = f"{{{name}}}"
    return found


def masked(text: str, hidden: Mapping[str, str]) -> str:
    """A text that may be kept."""
    return functools.reduce(lambda found, one: found.replace(*one), hidden.items(), text)


def without(hidden: Mapping[str, str], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same output with what stands for what is hidden, also where two chunks meet in it."""
    for value, mask in hidden.items():
        chunks = _replaced(os.fsencode(value), mask.encode(), chunks)
    yield from chunks


def _replaced(wanted: bytes, mask: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        text = (rest + chunk).replace(wanted, mask)
        begun = (size for size in range(len(wanted) - 1, 0, -1) if text.endswith(wanted[:size]))
        held = len(text) - next(begun, 0)
        rest = text[held:]
        if held:
            yield text[:held]
    if rest:
        yield rest
