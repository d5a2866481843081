"""A host as one pipe to the engine's agent there: whatever is read of it is one request.

The agent opens, executes and ends; the lab says what, and opens nothing of the host itself. To
another host the engine is copied through the same pipe, and its file is removed when it runs.
"""

import atexit
import contextlib
import itertools
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tiltyard.address import THIS_HOST, Address
from tiltyard.errors import (
    BusyError,
    HostLacksError,
    RefusedError,
    TiltyardError,
    UsageError,
)
from tiltyard.executors.engine import Engine
from tiltyard.host.answers import answers
from tiltyard.host.commands import shown
from tiltyard.host.pipe import STALLED_S, THIS, Pipe
from tiltyard.host.sent import COPY, engine_for, packed
from tiltyard.phases import phase
from tiltyard.wire import (
    PROTOCOL,
    HostDid,
    HostDone,
    HostFound,
    HostLine,
    HostOutput,
    HostProgress,
    HostSeen,
    HostServer,
    HostSettled,
    HostUndone,
)

_ANSWER_S: Final = 300.0
"""For commands that each have a minute."""
_RUNS_S: Final = 300.0
"""How long a command may take, unless its caller knows better."""
_WRITES_S: Final = 600.0
"""For what sync(2) has to write; an agent's lease is longer."""
_BEAT_S: Final = 240.0
"""So often one on another host is told that we are there."""
_LEASE: Final = "900"
"""Seconds after which that ends by itself when nothing more reaches it."""
_GOES_S: Final = 30.0
"""How long a command that boots a host has to fail; a connection may outlast the host."""
_NOT_ASKED: Final = "it answers something else than was asked"
_UNDONE_S: Final = 24 * 3600.0
"""Nobody waits longer for what millions of files take."""
_LOOK_S: Final = 0.2
"""So often it is looked whether ops are to be stopped."""
_ERRORS: Final = {"failed": TiltyardError, "refused": RefusedError, "busy": BusyError}
"""Kind of a failure → its class; of all others it is that of a host that lacks something."""


