"""The deputy's own side: it runs on the other host, and ends when its input does."""

import contextlib
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue, TypeAdapter

from tiltyard.errors import InterruptedRunError, NotRestoredError, TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.executors.words import MESSAGE_BYTES
from tiltyard.host.changes import MadeDirectory
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.isolation import Isolations, isolate
from tiltyard.host.ledger import Ledger, recover, restore
from tiltyard.host.processes import Process, end_processes
from tiltyard.host.record.stack import DISK_UNDER_TEST, disks_below
from tiltyard.host.recorder import Recorder
from tiltyard.host.recovery import PutBack
from tiltyard.host.telemetry import disk_under
from tiltyard.systems import kind
from tiltyard.systems.deputy.messages import Answer, Failure, Hello, Request, UpThere, line, plain
from tiltyard.systems.kind import CONSOLES, Site, System, Up
from tiltyard.systems.planned import PlannedPart
from tiltyard.systems.preview import Preview, planned_turn

LEASE_S = 900.0
"""After so long without a word a deputy ends by itself: some ways break without ending its
input."""
_BEAT_S: Final = 15.0
"""So often whoever waits for an answer is told that it is there."""
NAME: Final = "deputy"
"""End of the name of its directory."""
_FORMER_S: Final = 60.0
_STEP_S: Final = 0.05
_PARTS: Final = TypeAdapter(list[PlannedPart])
_PUT_BACK: Final = TypeAdapter(PutBack)


def main(home: str, how: str) -> None:
    """Serve until the input ends; or take back what a deputy that has died left, and end."""
    directory = Path(home)
    if how == "restore":
        # A person, or a ledger of another host, asks: nobody is there to send requests.
        raise SystemExit(_restore_alone(directory))
    with _Pipe() as pipe:
        try:
            _Deputy(directory, pipe, how).serve()
        except (TiltyardError, OSError) as error:
            pipe.say(Answer(failed=Failure.of(error)))
            raise SystemExit(1) from None


class _Pipe:
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

    def __enter__(self) -> "_Pipe":
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


class _Deputy:
    """Systems of this host, as a lab on another one asks for them."""

    def __init__(self, directory: Path, pipe: _Pipe, how: str) -> None:
        """Nothing is opened yet."""
        self._directory = directory
        self._pipe = pipe
        self._is_run = how == "run"
        self._recorder: Recorder = Preview()
        self._systems: dict[str, System] = {}
        self._up: dict[str, Up] = {}
        self._isolated: dict[str, str] = {}
        """Whether others are kept off CPUs, as a fact."""
        self._apart: tuple[str, ...] = ()
        """Starts an engine where they are not."""

    def serve(self) -> None:
        """From the first word to the last request; then all is taken back."""
        me = Process.current()
        (self._directory / "process.json").write_text(me.model_dump_json())
        for name in ("study", "work"):
            (self._directory / name).mkdir(exist_ok=True)
        hello = Hello(process=me, directory=self._directory)
        try:
            if not self._is_run:
                self._pipe.say(Answer(hello=hello))
                self._answer_all()
            else:
                former = next(self._pipe.requests(), None)
                told = self._recover(former.given if former else {})
                with Ledger() as ledger:
                    self._recorder = ledger
                    self._pipe.say(Answer(hello=hello.model_copy(update={"recovered": told})))
                    self._answer_all()
        except NotRestoredError:
            (self._directory / "process.json").unlink()
            raise
        except BaseException:
            self._remove()
            raise
        self._remove()

    def _remove(self) -> None:
        """The copy, unless something is mounted in it."""
        MadeDirectory(path=self._directory).undo()

    def _recover(self, former: dict[str, JsonValue]) -> tuple[str, ...]:
        """Wait for the deputy that this one takes the place of, and take back what it left."""
        if former:
            before, give_up = Process.model_validate(former), time.monotonic() + _FORMER_S
            while before.lives() and time.monotonic() < give_up:
                time.sleep(_STEP_S)
        told = recover()
        return (*told, *_remove_copies(self._directory.parent, but=self._directory))

    def _answer_all(self) -> None:
        for request in self._pipe.requests():
            if request.do == "end":
                return
            try:
                with self._pipe.beating():
                    answer = Answer(done=plain(self._handlers[request.do](request)))
            except Exception as error:
                # Whatever is wrong with one system, what was changed for others is kept in hand.
                answer = Answer(failed=Failure.of(error))
            self._pipe.say(answer)

    @property
    def _handlers(self) -> dict[str, Callable[[Request], Any]]:
        return {
            "open": self._open,
            "problems": lambda one: [asdict(each) for each in self._of(one).problems()],
            "bring_up": self._bring_up,
            "refresh": lambda one: self._of(one).refresh(),
            "take_down": self._take_down,
            "lost": lambda one: self._up[one.system].lost(),
            "planned": self._planned,
            "planned_end": lambda _: self._planned_end(),
            "restore": lambda _: _PUT_BACK.dump_python(_restore(self._directory), mode="json"),
        }

    def _of(self, request: Request) -> System:
        return self._systems[request.system]

    def _open(self, request: Request) -> None:
        """A system as the study has it, with the files that it names."""
        given: Any = request.given
        study = self._directory / "study"
        for name, text in given["files"].items():
            (path := study / name).parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        work, check = self._directory / "work", self._pipe.check
        site = Site(study, work, self._recorder, there=given["there"], check=check, note=self._note)
        opened = kind(given["kind"]).system(request.system, given["settings"], site)
        self._systems[request.system] = opened

    def _note(self, text: str) -> None:
        self._pipe.say(Answer(note=text))

    def _isolate(self, asked: Any) -> None:
        """Keep others off the CPUs that measure here, from the first turn on to the end."""
        assert isinstance(self._recorder, Ledger)
        found = isolate(self._recorder, tuple(asked), self._note)
        self._isolated = Isolations(tuple(asked)).fact(found)
        self._apart = found.command

    def _bring_up(self, request: Request) -> UpThere:
        if (asked := request.given.get("isolate")) and not self._isolated:
            self._isolate(asked)
        up = self._up[request.system] = self._of(request).bring_up()
        directory = up.target if isinstance(up.target, Path) and up.target.is_dir() else None
        where = up.devices[0] if up.devices else up.target
        on_disk = disks_below(where) if isinstance(where, str | Path) and not up.engine else ""
        return UpThere(
            target=up.target,
            commands=up.commands,
            facts={
                **up.facts,
                **({DISK_UNDER_TEST: on_disk} if on_disk else {}),
                **self._isolated,
            },
            failed_boots=up.failed_boots,
            prefix=(*self._apart, *up.prefix),
            engine=up.engine or (str(Engine.find().path),),
            cpus=up.cpus,
            variables=dict(up.variables),
            far_place=up.far_place,
            recipe=up.recipe.anywhere({}),
            who={
                "ours": [os.getpid()],
                "servers": list(up.servers()),
                "programs": [str(Engine.find().path)],
            },
            disk=disk_under(directory),
        )

    def _take_down(self, request: Request) -> dict[str, str]:
        """What the kernels of its guests have said last goes to the study folder."""
        self._of(request).take_down()
        consoles = list((self._directory / "study" / CONSOLES).glob("*"))
        most = MESSAGE_BYTES // 8 // max(1, len(consoles))
        said = {console.name: _end_of(console, most) for console in consoles}
        for console in consoles:
            console.unlink()
        return said

    def _planned(self, request: Request) -> list[Any]:
        assert isinstance(self._recorder, Preview)
        parts = list(planned_turn(self._recorder, request.system, self._of(request)))
        dumped: list[Any] = _PARTS.dump_python(parts, mode="json")
        return dumped

    def _planned_end(self) -> list[str]:
        assert isinstance(self._recorder, Preview)
        self._recorder.tell_way_back("run")
        return list(self._recorder.new_lines())


