"""Runners: engines that stay, and execute trial after trial behind a command that gives us pipes.

A trial's output is read line by line, while every byte of it is kept.
"""

import contextlib
import json
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, Final, NoReturn

from pydantic import ValidationError

from tiltyard.executors.barrier import HeldBy, Reading, Start, closest
from tiltyard.executors.stderr_tail import (
    MESSAGE,
    MESSAGE_BYTES,
    StderrTail,
    hidden,
    masked,
    widened,
    without,
)
from tiltyard.units import format_size
from tiltyard.wire import (
    PROTOCOL,
    RECORD_SEPARATOR,
    HostSeen,
    HostSettled,
    RunnerClock,
    RunnerEnded,
    RunnerHello,
    RunnerLine,
    RunnerReady,
    RunnerReply,
)

LINE_BYTES: Final = 16 * 2**20
"""Longest line: what a program printed, of which at most 4 MiB are kept, escaped."""
STREAM_BYTES: Final = 256 * 2**20
STREAM_LINES: Final = 10**6
"""Longest output: more could not be read back in a reasonable time, and no workload has as much."""
KEPT_BYTES: Final = 2**20
"""Of an output that is longer, only its beginning is kept."""
_GRACE_S = 20.0
"""How long a runner may take to end, or to end a trial, to which it gives 15 s after SIGTERM."""
_TICK_S = 0.5
"""How often deadlines are looked at while the engine says nothing."""
_WORDS_S = 2.0
"""How long what an engine has started may hold its standard error open."""
_CHUNK = 1 << 20
_BEAT: Final = b'{"beat":{}}\n'
_BEAT_S: Final = 15.0
"""So often one on another host is asked whether it is still there, while a trial runs."""
_LOST_S = 60.0
"""After so long without a word it is given up: some ways there break without ending our pipes."""
_LEASE: Final = ("--lease", "900")
"""Seconds after which it ends by itself when nothing more reaches it."""
_STOP: Final = b'{"stop":{}}\n'
_END_OF_TIME_NS: Final = 2**63
_RESTS_S: Final = 600.0
"""So long the disks of its host may take to come to rest."""
_OWN_LINES: Final = 10**5
"""So many lines a runner may say about itself during one trial: some a round of clients, and four
a minute."""
_CLOCK: Final = b'{"clock":{}}\n'
OfItsOwn = RunnerEnded | RunnerReady | RunnerClock | HostSettled
"""What a runner says that somebody waits for."""


class Runners:
    """The runners of a run: one for each command that starts one, while it is of use."""

    def __init__(self, hold: Callable[[], Sequence[int]] = tuple) -> None:
        """None is started yet.

        Args:
            hold: gives file descriptors that they keep open, by which others know that they live.
        """
        self._hold = hold
        self._runners: dict[tuple[tuple[str, ...], int], Runner] = {}

    def of(self, argv: Sequence[str], place: int = 0, *, is_far: bool = False) -> "Runner":
        """The runner behind a command; a new one where there is none that can be used.

        Args:
            argv: the engine, or the command that stands for it, without its verb.
            place: which of several behind the same command.
            is_far: it is on another host, and may be lost without a word.
        """
        key = tuple(argv), place
        runner = self._runners.get(key)
        if runner is None or not runner.is_ready:
            if runner:
                runner.close()
            runner = self._runners[key] = Runner(key[0], self._hold(), is_far=is_far)
        return runner

    def another(self, argv: Sequence[str], *, is_far: bool = False) -> "Runner":
        """One beside those of :meth:`of`; whoever asks for it closes it."""
        return Runner(argv, self._hold(), is_far=is_far)

    def renew(self, argv: Sequence[str]) -> None:
        """End all; where one was behind this command, the next one starts meanwhile."""
        ended, self._runners = self._runners, {}
        if (tuple(argv), 0) in ended:
            self.of(argv)
        for runner in ended.values():
            runner.close()

    def close(self, but: Sequence[str] = ()) -> None:
        """End all, but for those behind a command."""
        for key in [key for key in self._runners if key[0] != tuple(but)]:
            self._runners.pop(key).close()


