"""Deputies, from this side: started behind a command, asked, and ended."""

import contextlib
import os
import secrets
import select
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Final, NoReturn, Self

from pydantic import JsonValue, TypeAdapter, ValidationError

from tiltyard.errors import HostLacksError, InterruptedRunError, TiltyardError, UnreachableError
from tiltyard.executors.words import MESSAGE_BYTES, Words
from tiltyard.host import commands
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.changes.network import CopiedLab
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import Place
from tiltyard.host.recorder import Recorder
from tiltyard.host.recovery import PutBack
from tiltyard.phases import phase
from tiltyard.systems.deputy.copy import archive, words
from tiltyard.systems.deputy.messages import Answer, Hello, Request, line
from tiltyard.systems.planned import END_OF_RUN, PlannedPart
from tiltyard.units import format_size

_BEAT_S: Final = 240.0
"""So often one is told that we are still there: its lease is 15 minutes."""
_TICK_S: Final = 0.2
_COPIES_S = 600.0
"""How long the lab may take on its way."""
_BEGINS_S = 180.0
_LOST_S = 60.0
"""After so long without a word, or without reading one, it is given up: while it works, it says
that it is there every 15 s."""
_WORKS_S: Final = 24 * 3600.0
"""How long anything may take there: what a file system goes through before a turn takes hours."""
_REFUSED_S = 20.0
"""How long one that has said what nobody understands may take to end."""
_ENDS_S: Final = 300.0
"""How long it may take to take everything back; what it has not done then is told."""
_WORDS_S: Final = 2.0
_KILLED: Final = 128
"""A shell adds it to the number of the signal that ended a command: POSIX, 2.8.2."""

_LINES: Final = TypeAdapter(tuple[str, ...])

Check = Callable[[], None]


def nothing() -> None:
    """Of a request that is not given up."""


