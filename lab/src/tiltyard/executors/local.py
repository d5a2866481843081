"""Start a trial on this host and read what it says, line by line, while keeping every byte."""

import contextlib
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from tiltyard.executors.words import Words
from tiltyard.units import format_size

MESSAGE_BYTES: Final = 2**20
"""The longest line of an engine or a guest about itself, which is read as it comes."""
LINE_BYTES: Final = 16 * 2**20
"""Longest line: what a program printed, of which at most 4 MiB are kept, escaped."""
STREAM_BYTES: Final = 256 * 2**20
STREAM_LINES: Final = 10**6
"""Longest output: more could not be read back in a reasonable time, and no workload has as much."""
KEPT_BYTES: Final = 2**20
"""Of an output that is longer, only its beginning is kept."""
_GRACE_S = 15.0
"""How long an engine may take to remove its files after SIGTERM."""
_TICK_S = 0.5
"""How often deadlines are looked at while the engine says nothing."""
_WORDS_S = 2.0
"""How long what an engine has started may hold its standard error open."""
_CHUNK = 1 << 16


class LocalTrial:
    """A running engine.

    It has a session of its own, so that Ctrl-C in the terminal reaches only the lab, which then
    stops it; the engine for its part ends when the lab dies.
    """

    def __init__(
        self,
        engine: Sequence[str],
        job: bytes,
        keep: BinaryIO,
        *,
        prefix: Sequence[str] = (),
        limit_s: float | None = None,
        hold: Sequence[int] = (),
        exit_on_stdin_eof: bool = False,
    ) -> None:
        """Start it.

        Args:
            engine: the binary, or the command that stands for it.
            job: the document for its standard input.
            keep: receives its output verbatim.
            prefix: command that starts the engine where the trial shall run.
            limit_s: it is stopped after that time; ``None`` for no limit.
            hold: file descriptors that it keeps open, so that locks on them outlive us.
            exit_on_stdin_eof: it stops when its input ends, for where no signal of ours reaches it.
        """
        self._exit_on_stdin_eof = exit_on_stdin_eof
        self._keep = keep
        self._words = Words()
        self._began = time.monotonic()
        self._limit_s = limit_s
        self._stopped_at: float | None = None
        self._said_bytes = 0
        self._lines = 0
        self.timed_out = False
        self.excess: str | None = None
        """What there was too much of; it was stopped at that, and its beginning is kept."""
        try:
            self._process = subprocess.Popen(
                (*prefix, *engine, "run", *(("--exit-on-stdin-eof",) if exit_on_stdin_eof else ())),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words.into,
                start_new_session=True,
                pass_fds=tuple(hold),
            )
        except BaseException:
            self._words.abandon()
            raise
        self._words.begin()
        self._hand_over(job)

    def _hand_over(self, job: bytes) -> None:
        """Write the job; an engine that died at once is found out by its silence."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(job + b"\n" if self._exit_on_stdin_eof else job)
            self._process.stdin.flush()
        if not self._exit_on_stdin_eof:
            self._close_input()

    def lines(self) -> Iterator[bytes]:
        """Whole lines of output as they come; ends when the engine has ended.

        A torn last line (of an engine that was killed) is kept in the file and not yielded.
        """
        rest: list[bytes] = []
        rest_bytes = 0
        try:
            for chunk in self._chunks():
                *whole, last = chunk.split(b"\n")
                if whole:
                    whole[0], rest, rest_bytes = b"".join((*rest, whole[0])), [], 0
                rest.append(last)
                rest_bytes += len(last)
                if self._is_too_much(chunk, max((rest_bytes, *map(len, whole))), len(whole)):
                    rest.clear()
                    continue
                self._keep.write(chunk)
                yield from whole
        except BaseException:
            self.stop()
            raise
        finally:
            self._end()

    def stop(self) -> None:
        """Ask it to end; it removes its files. Safe to call from a signal handler."""
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            if self._exit_on_stdin_eof:
                self._close_input()
            else:
                self._signal(signal.SIGTERM)

    @property
    def exit_status(self) -> int:
        """Exit status; negative is the signal that killed it. Only after :meth:`lines` ended."""
        return self._process.returncode

    def last_words(self) -> str:
        """The last line that it wrote for people, if any."""
        return self._words.line(-1, _WORDS_S)

    def _is_too_much(self, chunk: bytes, line_bytes: int, lines: int) -> bool:
        """Whether there is too much of the output; then it is stopped, and what comes is ignored.

        Args:
            chunk: what has come.
            line_bytes: the longest line in it, or its unfinished last one.
            lines: whole lines in it.
        """
        self._said_bytes += len(chunk)
        self._lines += lines
        if self.excess is None:
            self.excess = _excess(line_bytes, self._said_bytes, self._lines)
            if self.excess is not None:
                self._keep.truncate(min(KEPT_BYTES, self._said_bytes - len(chunk)))
                self._keep.seek(0, os.SEEK_END)
                self.stop()
        return self.excess is not None

    def _chunks(self) -> Iterator[bytes]:
        """Output as it comes, with an eye on the deadlines."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while True:
                if selector.select(_TICK_S):
                    chunk = os.read(descriptor, _CHUNK)
                    if not chunk:
                        return
                    yield chunk
                self._watch_deadlines()

    def _watch_deadlines(self) -> None:
        """Stop what takes too long, and kill what does not stop."""
        now = time.monotonic()
        if self._limit_s is not None and now - self._began > self._limit_s:
            self.timed_out = True
            self.stop()
        if self._stopped_at is not None and now - self._stopped_at > _GRACE_S:
            self._signal(signal.SIGKILL)

    def _close_input(self) -> None:
        """Its input ends; harmless if it has ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def _signal(self, number: signal.Signals) -> None:
        """Signal our own child, if it has not been reaped."""
        if self._process.returncode is None:
            self._process.send_signal(number)

    def _end(self) -> None:
        """Reap it; nothing of ours outlives the trial."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._close_input()
        if not self._has_ended(_GRACE_S):
            self._process.kill()
        self._process.wait()

    def _has_ended(self, limit_s: float) -> bool:
        """Wait for its end; subprocess would look for it from time to time, and sleep."""
        if self._process.poll() is not None:
            return True
        ended = os.pidfd_open(self._process.pid)
        try:
            return bool(select.select([ended], [], [], limit_s)[0])
        finally:
            os.close(ended)


def _excess(line_bytes: int, stream_bytes: int, lines: int) -> str | None:
    """What there is too much of, if there is."""
    if line_bytes > LINE_BYTES:
        return f"a line of its output is longer than {format_size(LINE_BYTES)}"
    if stream_bytes > STREAM_BYTES:
        return f"its output is longer than {format_size(STREAM_BYTES)}"
    return f"its output has more than {STREAM_LINES} lines" if lines > STREAM_LINES else None