class Host(Pipe):
    """The agent of a host. It ends with its input, and so with us; several threads may ask."""

    def __init__(
        self,
        argv: Sequence[str],
        name: str = THIS,
        reach: Address | None = None,
        pass_fds: Sequence[int] = (),
        sends: Path | None = None,
    ) -> None:
        """Start it, and hear its first line.

        Args:
            argv: the command that becomes the agent; on another host it takes a copy of the engine.
            name: as a person calls the host.
            reach: how another host is reached.
            pass_fds: file descriptors that it has as well.
            sends: the engine that another host takes a copy of.

        Raises:
            UnreachableError: if the host is not reached.
            HostLacksError: if what starts there is no agent of this lab.
        """
        super().__init__(argv, name, reach, pass_fds)
        self._one_at_a_time = threading.Lock()
        self._numbers = itertools.count(1)
        self.has_recovered = False
        """Whether it has put back what others left."""
        self.ledgers: set[str] = set()
        """Names of those in which it has what it has changed."""
        self.holds: str | None = None
        """The run for which it holds the machine."""
        try:
            if sends:
                self._send_engine(sends)
            hello = self._heard(_ANSWER_S).hello
        except BaseException:
            self._kill()
            self.close()
            raise
        if hello is None or hello.protocol != PROTOCOL:
            raise self._lost(f"it does not speak protocol {PROTOCOL}, as this lab does")
        self._has_begun = True
        self.boot = hello.boot
        """Which boot of the host this is: random(4)."""
        self.release = hello.release
        """Of its kernel."""
        self.engine = f"/proc/{hello.pid}/exe" if reach else argv[0]
        """Its file; a copy on another host is removed, and reached so as long as the agent is."""
        self.cpus = hello.cpus
        """Those that it may use."""
        self.uid = hello.uid
        """As whom it reads and changes."""

    @classmethod
    def here(cls) -> "Host":
        """That of this host."""
        engine, (read, write) = Engine.find().path, os.pipe()
        try:
            host = cls((str(engine), "agent", "--after", str(write)), pass_fds=(write,))
            # A fork of ours has it too, until it ends: what that has up is taken down before.
            host.hold = (os.dup(read),)
            return host
        finally:
            os.close(read)
            os.close(write)

    @classmethod
    def there(cls, reach: Address, engine: Path) -> "Host":
        """That of another one, where nothing but the kernel, a shell and gzip is needed.

        Args:
            reach: the host.
            engine: what is sent there and becomes the agent.
        """
        directory = f"tiltyard-{secrets.token_hex(4)}-agent"
        argv = reach.argv(("sh", "-c", COPY, directory, _LEASE))
        with phase(f"sending the engine to {reach}"):
            host = cls(argv, str(reach), reach, sends=engine)
        threading.Thread(target=host._beat, daemon=True).start()
        return host

    def _send_engine(self, engine: Path) -> None:
        """Hear of what sort the host is, and have the engine there."""
        there = self._own(STALLED_S).decode(errors="replace")
        try:
            copy = packed(engine_for(there, engine))
        except HostLacksError as error:
            self._kill()
            raise HostLacksError(f"{self.name} is {shown(there)}, but {error}") from None
        self._tell(b"%d\n" % len(copy) + copy)

    def _beat(self) -> None:
        """Say that we are there, so that its lease does not end during a long trial."""
        while self.is_there:
            time.sleep(_BEAT_S)
            with self._one_at_a_time, contextlib.suppress(HostLacksError):
                self._tell(_line({"beat": {}}))
                self._heard(STALLED_S)

    def read(
        self,
        *,
        files: Iterable[str] = (),
        links: Iterable[str] = (),
        limits: Iterable[str] = (),
        programs: Iterable[str] = (),
        space: Iterable[str] = (),
        outputs: Iterable[Sequence[str]] = (),
        devices: Iterable[str] = (),
        users: Iterable[str] = (),
        direct: Iterable[str] = (),
    ) -> HostFound:
        """What a host has of all this, in one exchange; what it has not is left out.

        Args:
            files: absolute paths; ``*``, ``?`` and ``[0-9]`` stand for a part of one name. Of a
                longer file it is the first MiB.
            links: the same; where whatever exists really is.
            limits: names of files of control groups, ``memory.max``; that of the agent's group and
                of each above it is among the files.
            programs: names of programs.
            space: absolute paths of which the file system's space is wanted.
            outputs: commands that only tell; each has a minute.
            devices: absolute paths of block devices that are described.
            users: the same; who uses each.
            direct: absolute paths of directories in which a file is opened for direct I/O; it is
                made for that, and removed.

        Raises:
            HostLacksError: if it does not answer.
        """
        wanted = {
            "files": list(files),
            "links": list(links),
            "limits": list(limits),
            "programs": list(programs),
            "space": list(space),
            "outputs": [list(argv) for argv in outputs],
            "devices": list(devices),
            "users": list(users),
            "direct": list(direct),
        }
        _, done = self._ask({"read": wanted})
        if done.read is None:
            raise self._lost(_NOT_ASKED)
        return done.read

    def run(
        self, argv: Sequence[str], *, limit_s: float | None = None, ok: Sequence[int] = (0,)
    ) -> HostOutput:
        """Run a command there to its end.

        Args:
            argv: program and arguments.
            limit_s: after this it is ended, and that is an error; 300 if left out.
            ok: exit codes that are no failure.

        Raises:
            HostLacksError: if there is no such program, or the agent does not answer.
            TiltyardError: if it fails; the message has its complaint.
        """
        limit_s = _RUNS_S if limit_s is None else limit_s
        asked = {"argv": [*argv], "limit_s": limit_s, "ok": [*ok]}
        _, done = self._ask({"run": asked}, limit_s + _ANSWER_S)
        if done.run is None:
            raise self._lost(_NOT_ASKED)
        return done.run

    def settle(self, limit_s: float, *, sync: bool = True) -> HostSettled:
        """Have what was written reach the disks, and wait until they have come to rest.

        Args:
            limit_s: longest wait for others; 0: only what waits to be written is told.
            sync: whether what is dirty is written first.

        Raises:
            HostLacksError: if it does not answer.
        """
        asked = {"settle": {"limit_s": limit_s, "sync": sync}}
        _, done = self._ask(asked, limit_s + _WRITES_S)
        if done.settled is None:
            raise self._lost(_NOT_ASKED)
        return done.settled

    def begin_watch(self, asked: Mapping[str, object]) -> int:
        """Read the host's counters now, to tell later what has happened since then.

        Args:
            asked: ``HostWatchBegin`` of the wire.

        Returns:
            The number of the watch.

        Raises:
            HostLacksError: if it does not answer.
        """
        return self._ask({"watch": {"begin": asked}})[0]

    def watched(
        self,
        number: int,
        who: object,
        cpus: Sequence[int] | None,
        *,
        last: bool = False,
    ) -> HostSeen:
        """What has happened since a watch has begun, or was told before.

        Args:
            number: of the watch.
            who: whose work is nobody else's now (``HostWho`` of the wire).
            cpus: those that measured, none for all; ``None`` where they are not known.
            last: the watch ends with it.

        Raises:
            HostLacksError: if it does not answer, or the watch has ended.
        """
        asked = {"of": number, "who": who} | ({} if cpus is None else {"cpus": list(cpus)})
        _, done = self._ask({"watch": {"last" if last else "tell": asked}})
        if done.watch is None:
            raise self._lost(_NOT_ASKED)
        return done.watch

    def end_watch(self, number: int) -> None:
        """Forget a watch."""
        self._ask({"watch": {"end": number}})

    def change(
        self,
        ops: Sequence[Mapping[str, object]],
        check: Callable[[], None] = lambda: None,
        tell: Callable[[HostProgress], None] = lambda _: None,
    ) -> HostDid:
        """Change the host; where one op fails those before it are taken back.

        Args:
            ops: ``HostOp`` of the wire, in order.
            check: called while they are executed; what it raises stops them as soon as they can.
            tell: how far they are.

        Raises:
            RefusedError: if something could be lost.
            UnreachableError: if the host is not reached any more.
            HostLacksError: if it lacks something, or its agent does not answer.
            TiltyardError: if one fails.
        """
        with self._one_at_a_time:
            number = next(self._numbers)
            line = _line({"id": number, "ops": {"list": list(ops)}})
            try:
                self._tell(line)
                answer, stopped = self._worked(number, check, tell)
            except BaseException:
                self._let_go()
                raise
        if stopped and answer.done is None:
            raise stopped
        did = self._done(number, answer).ops
        if did is None or not answers(did, ops):
            raise self._lost(_NOT_ASKED)
        self.ledgers.add(did.ledger)
        return did

    def _worked(
        self, number: int, check: Callable[[], None], tell: Callable[[HostProgress], None]
    ) -> tuple[HostLine, Exception | None]:
        """The answer to ops, and what has stopped them."""
        stopped: Exception | None = None
        heard = told = looked = time.monotonic()
        while True:
            if self._has_line() or self._waits(_LOOK_S):
                answer, heard = self._heard(STALLED_S), time.monotonic()
                if answer.progress:
                    tell(answer.progress)
                elif answer.beat is None:
                    return answer, stopped
            if (now := time.monotonic()) - looked < _LOOK_S:
                continue
            looked = now
            if stopped is None:
                try:
                    check()
                except Exception as error:
                    stopped = error
                    self._tell(_line({"cancel": number}))
            if now - told > _BEAT_S:
                told = now
                self._tell(_line({"beat": {}}))
            if now - heard > _BEAT_S + STALLED_S:
                raise self._silent(f"it has said nothing for {now - heard:.0f} s")

    def undo(self, ledger: str, numbers: Sequence[int], *, still: bool = False) -> HostUndone:
        """Take changes back.

        Args:
            ledger: name of the ledger that has them: the agent's, or that of one that has ended.
            numbers: of the changes; what is not outstanding is passed over.
            still: they stay in the ledger, as they are made again at once.

        Raises:
            HostLacksError: if it does not answer.
        """
        return self._undone({"undo": {"ledger": ledger, "numbers": [*numbers], "still": still}})

    def recover(self, *, kept: bool = False, kept_for: str = "") -> HostUndone:
        """Put back what agents that died have left.

        Args:
            kept: also what a study keeps to go on with it after a boot.
            kept_for: the same, of this one.

        Raises:
            HostLacksError: if it does not answer.
        """
        whose = {"kept_for": kept_for} if kept_for else {}
        found = self._undone({"recover": {**whose, "kept": kept}})
        self.has_recovered = True
        return found

    def _undone(self, what: Mapping[str, object]) -> HostUndone:
        _, done = self._ask(what, _UNDONE_S)
        if done.undone is None:
            raise self._lost(_NOT_ASKED)
        return done.undone

    def servers(self, marks: Sequence[str]) -> list[HostServer]:
        """What has become of processes that it has started, in the order of their marks."""
        _, done = self._ask({"servers": {"marks": [*marks]}})
        if done.servers is None or len(done.servers) != len(marks):
            raise self._lost(_NOT_ASKED)
        return done.servers

    def may_leave(self, command: Sequence[str]) -> None:
        """Make sure that it can be booted, and that nobody else loses anything by it.

        Raises:
            BusyError: if others are at work there.
            HostLacksError: if it cannot be booted.
        """
        self._ask({"leave": {"argv": [*command], "study": "", "alone": True, "asks": True}})

    def leave(
        self, command: Sequence[str], study: str, keep: Sequence[int] = (), *, alone: bool = False
    ) -> None:
        """Have it booted: it takes everything back but what is kept, and carries the command out.

        Args:
            command: what boots it.
            study: who goes on after the boot (:meth:`take_up`).
            keep: numbers of the changes that are kept.
            alone: only where :meth:`may_leave` says so.

        Raises:
            BusyError: if others are at work there; nothing was done.
            HostLacksError: if it cannot be booted, or does not answer.
            TiltyardError: if something cannot be taken back, or the command fails: then it still
                has what is kept, as any other change.
        """
        asked = {"argv": [*command], "study": study, "keep": [*keep], "alone": alone}
        with self._one_at_a_time:
            number = next(self._numbers)
            try:
                self._tell(_line({"id": number, "leave": asked}))
                answer = self._heard(_UNDONE_S)
                if answer.progress:
                    # One that does not answer any more goes down with its host.
                    with contextlib.suppress(TiltyardError):
                        answer = self._heard(_GOES_S)
            except BaseException:
                self._kill()
                raise
        if answer.progress is None:
            self._done(number, answer)
        self.ledgers.clear()

    def take_up(self, study: str) -> bool:
        """From now on it has what was kept for a study; whether anything was.

        Raises:
            HostLacksError: if it does not answer, or cannot write that down.
        """
        _, done = self._ask({"take_up": {"study": study}})
        if done.taken_up is None:
            raise self._lost(_NOT_ASKED)
        if done.taken_up:
            self.ledgers.add(done.taken_up)
        return bool(done.taken_up)

    def hold_machine(self, what: str, run: str) -> list[str]:
        """From now on no other run changes what is machine-wide there; what was put back before.

        Args:
            what: is to be changed, as a person calls it.
            run: for which, by a name that nobody else has.

        Raises:
            BusyError: if another run holds it.
            RefusedError: if what the last holder left cannot be put back.
            HostLacksError: if it does not answer, or cannot lock anything.
        """
        _, done = self._ask({"hold": {"what": what, "run": run}}, _UNDONE_S)
        if done.held is None:
            raise self._lost(_NOT_ASKED)
        self.holds = done.held.run
        return done.held.done

    def let_go(self, run: str) -> None:
        """Let others change what is machine-wide, unless something of that is still changed.

        Raises:
            HostLacksError: if it does not answer.
        """
        _, done = self._ask({"let_go": {"run": run}})
        if done.held is None:
            raise self._lost(_NOT_ASKED)
        self.holds = done.held.run

    def _ask(
        self, what: Mapping[str, object], limit_s: float | None = None
    ) -> tuple[int, HostDone]:
        """One exchange: its number, and what came of it."""
        with self._one_at_a_time:
            number = next(self._numbers)
            line = _line({"id": number, **what})
            try:
                self._tell(line)
                answer = self._heard(_ANSWER_S if limit_s is None else limit_s)
            except BaseException:
                # What it says later would be taken for the next answer.
                self._kill()
                raise
        return number, self._done(number, answer)

    def _done(self, number: int, answer: HostLine) -> HostDone:
        """What came of a request.

        Raises:
            TiltyardError: if it has failed, of the class that says why.
        """
        if answer.id != number or (answer.done is None) == (answer.failed is None):
            raise self._lost(_NOT_ASKED)
        if answer.failed is None:
            assert answer.done is not None
            return answer.done
        text = "; ".join(map(shown, (answer.failed.text, *answer.failed.left)))
        kind = _ERRORS.get(answer.failed.kind, HostLacksError)
        raise kind(text if self.name == THIS else f"{self.name}: {text}")


