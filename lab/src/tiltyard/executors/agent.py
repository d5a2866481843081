"""Agents: engines that stay, and execute trial after trial behind a command that gives us pipes.

A trial's output is read line by line, while every byte of it is kept.
"""

import contextlib
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Final, NoReturn

from pydantic import ValidationError

from tiltyard.executors.barrier import Reading, closest
from tiltyard.executors.words import MESSAGE, MESSAGE_BYTES, Words, widened
from tiltyard.wire import (
    PROTOCOL,
    RECORD_SEPARATOR,
    AgentClock,
    AgentEnded,
    AgentHello,
    AgentLine,
    AgentReady,
    AgentReply,
)

GRACE_S = 20.0
"""How long an agent may take to end, or to end a trial, to which it gives 15 s after SIGTERM."""
_TICK_S = 0.5
"""How often deadlines are looked at while the engine says nothing."""
_WORDS_S = 2.0
"""How long what an engine has started may hold its standard error open."""
_CHUNK = 1 << 20
LOST_S = 60.0
"""After so long without a word it is given up: some ways there break without ending our pipes."""
_LEASE: Final = ("--lease", "900")
"""Seconds after which it ends by itself when nothing more reaches it."""
_END_OF_TIME_NS: Final = 2**63
_OWN_LINES: Final = 10**5
"""So many lines an agent may say about itself during one trial: some a round of clients, and four
a minute."""
_CLOCK: Final = b'{"clock":{}}\n'
OfItsOwn = AgentEnded | AgentReady | AgentClock
"""What an agent says that somebody waits for."""


class Agents:
    """The agents of a run: one for each command that starts one, while it is of use."""

    def __init__(self, hold: Sequence[int] = ()) -> None:
        """None is started yet.

        Args:
            hold: file descriptors that they keep open, so that locks on them outlive us.
        """
        self._hold = tuple(hold)
        self._agents: dict[tuple[str, ...], Agent] = {}

    def of(self, argv: Sequence[str], *, is_far: bool = False) -> "Agent":
        """The agent behind a command; a new one where there is none that can be used.

        Args:
            argv: the engine, or the command that stands for it, without its verb.
            is_far: it is on another host, and may be lost without a word.
        """
        key = tuple(argv)
        agent = self._agents.get(key)
        if agent is None or not agent.is_ready:
            if agent:
                agent.close()
            agent = self._agents[key] = Agent(key, self._hold, is_far=is_far)
        return agent

    def another(self, argv: Sequence[str], *, is_far: bool = False) -> "Agent":
        """One beside those of :meth:`of`; whoever asks for it closes it."""
        return Agent(argv, self._hold, is_far=is_far)

    def renew(self, argv: Sequence[str]) -> None:
        """End all; where one was behind this command, the next one starts meanwhile."""
        if was := self._agents.pop(tuple(argv), None):
            self.of(argv)
            was.close()
        self.close(argv)

    def close(self, but: Sequence[str] = ()) -> None:
        """End all, but for the one behind a command."""
        for key in self._agents.keys() - {tuple(but)}:
            self._agents.pop(key).close()


class Agent:
    """A process that executes trials until its input ends.

    It has a session of its own, so that Ctrl-C in the terminal reaches only the lab, which then
    stops the trial; it ends when we close its input, and also when we die: then the kernel does.
    """

    def __init__(
        self, argv: Sequence[str], hold: Sequence[int] = (), *, is_far: bool = False
    ) -> None:
        """Start it; nothing is waited for."""
        self.is_far = is_far
        self._words = Words()
        self._hello: AgentHello | None = None
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
                (*argv, "agent", *(_LEASE if is_far else ())),
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
        """Write a request; an agent that has died is found out by its silence.

        Args:
            line: the request.
            wait_s: one that has not taken it by then is given up.
        """
        left = memoryview(line)
        give_up = time.monotonic() + (LOST_S if wait_s is None else wait_s)
        (poll := select.poll()).register(self._input, select.POLLOUT)
        with contextlib.suppress(BrokenPipeError):
            while left:
                if not poll.poll(max(0.0, give_up - time.monotonic()) * 1e3):
                    self.give_up("it does not read what it is told")
                    return
                left = left[os.write(self._input.fileno(), left) :]

    def heard(self, wait_s: float = _TICK_S) -> bytes | OfItsOwn | None:
        """What has come of a trial, or is said of it; ``None``: nothing for some time.

        Raises:
            EOFError: if there is no agent, or no more.
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
            EOFError: if there is no agent, or no more.
        """
        return closest(self._now_there)

    def _now_there(self) -> int | None:
        """CLOCK_MONOTONIC of its host, in ns."""
        self.tell(_CLOCK)
        while not (heard := self.heard(LOST_S)):
            self.give_up()
        if isinstance(heard, AgentClock) and 0 <= heard.now_ns < _END_OF_TIME_NS:
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
        """What a line of the agent's own says of a trial."""
        self._own_lines += 1
        if self._own_lines > _OWN_LINES:
            self._refuse("the engine says too much about itself")
        try:
            said = AgentLine.model_validate_json(line).agent
        except ValidationError:
            said = AgentReply()
        if said.refused:
            self._refuse(f"the engine refuses: {said.refused.message[:MESSAGE]}")
        if said == AgentReply() or (said.hello and self._hello):
            self._refuse(f"this lab does not know {line[:MESSAGE].decode(errors='replace')}")
        if said.hello:
            self._hello = said.hello
            if self._hello.protocol != PROTOCOL:
                spoken = self._hello.protocol
                self._refuse(f"the engine speaks protocol {spoken}, this lab speaks {PROTOCOL}")
        return said.ended or said.ready or said.clock

    def give_up(self, why: str | None = None) -> None:
        """It does not answer any more."""
        self.flaw = why or f"it has not answered for {LOST_S:g} s"
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
            # subprocess would sleep between looks. What is no agent has no trial to end.
            with os.fdopen(os.pidfd_open(self._process.pid), "rb", 0) as ended:
                if not select.select([ended], [], [], _WORDS_S if self.flaw else GRACE_S)[0]:
                    self.kill()
        self._process.wait()
