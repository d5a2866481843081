"""Deputies, from this side: started behind a command, asked, and ended."""

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, Self

from pydantic import JsonValue, TypeAdapter, ValidationError

from tiltyard.errors import InterruptedRunError, TiltyardError
from tiltyard.executors.words import Words
from tiltyard.host import commands
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.changes.network import CopiedLab
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import Place, UnreachableError
from tiltyard.host.recorder import Recorder
from tiltyard.host.recovery import PutBack
from tiltyard.phases import phase
from tiltyard.systems.deputy.boot import await_boot
from tiltyard.systems.deputy.copy import archive, words, words_again
from tiltyard.systems.deputy.messages import Answer, Hello, Request, line
from tiltyard.systems.planned import END_OF_RUN, PlannedPart

_BEAT_S: Final = 240.0
"""So often one is told that we are still there: its lease is 15 minutes."""
_TICK_S: Final = 0.2
_BEGINS_S: Final = 180.0
_ENDS_S: Final = 300.0
"""How long it may take to take everything back; what it has not done then is told."""
_GOES_S: Final = 5.0
"""How long a command that boots a host has to fail; a connection may outlast the host."""
_WORDS_S: Final = 2.0
_NOISE: Final = 200
_KILLED: Final = 128
"""A shell adds it to the number of the signal that ended a command: POSIX, 2.8.2."""

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
        again: bool = False,
    ) -> None:
        """Copy it there, start it and wait for its first word.

        Args:
            place: how the host is reached.
            how: ``run``; ``preview`` and ``restore`` change nothing.
            ledger: of this host; of a run it has the copy.
            former: the first word of the one that it takes the place of.
            again: it is started by the copy of that one, after a boot.

        Raises:
            UnreachableError: if the host is not reached.
            TiltyardError: if it cannot be started there; the message has its words.
        """
        self._place = place
        if former and again:
            copied, argv = b"", words_again(former.directory)
        else:
            directory = f"{PREFIX}{secrets.token_hex(4)}-deputy"
            if isinstance(ledger, Ledger):
                ledger.record(CopiedLab(ssh=place.ssh, directory=directory))
            copied = archive()
            argv = words(directory, len(copied), how)
        self._words, self._rest = Words(), b""
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
        threading.Thread(target=self._beat, daemon=True).start()
        self._write(copied)
        if how == "run":
            given = former.process.model_dump(mode="json") if former else {}
            self._write(line(Request(do="former", given=given)))
        with phase(f"{'copying the lab to' if copied else 'starting the lab on'} {place}"):
            self.hello = self._greeting()

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
            TiltyardError: what was raised there.
        """
        check()
        self._write(line(request))
        stopped: InterruptedRunError | None = None
        give_up = float("inf")
        while True:
            said = self._heard()
            if said is not None and said.note is not None:
                note(f"{self._place}: {said.note}")
            elif said is not None:
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
            if time.monotonic() > give_up:
                self.close(0)
                raise stopped or InterruptedRunError

    def boot(self, command: Sequence[str], check: Check, note: Callable[[str], None]) -> None:
        """Have its host booted, by that command there; with it the deputy ends.

        Raises:
            BusyError: if others are at work there; the deputy is as before.
            TiltyardError: if the host is not booted, for another reason.
        """
        self.ask(Request(do="boot", given={"command": list(command)}), check, note)
        if refused := self.close(_GOES_S):
            raise TiltyardError(f"{self._place}: {refused}")

    def close(self, patience_s: float = _ENDS_S) -> str:
        """End it, and wait until it has taken everything back.

        Returns:
            Its last words, where it could not.
        """
        if self._over.is_set():
            return ""
        left = ""
        if patience_s:
            with contextlib.suppress(TiltyardError):
                self._write(line(Request(do="end")))
        self._over.set()
        with contextlib.suppress(OSError):
            self._input.close()
        give_up = time.monotonic() + patience_s
        with contextlib.suppress(TiltyardError, EOFError):
            while time.monotonic() < give_up:
                if (said := self._line()) is not None and said.failed is not None:
                    left = said.failed.text
        self._let_go()
        return left

    def _let_go(self) -> int:
        """Of the pipes, and of the process behind them; its exit status."""
        self._over.set()
        with self._writing, contextlib.suppress(OSError):
            self._input.close()
        self._selector.close()
        self._output.close()
        try:
            return self._process.wait(_WORDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _beat(self) -> None:
        while not self._over.wait(_BEAT_S):
            self._write(line(Request(do="beat")))

    def _write(self, data: bytes) -> None:
        """One that has died is found out by its silence."""
        left = memoryview(data)
        with self._writing, contextlib.suppress(OSError, ValueError):
            while left:
                left = left[os.write(self._input.fileno(), left) :]

    def _greeting(self) -> Hello:
        give_up = time.monotonic() + _BEGINS_S
        while time.monotonic() < give_up:
            if (said := self._heard()) is not None:
                if said.hello is not None:
                    return said.hello
                if said.failed is not None:
                    self.close(0)
                    raise said.failed.error(str(self._place))
        self.close(0)
        raise TiltyardError(f"{self._place}: the lab there says nothing in {_BEGINS_S:g} s")

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
        text, _, self._rest = self._rest.partition(b"\n")
        try:
            return Answer.model_validate_json(text)
        except ValidationError:
            self.close()
            noise = text.decode(errors="replace").strip()[:_NOISE]
            raise TiltyardError(
                f'{self._place}: "{noise}" is printed where the lab there should answer. '
                "Fix: a login that prints nothing when nobody looks (~/.bashrc)"
            ) from None

    def _lost(self) -> NoReturn:
        """Why there is none any more."""
        status = self._let_go()
        said = commands.complaint(self._words.heard(_WORDS_S), status)
        if self._place.is_lost(status, said):
            raise UnreachableError(f"lost the connection to {self._place}: {said}")
        if said.startswith("Traceback"):
            said = self._words.line(-1, _WORDS_S)
        if status > _KILLED:
            number = signal.Signals(status - _KILLED).name
            raise UnreachableError(f"{self._place}: the lab there was killed by {number}")
        raise TiltyardError(f"{self._place}: {said}")


class Deputies:
    """Those of a run, one a host; a context, which ends them."""

    def __init__(self) -> None:
        """None is started yet."""
        self._of: dict[tuple[str, ...], Deputy] = {}
        self.apart: dict[tuple[str, ...], bool] = {}
        """Whether a host has a kernel of its own, where that was asked."""
        self.without_lab: set[tuple[str, ...]] = set()
        """Hosts on which none can be started."""

    def __enter__(self) -> Self:
        """All of them."""
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self.close()

    def of(self, place: Place, ledger: Recorder) -> Deputy:
        """The deputy on a host; another one where the connection to it was lost."""
        known = self._of.get(place.ssh)
        if known is None or not known.lives:
            how = "run" if isinstance(ledger, Ledger) else "preview"
            former = known.hello if known else None
            self._of[place.ssh] = known = Deputy(place, how, ledger, former)
        return known

    def boot(
        self,
        place: Place,
        ledger: Recorder,
        command: Sequence[str],
        check: Check,
        note: Callable[[str], None],
    ) -> float:
        """Boot a host; what is kept there for the run, its images among it, stays.

        Returns:
            For how many seconds it is up.

        Raises:
            BusyError: if others are at work there; it is not booted.
            UnreachableError: if it does not come back.
            TiltyardError: if it cannot be booted.
        """
        deputy = self.of(place, ledger)
        former = deputy.hello
        deputy.boot(command, check, note)
        with phase(f"waiting until {place} has booted"):
            up_s, is_kept = await_boot(place, former.process.boot, former.directory, check)
        if is_kept:
            self._of[place.ssh] = Deputy(place, "run", ledger, former, again=True)
        return up_s

    def close(self) -> None:
        """End all; what one could not take back the ledger of this host asks for again."""
        while self._of:
            self._of.popitem()[1].close()

    def planned_end(self) -> list[PlannedPart]:
        """What would be taken back at the end of the run, of those of a dry run."""
        parts = []
        for ssh, deputy in self._of.items():
            lines = deputy.ask(Request(do="planned_end"))
            assert isinstance(lines, list)
            parts.append(PlannedPart("", f"{END_OF_RUN}, on {Place(ssh)}", tuple(map(str, lines))))
        return parts


def restore_there(place: Place) -> PutBack:
    """Take back what runs that died have left on another host.

    Raises:
        UnreachableError: if the host is not reached.
        TiltyardError: if the lab cannot be started there.
    """
    deputy = Deputy(place, "preview")
    try:
        found = deputy.ask(Request(do="restore"))
    finally:
        deputy.close()
    return TypeAdapter(PutBack).validate_python(found)