def _line(request: Mapping[str, object]) -> bytes:
    """A request as it is told.

    Raises:
        UsageError: if a name in it is no text.
    """
    text = json.dumps(request, ensure_ascii=False)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError as error:
        first, last = text.rfind('"', 0, error.start) + 1, text.find('"', error.start)
        name = shown(text[first:last].encode(errors="surrogateescape").decode(errors="replace"))
        raise UsageError(
            f"{name}: a name that is not UTF-8 cannot be told to a host. Fix: another name"
        ) from None


class _Hosts:
    """The agents of this process: each is started when first asked for, and anew if it ended."""

    def __init__(self) -> None:
        """None is started yet."""
        self._lock = threading.Lock()
        self._hosts: dict[tuple[Address, Path | None], Host] = {}
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.close)

    def of(self, at: Address, engine: Path | None = None) -> Host:
        """The one that is there, or another one.

        Args:
            at: the host.
            engine: what its agent is there, where that is not ours: then it is there for no more
                than to be executed.
        """
        with self._lock:
            host = self._hosts.get((at, engine))
            if host is None or not host.is_there:
                if host is not None:
                    host.close()
                is_here = not at.is_remote
                host = Host.here() if is_here else Host.there(at, engine or Engine.find().path)
                self._hosts[at, engine] = host
            return host

    def engines(self, at: Address) -> list[str]:
        """Files of those that are on a host now."""
        return [one.engine for key, one in [*self._hosts.items()] if key[0] == at]

    def let_go(self, run: str, at: Address | None = None) -> None:
        """Let go of the machine wherever it is held for a run, or on one host only."""
        for host in [one for key, one in [*self._hosts.items()] if at in (None, key[0])]:
            if host.is_there and host.holds == run:
                with contextlib.suppress(TiltyardError):  # It ends with the agent.
                    host.let_go(run)

    def close(self, *, here: bool = True) -> None:
        """End all of them, or only those of other hosts; what asks again has another one."""
        for at in {at for at, _ in self._hosts if at.is_remote or here}:
            self.end(at)

    def end(self, at: Address) -> None:
        """End those of one."""
        for key in [key for key in self._hosts if key[0] == at]:
            self._hosts.pop(key).close()

    def _forget(self) -> None:
        """A fork has pipes to the agents of its parent."""
        self._lock, self._hosts = threading.Lock(), {}


hosts: Final = _Hosts()


def here() -> Host:
    """The agent of this host."""
    return hosts.of(THIS_HOST)