class Deputy:
    """One of them."""

    def __init__(
        self,
        place: Place,
        how: str,
        ledger: Recorder | None = None,
        former: Hello | None = None,
        *,
        check: Check = nothing,
    ) -> None:
        """Copy it there, start it and wait for its first word.

        Args:
            place: how the host is reached.
            how: ``run``; ``preview`` and ``restore`` change nothing.
            ledger: of this host; of a run it has the copy.
            former: the first word of the one that it takes the place of.
            check: called meanwhile; where it raises, there is none.

        Raises:
            UnreachableError: if the host is not reached.
            TiltyardError: if it cannot be started there; the message has its words.
        """
        self._place = place
        directory = f"{PREFIX}{secrets.token_hex(4)}-deputy"
        if isinstance(ledger, Ledger):
            ledger.record(CopiedLab(ssh=place.ssh, directory=directory))
        copied = archive()
        argv = words(directory, len(copied), how)
        self._words, self._rest, self._said_bytes = Words(), b"", 0
        self._flaw = ""
        """Why it was given up."""
        self._writing, self._over = threading.Lock(), threading.Event()
        self._process = subprocess.Popen(
            place.argv(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words.into,
            start_new_session=True,
            bufsize=0,
        )
        self._words.begin()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        os.set_blocking(self._input.fileno(), False)
        self._heard_at = time.monotonic()
        threading.Thread(target=self._beat, daemon=True).start()
        try:
            with phase(f"copying the lab to {place}"):
                self._write(copied, _COPIES_S, check)
                if how == "run":
                    given = former.process.model_dump(mode="json") if former else {}
                    self._write(line(Request(do="former", given=given)))
                self.hello = self._greeting(check)
        except InterruptedRunError:
            self.close(0)
            raise

    @property
    def lives(self) -> bool:
        """Whether it can be asked."""
        return not self._over.is_set()

    def ask(
        self, request: Request, check: Check = nothing, note: Callable[[str], None] = lambda _: None
    ) -> JsonValue:
        """What it answers.

        Args:
            request: what is wanted.
            check: called meanwhile; where it raises, the deputy is told to stop, and waited for.
            note: gets what a person should know meanwhile.

        Raises:
            InterruptedRunError: what ``check`` has raised; what had been done is taken back there.
            UnreachableError: if the connection is lost, or it is killed.
            TiltyardError: what was raised there, or what comes is no answer.
        """
        check()
        self._said_bytes, self._heard_at = 0, time.monotonic()
        self._write(line(request))
        stopped: InterruptedRunError | None = None
        give_up = time.monotonic() + _WORKS_S
        while True:
            said = self._heard()
            if said is not None and said.note is not None:
                note(f"{self._place}: {commands.shown(said.note)}")
            elif said is not None and not said.beat:
                if stopped is not None:
                    raise stopped
                if said.failed is not None:
                    raise said.failed.error(str(self._place))
                return said.done
            try:
                if stopped is None:
                    check()
            except InterruptedRunError as error:
                stopped, give_up = error, time.monotonic() + _ENDS_S
                self._write(line(Request(do="interrupt")))
            now = time.monotonic()
            if now > give_up or now - self._heard_at > _LOST_S:
                self.close(0)
                silent_s = now - self._heard_at
                raise stopped or UnreachableError(
                    f"lost the connection to {self._place}: the lab there was asked to "
                    f"{request.do.replace('_', ' ')} and has said nothing for {silent_s:.0f} s"
                )

    def close(self, patience_s: float = _ENDS_S) -> str:
        """End it, and wait until it has taken everything back.

        Returns:
            Its last words, where it could not.
        """
        if self._over.is_set():
            return ""
        left, self._said_bytes = "", 0
        if patience_s:
            self._write(line(Request(do="end")), _WORDS_S)
        self._over.set()
        with self._writing, contextlib.suppress(OSError):
            self._input.close()
        give_up = time.monotonic() + patience_s
        with contextlib.suppress(TiltyardError, EOFError):
            while time.monotonic() < give_up:
                if (said := self._line()) is not None and said.failed is not None:
                    left = commands.shown(said.failed.text)
        self._let_go()
        return left

    def _let_go(self) -> int:
        """Of the pipes, and of the processes behind them; the exit status."""
        self._over.set()
        with self._writing, contextlib.suppress(OSError):
            self._input.close()
        self._selector.close()
        self._output.close()
        try:
            return self._process.wait(_WORDS_S)
        except subprocess.TimeoutExpired:
            self._kill()
            return self._process.wait()

    def _kill(self) -> None:
        """It, and what has its session."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _beat(self) -> None:
        while not self._over.wait(_BEAT_S):
            self._write(line(Request(do="beat")))

    def _write(self, data: bytes, limit_s: float | None = None, check: Check = nothing) -> None:
        """One that has died is found out by its silence, and so is one that does not read."""
        left, began = memoryview(data), time.monotonic()
        taken_at, limit_s = began, _LOST_S if limit_s is None else limit_s
        with self._writing, contextlib.suppress(OSError, ValueError):
            while left and not self._over.is_set():
                try:
                    left = left[os.write(self._input.fileno(), left) :]
                    taken_at = time.monotonic()
                except BlockingIOError:
                    now = time.monotonic()
                    if now - taken_at > min(_LOST_S, limit_s) or now - began > limit_s:
                        self._flaw = f"it has taken nothing for {now - taken_at:.0f} s"
                        self._kill()
                        return
                    check()
                    (poll := select.poll()).register(self._input, select.POLLOUT)
                    poll.poll(_TICK_S * 1e3)

    def _greeting(self, check: Check) -> Hello:
        give_up = time.monotonic() + _BEGINS_S
        while time.monotonic() < give_up:
            check()
            if (said := self._heard()) is not None:
                if said.hello is not None:
                    return said.hello
                if said.failed is not None:
                    self.close(0)
                    raise said.failed.error(str(self._place))
        self.close(0)
        raise UnreachableError(f"{self._place}: the lab there does not begin in {_BEGINS_S:g} s")

    def _heard(self) -> Answer | None:
        """Its next line; ``None``: nothing for a moment.

        Raises:
            UnreachableError: if the connection has ended, or it was killed.
            TiltyardError: if it has ended by itself, with its last words.
        """
        try:
            return self._line()
        except EOFError:
            self._lost()

    def _line(self) -> Answer | None:
        while b"\n" not in self._rest:
            if not self._selector.select(_TICK_S):
                return None
            if not (chunk := os.read(self._output.fileno(), 1 << 16)):
                raise EOFError
            self._rest += chunk
            self._heard_at = time.monotonic()
            self._said_bytes += len(chunk)
            if self._said_bytes > MESSAGE_BYTES:
                self.close(0)
                most = format_size(MESSAGE_BYTES)
                raise HostLacksError(f"{self._place}: what the lab there says is over {most}")
        text, _, self._rest = self._rest.partition(b"\n")
        try:
            return Answer.model_validate_json(text)
        except ValidationError:
            self.close(_REFUSED_S)
            noise = commands.shown(text.decode(errors="replace"))
            raise self._place.noise(noise, "the lab there should answer") from None

    def _lost(self) -> NoReturn:
        """Why there is none any more."""
        status = self._let_go()
        said = self._flaw or commands.complaint(self._words.heard(_WORDS_S), status)
        if self._flaw or self._place.is_lost(status, said):
            raise UnreachableError(f"lost the connection to {self._place}: {said}")
        if said.startswith("Traceback"):
            said = self._words.line(-1, _WORDS_S)
        if status - _KILLED in signal.valid_signals():
            name = commands.signal_name(status - _KILLED)
            raise UnreachableError(f"{self._place}: the lab there was killed by {name}")
        raise HostLacksError(f"{self._place}: {said}")


class Deputies:
    """Those of a run, one a host; a context, which ends them."""

    def __init__(self) -> None:
        """None is started yet."""
        self._of: dict[tuple[str, ...], Deputy] = {}

    def __enter__(self) -> Self:
        """All of them."""
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self.close()

    def of(self, place: Place, ledger: Recorder, check: Check = nothing) -> Deputy:
        """The deputy on a host; another one where the connection to it was lost."""
        known = self._of.get(place.ssh)
        if known is None or not known.lives:
            how = "run" if isinstance(ledger, Ledger) else "preview"
            former = known.hello if known else None
            self._of[place.ssh] = known = Deputy(place, how, ledger, former, check=check)
        return known

    def end(self, place: Place) -> None:
        """That of one host, which takes everything back."""
        if known := self._of.pop(place.ssh, None):
            known.close()

    def close(self) -> None:
        """End all; what one could not take back the ledger of this host asks for again."""
        while self._of:
            self._of.popitem()[1].close()

    def planned_end(self) -> list[PlannedPart]:
        """What would be taken back at the end of the run, of those of a dry run."""
        parts = []
        for ssh, deputy in self._of.items():
            lines = deputy.ask(Request(do="planned_end"))
            with (place := Place(ssh)).understood():
                told = _LINES.validate_python(lines)
            parts.append(PlannedPart("", f"{END_OF_RUN}, on {place}", told))
        return parts


def restore_there(place: Place) -> PutBack:
    """Take back what runs that died have left on another host.

    Raises:
        UnreachableError: if the host is not reached.
        TiltyardError: if the lab cannot be started there.
    """
    by_agent = place.ask(lambda host: host.recover(kept=True))
    done, left = (tuple(map(commands.shown, told)) for told in (by_agent.done, by_agent.left))
    if not place.has("python3"):
        return PutBack(done, left)
    deputy = Deputy(place, "preview")
    try:
        told = deputy.ask(Request(do="restore"))
    finally:
        deputy.close()
    with place.understood():
        found = TypeAdapter(PutBack).validate_python(told)
    # What the agent could not put back was under what the lab there has made.
    return PutBack((*done, *found.done), found.left)