class Runner:
    """A process that executes trials until its input ends.

    It has a session of its own, so that Ctrl-C in the terminal reaches only the lab, which then
    stops the trial; it ends when we close its input, and also when we die: then the kernel does.
    """

    def __init__(
        self, argv: Sequence[str], hold: Sequence[int] = (), *, is_far: bool = False
    ) -> None:
        """Start it; nothing is waited for."""
        self.is_far = is_far
        self._words = StderrTail()
        self._hello: RunnerHello | None = None
        self._rest = b""
        self._put_back: bytes | OfItsOwn | None = None
        self.flaw: str | None = None
        """Why it is none that we can speak to."""
        self.is_busy = False
        self._own_lines = 0
        self.heard_at = time.monotonic()
        """When it has said something last."""
        try:
            self._process = subprocess.Popen(
                (*argv, "runner", *(_LEASE if is_far else ())),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words.into,
                start_new_session=True,
                pass_fds=tuple(hold),
                bufsize=0,
            )
        except BaseException:
            self._words.abandon()
            raise
        self._words.begin()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, widened(self._process.stdout, _CHUNK)
        os.set_blocking(self._input.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)

    @property
    def is_ready(self) -> bool:
        """Whether it can be given a job."""
        return self.flaw is None and not self.is_busy and self._process.poll() is None

    @property
    def exit_status(self) -> int:
        """Of one that is closed; negative is the signal that killed it."""
        return self._process.returncode

    def last_words(self) -> str:
        """The last line that it, or what leads to it, wrote for people."""
        return self._words.line(-1, _WORDS_S)

    def tell(self, line: bytes, wait_s: float | None = None) -> None:
        """Write a request; a runner that has died is found out by its silence.

        Args:
            line: the request.
            wait_s: one that has not taken it by then is given up.
        """
        left = memoryview(line)
        give_up = time.monotonic() + (_LOST_S if wait_s is None else wait_s)
        with contextlib.suppress(BrokenPipeError, ValueError):  # The latter of one that is closed.
            (poll := select.poll()).register(self._input, select.POLLOUT)
            while left:
                if not poll.poll(max(0.0, give_up - time.monotonic()) * 1e3):
                    self.give_up("it does not read what it is told")
                    return
                left = left[os.write(self._input.fileno(), left) :]

    def heard(self, wait_s: float = _TICK_S) -> bytes | OfItsOwn | None:
        """What has come of a trial, or is said of it; ``None``: nothing for some time.

        Raises:
            EOFError: if there is no runner, or no more.
        """
        if found := self._put_back:
            self._put_back = None
            return found
        left_s, give_up = wait_s, time.monotonic() + wait_s
        while not (found := self._taken()):
            # What is nothing to wait for must not keep us here.
            if left_s < 0 or not self._selector.select(left_s):
                return None
            left_s = give_up - time.monotonic()
            if not (chunk := os.read(self._output.fileno(), _CHUNK)):
                raise EOFError
            self._rest += chunk
            self.heard_at = time.monotonic()
        return found

    def begin(self) -> None:
        """It has a trial from now on."""
        self.is_busy, self._own_lines = True, 0

    def is_quiet(self) -> bool:
        """Whether it is there and has nothing to say; what it says is heard later."""
        try:
            self._put_back = self.heard(0)
        except EOFError:
            return False
        return self._put_back is None

    def read_clock(self) -> Reading | None:
        """How far its host's clock is ahead of ours, of a trial that waits.

        ``None`` if something else is said: the trial does not wait any more.

        Raises:
            EOFError: if there is no runner, or no more.
        """
        return closest(self._now_there)

    def _now_there(self) -> int | None:
        """CLOCK_MONOTONIC of its host, in ns."""
        self.tell(_CLOCK)
        while not (heard := self.heard(_LOST_S)):
            self.give_up()
        if isinstance(heard, RunnerClock) and 0 <= heard.now_ns < _END_OF_TIME_NS:
            return heard.now_ns
        self._put_back = heard
        return None

    def _taken(self) -> bytes | OfItsOwn | None:
        """From what was read: the bytes of a trial, or what is said of it."""
        while True:
            of_trial, mark, own = self._rest.partition(RECORD_SEPARATOR)
            if of_trial:
                self._rest = mark + own
                if self._hello is None:
                    noise = of_trial.decode(errors="replace").strip().partition("\n")[0]
                    self._refuse(f'"{noise[:MESSAGE]}" is printed before the engine says anything')
                return of_trial
            line, newline, rest = own.partition(b"\n")
            if not newline:
                if len(line) > MESSAGE_BYTES:
                    self._refuse("a line of the engine about itself does not end")
                return None
            self._rest = rest
            if news := self._of_its_own(line):
                return news

    def _of_its_own(self, line: bytes) -> OfItsOwn | None:
        """What a line of the runner's own says of a trial."""
        self._own_lines += 1
        if self._own_lines > _OWN_LINES:
            self._refuse("the engine says too much about itself")
        try:
            said = RunnerLine.model_validate_json(line).runner
        except ValidationError:
            said = RunnerReply()
        if said.refused:
            self._refuse(f"the engine refuses: {said.refused.message[:MESSAGE]}")
        if said == RunnerReply() or (said.hello and self._hello):
            self._refuse(f"this lab does not know {line[:MESSAGE].decode(errors='replace')}")
        if said.hello:
            self._hello = said.hello
            if self._hello.protocol != PROTOCOL:
                spoken = self._hello.protocol
                self._refuse(f"the engine speaks protocol {spoken}, this lab speaks {PROTOCOL}")
        return said.ended or said.ready or said.clock or said.settled

    def give_up(self, why: str | None = None) -> None:
        """It does not answer any more."""
        self.flaw = why or f"it has not answered for {_LOST_S:g} s"
        self.kill()

    def _refuse(self, flaw: str) -> NoReturn:
        self.flaw = flaw
        raise EOFError

    def kill(self) -> None:
        """Where nothing else helps; what leads to another host may be several processes."""
        if self.is_far and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()

    def close(self) -> None:
        """End it and wait for its end; it stops a trial that runs. Harmless when it has ended."""
        self._selector.close()
        self._input.close()
        # Whoever still writes there ends by that.
        self._output.close()
        if self._process.poll() is None:
            # subprocess would sleep between looks. What is no runner has no trial to end.
            with os.fdopen(os.pidfd_open(self._process.pid), "rb", 0) as ended:
                if not select.select([ended], [], [], _WORDS_S if self.flaw else _GRACE_S)[0]:
                    self.kill()
        self._process.wait()