def _restore(directory: Path) -> PutBack:
    """Take back what has died on this host; where nothing is left, copies are of no use."""
    found = restore()
    if found.left:
        return found
    done = _remove_copies(directory.parent, but=directory)
    return PutBack((*found.done, *done), ())


def _end_of(file: Path, most_bytes: int) -> str:
    """As much of it as one answer has room for, whatever is escaped there."""
    with file.open("rb") as said:
        said.seek(max(0, file.stat().st_size - most_bytes))
        return said.read(most_bytes).decode(errors="replace")


def _remove_copies(home: Path, but: Path) -> list[str]:
    """Copies of deputies that have died, also with an earlier boot before they were whole.

    One that is being made has told of no process yet, and one of another host, whose users have the
    same home, is not ours.
    """
    done: list[str] = []
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    for copy in set(home.glob(f"{PREFIX}*-{NAME}")) - {but}:
        with contextlib.suppress(OSError, ValueError, TiltyardError):
            if (told := copy / "process.json").exists() and told.stat().st_size:
                process = Process.model_validate_json(told.read_text())
                died = not process.lives() and not process.is_elsewhere
            else:
                died = copy.stat().st_ctime < booted
            if died:
                done += filter(None, [MadeDirectory(path=copy).undo()])
    return done


def _restore_alone(directory: Path) -> int:
    """Take back what the deputy of a directory left, and remove the directory.

    Returns:
        The exit code; what was done is on the standard output, what was not on the other.
    """
    with contextlib.suppress(OSError, ValueError):
        process = Process.model_validate_json((directory / "process.json").read_text())
        end_processes(lambda: [process.pid] if process.lives() else [], "the deputy")
    found = restore()
    done, left = list(found.done), list(found.left)
    if not left:
        try:
            done += filter(None, [MadeDirectory(path=directory).undo()])
        except (TiltyardError, OSError) as error:
            left.append(str(error))
    sys.stdout.write("".join(f"{text}\n" for text in done))
    sys.stderr.write("; ".join(left))
    return NotRestoredError.exit_code if left else 0
