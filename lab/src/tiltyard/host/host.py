"""A host as one pipe to the engine's agent there: whatever is read of it is one request.

The agent opens, executes and ends; the lab says what, and opens nothing of the host itself.
"""

import atexit
import itertools
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from tiltyard.errors import HostLacksError
from tiltyard.executors.engine import Engine
from tiltyard.executors.words import Words
from tiltyard.host.commands import shown
from tiltyard.wire import (
    PROTOCOL,
    RECORD_SEPARATOR,
    HostDone,
    HostFound,
    HostLine,
    HostSeen,
)

_ANSWER_BYTES: Final = 9 * 2**20
"""More than its longest line, which has 8 MiB: a host with 500 processors has 3 to tell."""
_ANSWER_S: Final = 300.0
"""For commands that each have a minute."""
_GRACE_S: Final = 5.0
_WORDS_S: Final = 1.0
_CHUNK: Final = 1 << 20
_NOT_ASKED: Final = "it answers something else than was asked"


class Host:
    """The agent of a host. It ends with its input, and so with us; several threads may ask."""

    def __init__(self, argv: Sequence[str], name: str = "this host") -> None:
        """Start it, and hear its first line.

        Args:
            argv: the engine, or the command that stands for it, without its verb.
            name: as a person calls the host.

        Raises:
            HostLacksError: if what starts there is no agent of this lab.
        """
        self.name = name
        self._one_at_a_time = threading.Lock()
        self._numbers = itertools.count(1)
        self._rest = b""
        self._words = Words()
        try:
            self._process = subprocess.Popen(
                (*argv, "agent"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words.into,
                start_new_session=True,
                bufsize=0,
            )
        except BaseException:
            self._words.abandon()
            raise
        self._words.begin()
        hello = self._heard().hello
        if hello is None or hello.protocol != PROTOCOL:
            raise self._lost(f"it does not speak protocol {PROTOCOL}, as this lab does")

    @property
    def is_there(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def read(
        self,
        *,
        files: Iterable[str] = (),
        links: Iterable[str] = (),
        outputs: Iterable[Sequence[str]] = (),
    ) -> HostFound:
        """What a host has of all this, in one exchange; what it has not is left out.

        Args:
            files: absolute paths; ``*``, ``?`` and ``[0-9]`` stand for a part of one name. Of a
                longer file it is the first MiB.
            links: the same; where whatever exists really is.
            outputs: commands that only tell; each has a minute.

        Raises:
            HostLacksError: if it does not answer.
        """
        wanted = {
            "files": list(files),
            "links": list(links),
            "outputs": [list(argv) for argv in outputs],
        }
        _, done = self._ask({"read": wanted})
        if done.read is None:
            raise self._lost(_NOT_ASKED)
        return done.read

    def begin_watch(
        self, who: Mapping[str, Sequence[int]], disk: Mapping[str, object] | None
    ) -> int:
        """Read the host's counters now, to tell later what has happened since then.

        Args:
            who: ``ours``, processes that are ours with all that they have started, and ``servers``,
                those of the system under test.
            disk: what the work lies on (``HostDisk`` of the wire), if that is a disk.

        Returns:
            The number of the watch.

        Raises:
            HostLacksError: if it does not answer.
        """
        begin = {"who": who} | ({"disk": disk} if disk else {})
        number, _ = self._ask({"watch": {"begin": begin}})
        return number

    def watched(
        self, number: int, who: Mapping[str, Sequence[int]], cpus: Sequence[int] | None
    ) -> HostSeen:
        """What has happened since a watch has begun, or was told before.

        Args:
            number: of the watch.
            who: as they are now.
            cpus: those that measured, none for all; ``None`` where they are not known.

        Raises:
            HostLacksError: if it does not answer, or the watch has ended.
        """
        asked = {"of": number, "who": who} | ({} if cpus is None else {"cpus": list(cpus)})
        _, done = self._ask({"watch": {"tell": asked}})
        if done.watch is None:
            raise self._lost(_NOT_ASKED)
        return done.watch

    def end_watch(self, number: int) -> None:
        """Forget a watch.

        Raises:
            HostLacksError: if it does not answer, or the watch has ended.
        """
        self._ask({"watch": {"end": number}})

    def _ask(self, what: Mapping[str, object]) -> tuple[int, HostDone]:
        """One exchange: its number, and what came of it."""
        with self._one_at_a_time:
            number = next(self._numbers)
            line = json.dumps({"id": number, **what}, ensure_ascii=False)
            try:
                self._tell(f"{line}\n".encode())
                answer = self._heard()
            except BaseException:
                # What it says later would be taken for the next answer.
                self._process.kill()
                raise
        if answer.id != number or (answer.done is None) == (answer.failed is None):
            raise self._lost(_NOT_ASKED)
        if answer.failed is not None:
            raise HostLacksError(f"{self.name}: {shown(answer.failed.text)}")
        assert answer.done is not None
        return number, answer.done

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._process.stdin.fileno(), left) :]
        except (BrokenPipeError, ValueError):  # The latter of a pipe that we have closed.
            raise self._lost("it has ended") from None

    def _heard(self) -> HostLine:
        """The next line that is an agent's.

        Raises:
            HostLacksError: if there is none.
        """
        give_up = time.monotonic() + _ANSWER_S
        assert self._process.stdout is not None
        while b"\n" not in self._rest:
            left_s = give_up - time.monotonic()
            if left_s <= 0 or not select.select([self._process.stdout], [], [], left_s)[0]:
                raise self._lost(f"it has not answered for {_ANSWER_S:g} s")
            if not (chunk := os.read(self._process.stdout.fileno(), _CHUNK)):
                raise self._lost("it has ended")
            self._rest += chunk
            if len(self._rest) > _ANSWER_BYTES:
                raise self._lost("its answer does not end")
        line, _, self._rest = self._rest.partition(b"\n")
        noise, mark, own = line.partition(RECORD_SEPARATOR)
        try:
            if mark and not noise:
                return HostLine.model_validate_json(own)
        except ValidationError:
            pass
        raise self._lost(f'"{shown(line.decode(errors="replace"))}" is no answer')

    def _lost(self, why: str) -> HostLacksError:
        """It is of no use any more."""
        self._process.kill()
        said = self._words.line(-1, _WORDS_S)
        self.close()
        return HostLacksError(f"the engine's agent on {self.name}: {why}{said and f': {said}'}")

    def close(self) -> None:
        """End it, and wait for its end. Harmless when it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Here:
    """The agent of this host, of this process."""

    def __init__(self) -> None:
        """None is started yet."""
        self._lock = threading.Lock()
        self._host: Host | None = None
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._close)

    def __call__(self) -> Host:
        """The one that is there, or another one."""
        with self._lock:
            if self._host is None or not self._host.is_there:
                self._close()
                self._host = Host((str(Engine.find().path),))
            return self._host

    def _close(self) -> None:
        if self._host:
            self._host.close()
        self._host = None

    def _forget(self) -> None:
        """A fork has pipes to the agent of its parent."""
        self._lock, self._host = threading.Lock(), None


here: Final = _Here()
"""The agent of this host: started when it is first asked for, and again where it has ended."""