class Trial:
    """A trial of a runner, from its job to its end."""

    def __init__(
        self,
        runner: Runner,
        job: bytes,
        keep: BinaryIO,
        *,
        limit_s: float | None = None,
        is_of_silence: bool = False,
        secret: str = "",
        held_by: HeldBy | None = None,
        bracket: Mapping[str, object] | None = None,
    ) -> None:
        """Hand the job over.

        Args:
            runner: one that is ready.
            job: the document.
            keep: receives the output of the trial verbatim.
            limit_s: it is stopped after that time; ``None`` for no limit.
            is_of_silence: that time begins anew with each word of it.
            secret: what is kept and said has ``{secret}`` in its place; see also :func:`hidden`.
            held_by: where it waits before each of its timed regions or executions.
            bracket: what its host does before it and after it (``Bracket`` of the wire).
        """
        self._runner = runner
        self.began_s = self._counts_from = self._asked_at = runner.heard_at = time.monotonic()
        self._keep = keep
        self._hidden = hidden(job, secret)
        self._limit_s, self._is_of_silence = limit_s, is_of_silence
        self._stopped_at: float | None = None
        self._said_bytes = 0
        self._lines = 0
        self._ended: RunnerEnded | None = None
        self.settled: HostSettled | None = None
        """How the disks of its host came to rest before it, if they were to."""
        self._rests = bool(bracket and bracket.get("settle"))
        self._is_over = False
        self.timed_out = False
        self.excess: str | None = None
        """What there was too much of; it was stopped at that, and its beginning is kept."""
        self._held_by = held_by
        self.starts: list[Start] = []
        """When its timed regions were to begin, where it is held."""
        runner.begin()
        run: dict[str, object] = {"job": job.decode()}
        run |= {"held": held_by.each} if held_by else {}
        run |= {"bracket": bracket} if bracket else {}
        request = json.dumps({"run": run}, ensure_ascii=False)
        runner.tell(f"{request}\n".encode())

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
            self._runner.tell(_STOP, 0)

    @property
    def flaw(self) -> str | None:
        """Why no runner was there to carry it out."""
        return self._runner.flaw

    @property
    def is_told(self) -> bool:
        """Whether the runner has lived to tell of its end, after :meth:`lines` ended."""
        return self._ended is not None

    @property
    def seen(self) -> HostSeen | None:
        """What went on on its host meanwhile, if that was asked for; after :meth:`lines` ended."""
        return self._ended.seen if self._ended else None

    @property
    def exit_status(self) -> int:
        """Exit status; negative is the signal that killed it. Only after :meth:`lines` ended."""
        return self._runner.exit_status if self._ended is None else self._ended.status

    def last_words(self) -> str:
        """The last line that it wrote for people, if any."""
        if self._ended is None:
            words = self._runner.last_words()
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
                heard = self._runner.heard()
            except EOFError:
                self._is_over = True
                self._runner.close()
                return
            if isinstance(heard, RunnerEnded):
                self._ended, self._is_over = heard, True
                self._runner.is_busy = False
                return
            if isinstance(heard, HostSettled):
                self.settled, self._rests = heard, False
                self.began_s = self._counts_from = time.monotonic()
            elif isinstance(heard, RunnerReady):
                self._wait()
            elif isinstance(heard, bytes):
                yield heard
            self._watch_deadlines(has_a_word=isinstance(heard, bytes))

    def _wait(self) -> None:
        """Let it begin what it is ready for; where that will never be, it is stopped."""
        if self._held_by is None:
            self._runner.give_up("it waits for others, and there are none")
            return
        with contextlib.suppress(EOFError):
            start = self._held_by.arrive(self._runner.read_clock, self._waits)
            if start is None:
                self.stop()
                return
            self.starts.append(start)
            self._runner.tell(f'{{"go":{{"at_ns":{start.there_ns}}}}}\n'.encode())
        self._runner.heard_at = time.monotonic()

    def _waits(self) -> bool:
        """Whether it still waits for the others; it is told that we are there."""
        is_quiet = self._runner.is_quiet()
        self._watch_deadlines(has_a_word=True)  # It waits as it is told.
        return is_quiet and self._stopped_at is None

    def _watch_deadlines(self, *, has_a_word: bool = False) -> None:
        """Stop what takes too long, and kill a runner that does not stop it."""
        now = time.monotonic()
        if has_a_word and self._is_of_silence:
            self._counts_from = now
        limit_s = _RESTS_S if self._rests else self._limit_s
        if limit_s is not None and now - self._counts_from > limit_s:
            self.timed_out = True
            self.stop()
        if self._runner.is_far and now - self._asked_at > _BEAT_S:
            self._asked_at = now
            self._runner.tell(_BEAT)
        if self._runner.is_far and now - self._runner.heard_at > _LOST_S:
            self._runner.give_up()
        if self._stopped_at is not None and now - self._stopped_at > _GRACE_S:
            self._runner.kill()


def _excess(line_bytes: int, stream_bytes: int, lines: int) -> str | None:
    """What there is too much of, if there is."""
    if line_bytes > LINE_BYTES:
        return f"a line of its output is longer than {format_size(LINE_BYTES)}"
    if stream_bytes > STREAM_BYTES:
        return f"its output is longer than {format_size(STREAM_BYTES)}"
    return f"its output has more than {STREAM_LINES} lines" if lines > STREAM_LINES else None
