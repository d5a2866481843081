"""A trial of an agent, from its job to its end: its output is read line by line, and kept."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import BinaryIO, Final

from tiltyard.executors import agent as agents
from tiltyard.executors.agent import Agent
from tiltyard.executors.barrier import Barrier, Start
from tiltyard.executors.words import MESSAGE, hidden, masked, without
from tiltyard.units import format_size
from tiltyard.wire import AgentEnded, AgentReady

LINE_BYTES: Final = 16 * 2**20
"""Longest line: what a program printed, of which at most 4 MiB are kept, escaped."""
STREAM_BYTES: Final = 256 * 2**20
STREAM_LINES: Final = 10**6
"""Longest output: more could not be read back in a reasonable time, and no workload has as much."""
KEPT_BYTES: Final = 2**20
"""Of an output that is longer, only its beginning is kept."""
_BEAT: Final = b'{"beat":{}}\n'
_BEAT_S: Final = 15.0
"""So often one on another host is asked whether it is still there, while a trial runs."""
_STOP: Final = b'{"stop":{}}\n'


class Trial:
    """A trial of an agent, from its job to its end."""

    def __init__(
        self,
        agent: Agent,
        job: bytes,
        keep: BinaryIO,
        *,
        limit_s: float | None = None,
        is_of_silence: bool = False,
        secret: str = "",
        barrier: Barrier | None = None,
    ) -> None:
        """Hand the job over.

        Args:
            agent: one that is ready.
            job: the document.
            keep: receives the output of the trial verbatim.
            limit_s: it is stopped after that time; ``None`` for no limit.
            is_of_silence: that time begins anew with each word of it.
            secret: what is kept and said has ``{secret}`` in its place; see also :func:`hidden`.
            barrier: each of its timed regions begins when all who meet there are ready for theirs.
        """
        self._agent = agent
        self._counts_from = self._asked_at = agent.heard_at = time.monotonic()
        self._keep = keep
        self._hidden = hidden(job, secret)
        self._limit_s, self._is_of_silence = limit_s, is_of_silence
        self._stopped_at: float | None = None
        self._said_bytes = 0
        self._lines = 0
        self._ended: AgentEnded | None = None
        self._is_over = False
        self.timed_out = False
        self.excess: str | None = None
        """What there was too much of; it was stopped at that, and its beginning is kept."""
        self._barrier = barrier
        self.starts: list[Start] = []
        """When its timed regions were to begin, where it is held."""
        agent.begin()
        run = {"job": job.decode()} | ({"held": True} if barrier else {})
        request = json.dumps({"run": run}, ensure_ascii=False)
        agent.tell(f"{request}\n".encode())

    def lines(self) -> Iterator[bytes]:
        """Whole lines of output as they come; ends when the trial has ended.

        A torn last line (of an engine that was killed) is kept in the file and not yielded.
        """
        rest: list[bytes] = []
        rest_bytes = 0
        try:
            for chunk in without(self._hidden, self._chunks()):
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
            for _ in self._chunks():
                pass

    def stop(self) -> None:
        """Ask it to end; it removes its files. Safe to call from a signal handler."""
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            self._agent.tell(_STOP, 0)

    @property
    def flaw(self) -> str | None:
        """Why no agent was there to carry it out."""
        return self._agent.flaw

    @property
    def is_told(self) -> bool:
        """Whether the agent has lived to tell of its end, after :meth:`lines` ended."""
        return self._ended is not None

    @property
    def exit_status(self) -> int:
        """Exit status; negative is the signal that killed it. Only after :meth:`lines` ended."""
        return self._agent.exit_status if self._ended is None else self._ended.status

    def last_words(self) -> str:
        """The last line that it wrote for people, if any."""
        if self._ended is None:
            words = self._agent.last_words()
        else:
            words = (self._ended.said.strip().splitlines() or [""])[-1][:MESSAGE]
        return masked(words, self._hidden)

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
        while not self._is_over:
            try:
                heard = self._agent.heard()
            except EOFError:
                self._is_over = True
                self._agent.close()
                return
            if isinstance(heard, AgentEnded):
                self._ended, self._is_over = heard, True
                self._agent.is_busy = False
                return
            if isinstance(heard, AgentReady):
                self._meet_the_others()
            elif isinstance(heard, bytes):
                yield heard
            self._watch_deadlines(has_a_word=isinstance(heard, bytes))

    def _meet_the_others(self) -> None:
        """Let it begin when all are ready; where some will never be, it is stopped."""
        if self._barrier is None:
            self._agent.give_up("it waits for others, and there are none")
            return
        with contextlib.suppress(EOFError):
            reading = self._agent.read_clock()
            at_ns = self._barrier.arrive(self._waits) if reading else None
            if reading is None or at_ns is None:
                self.stop()
                return
            start = Start(at_ns, reading)
            self.starts.append(start)
            self._agent.tell(f'{{"go":{{"at_ns":{start.there_ns}}}}}\n'.encode())
        self._agent.heard_at = time.monotonic()

    def _waits(self) -> bool:
        """Whether it still waits for the others; it is told that we are there."""
        is_quiet = self._agent.is_quiet()
        self._watch_deadlines(has_a_word=True)  # It waits as it is told.
        return is_quiet and self._stopped_at is None

    def _watch_deadlines(self, *, has_a_word: bool = False) -> None:
        """Stop what takes too long, and kill an agent that does not stop it."""
        now = time.monotonic()
        if has_a_word and self._is_of_silence:
            self._counts_from = now
        if self._limit_s is not None and now - self._counts_from > self._limit_s:
            self.timed_out = True
            self.stop()
        if self._agent.is_far and now - self._asked_at > _BEAT_S:
            self._asked_at = now
            self._agent.tell(_BEAT)
        if self._agent.is_far and now - self._agent.heard_at > agents.LOST_S:
            self._agent.give_up()
        if self._stopped_at is not None and now - self._stopped_at > agents.GRACE_S:
            self._agent.kill()


def _excess(line_bytes: int, stream_bytes: int, lines: int) -> str | None:
    """What there is too much of, if there is."""
    if line_bytes > LINE_BYTES:
        return f"a line of its output is longer than {format_size(LINE_BYTES)}"
    if stream_bytes > STREAM_BYTES:
        return f"its output is longer than {format_size(STREAM_BYTES)}"
    return f"its output has more than {STREAM_LINES} lines" if lines > STREAM_LINES else None
