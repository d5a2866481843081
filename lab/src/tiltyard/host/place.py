"""A host whose settings are read and changed: this one, or another one."""

import fnmatch
import functools
import re
import shlex
import string
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final, NamedTuple, TypeVar

from tiltyard.address import THIS_HOST, Address
from tiltyard.errors import HostLacksError, TiltyardError, UnreachableError
from tiltyard.host import commands
from tiltyard.host.host import Host, hosts
from tiltyard.host.mounts import Mount, mount_over, parse_mounts
from tiltyard.wire import HostDirect, HostFound

T = TypeVar("T")
_FILESYSTEMS: Final = "/proc/filesystems"
MOUNTS: Final = "/proc/self/mountinfo"
"""What :meth:`Place.mounts` reads."""
_MAGIC: Final = re.compile(r"[*?[]")
"""What stands for other characters in a pattern of the agent."""


class Space(NamedTuple):
    """Of a file system, in bytes."""

    block_bytes: int
    size_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Place:
    """Where something is read or changed: by the engine's agent, here as anywhere."""

    address: Address = THIS_HOST

    def __str__(self) -> str:
        """As a person calls it."""
        return str(self.address)

    @property
    def is_remote(self) -> bool:
        """Whether it is another host."""
        return self.address.is_remote

    @property
    def host(self) -> Host:
        """Its agent, which is started where there is none.

        Raises:
            UnreachableError: if the host is not reached.
            HostLacksError: if no agent can be started there.
        """
        return hosts.of(self.address)

    def ask(self, question: Callable[[Host], T]) -> T:
        """What its agent answers; nothing is changed by it.

        That a connection was lost, as by a boot of the host, may show only when it is used: then
        another one is asked, once.

        Raises:
            UnreachableError: if the host is not reached.
            TiltyardError: what the question has raised.
        """
        there = self.host
        try:
            return question(there)
        except UnreachableError:
            if (another := self.host) is there:
                raise
            return question(another)

    def read(self, path: str | PurePath) -> str | None:
        """The text of a small file, without blanks at its ends; ``None`` if it cannot be read."""
        return self.read_all([path]).get(str(path))

    def read_all(self, paths: Iterable[str | PurePath]) -> dict[str, str]:
        """Small files by path, those that cannot be read left out.

        Raises:
            UnreachableError: if the host cannot be reached.
        """
        names = [str(path) for path in paths]
        seen = self._seen
        found: Mapping[str, str] = seen.found.files
        if any(not seen.has(name, seen.files) for name in names):
            found = self.ask(lambda host: host.read(files=map(_exactly, names))).files
        return {name: found[name].strip() for name in names if name in found}

    @contextmanager
    def looking(
        self,
        *,
        files: Sequence[str] = (),
        links: Sequence[str] = (),
        space: Sequence[str] = (),
        direct: Sequence[str] = (),
    ) -> Iterator[None]:
        """What this thread reads in the block is asked for at once, and does not change.

        Args:
            files: see :meth:`tiltyard.host.host.Host.read`; what else is read is asked for then.
            links: the same.
            space: the same.
            direct: the same.
        """
        found = self.ask(
            lambda host: host.read(files=files, links=links, space=space, direct=direct)
        )
        before = _looks.seen.get(self.address)
        _looks.seen[self.address] = _Seen(files, links, found)
        try:
            yield
        finally:
            del _looks.seen[self.address]
            if before is not None:
                _looks.seen[self.address] = before

    @property
    def _seen(self) -> "_Seen":
        return _looks.seen.get(self.address, _NOTHING)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float | None = None,
    ) -> commands.Output:
        """Run a command there to its end.

        Raises:
            UnreachableError: if the host is not reached, or is silent.
            HostLacksError: if it has no such program.
            TiltyardError: if the command fails, prints too much, or what comes is no answer.
        """
        began = time.monotonic()
        said = self.ask(lambda host: host.run(argv, limit_s=timeout_s))
        if said.cut:
            raise TiltyardError(f"{shlex.join(argv)}: it prints more than can be told")
        command = commands.Command(argv=tuple(argv), elapsed_s=time.monotonic() - began)
        stdout, stderr = (text.strip(string.whitespace) for text in (said.stdout, said.stderr))
        return commands.Output(command, stdout, stderr)

    def understood(self) -> AbstractContextManager[None]:
        """What is read of answers in it: they may be anything.

        Raises:
            HostLacksError: instead of whatever reading them has raised.
        """
        return commands.understood(str(self))

    def has(self, program: str) -> bool:
        """Whether there is a program of that name."""
        return self.program(program) is not None

    def program(self, name: str) -> str | None:
        """The path of a program, if there is one of that name."""
        return self.ask(lambda host: host.read(programs=[name])).programs.get(name)

    @property
    def engine(self) -> str:
        """The file of the engine there, for as long as its agent is."""
        return self.host.engine

    @property
    def is_root(self) -> bool:
        """Whether we are root there."""
        return self.ask(lambda host: host.uid) == 0

    @functools.cached_property
    def login(self) -> str:
        """The user that we are there; one without a name by his number."""
        return self.run(("sh", "-c", "id -un 2>/dev/null || id -u")).stdout.rpartition("\n")[2]

    def is_directory(self, path: PurePath) -> bool:
        """Whether there is a directory."""
        return f"{path}/" in self.find_all([f"{path}/"])

    def passes(self, *tests: Sequence[str]) -> list[bool]:
        """What test(1) says there of each."""
        asked = [("test", *words) for words in tests]
        return [one.status == 0 for one in self.ask(lambda host: host.read(outputs=asked)).outputs]

    @property
    def cpus(self) -> set[int]:
        """Those that we may use there."""
        return {*self.ask(lambda host: host.cpus)}

    @functools.cached_property
    def home(self) -> Path:
        """Where its agent works: on another host where a login begins."""
        return Path(self.run(("sh", "-c", "pwd -P")).stdout)

    def knows_filesystem(self, name: str) -> bool:
        """Whether a driver is there, or is a module that the kernel loads when it is needed.

        Source: proc(5); modules.dep(5).
        """
        # That list has hundreds of kilobytes: it is looked through where it is.
        letters = ("[-_]" if sign in "-_" else re.escape(sign) for sign in name)
        module = f"/{''.join(letters)}\\.ko"
        release = self.ask(lambda host: host.release)
        look = ("grep", "-m", "1", module, f"/lib/modules/{release}/modules.dep")
        found = self.ask(lambda host: host.read(files=[_FILESYSTEMS], outputs=[look]))
        return name in found.files.get(_FILESYSTEMS, "").split() or found.outputs[0].status == 0

    def mounts(self) -> list[Mount]:
        """All mounts that are seen there, in the order in which they were made."""
        with self.understood():
            return _parsed(self.read(MOUNTS) or "")

    def mount_of(self, path: PurePath) -> Mount:
        """The mount that a resolved path lies on, or would lie on.

        Raises:
            HostLacksError: if none is seen.
        """
        if (found := mount_over(self.mounts(), path)) is None:
            raise HostLacksError(
                f"{path}: on no mount that can be seen on {self}, as in a chroot that is not one. "
                "Fix: outside, before the chroot: mount --bind ROOT ROOT"
            )
        return found

    def space(self, path: PurePath) -> Space:
        """Of the file system that a path lies on.

        Raises:
            HostLacksError: if there is no such path.
        """
        told = self._seen.found.space.get(str(path))
        if told is None:
            told = self.ask(lambda host: host.read(space=[str(path)])).space.get(str(path))
        if told is None:
            raise HostLacksError(f"{self}: there is no {path}")
        return Space(told.block_bytes, told.size_bytes, told.available_bytes)

    def direct_io(self, directory: PurePath) -> HostDirect | None:
        """What becomes of a file that is opened for direct I/O; ``None`` where none can be made."""
        asked, seen = str(directory), self._seen.found.direct
        return seen.get(asked) or self.ask(lambda host: host.read(direct=[asked])).direct.get(asked)

    def find_all(self, paths: Sequence[str]) -> Mapping[str, str]:
        """Which of some paths are there, and where they really are."""
        seen = self._seen
        if all(seen.has(path, seen.links) for path in paths):
            return {path: seen.found.links[path] for path in paths if path in seen.found.links}
        return self.ask(lambda host: host.read(links=map(_exactly, paths))).links

    def find(self, pattern: str) -> list[str]:
        """Paths that a pattern means there (``*``, ``?``, ``[0-9]``), in order."""
        return sorted(self.ask(lambda host: host.read(links=[pattern])).links)


def _exactly(path: str) -> str:
    """The pattern that means one path, whatever is in its name."""
    return _MAGIC.sub(r"[\g<0>]", path)


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> list[Mount]:
    """A table that has not changed is not taken apart again: it is asked for around each turn."""
    return parse_mounts(text)


@dataclass(frozen=True)
class _Seen:
    """What a host has answered, to what."""

    files: Sequence[str]
    links: Sequence[str]
    found: HostFound

    def has(self, path: str, patterns: Sequence[str]) -> bool:
        """Whether that was asked, so that what is not found is not there."""
        deep = path.count("/")
        alike = (pattern for pattern in patterns if pattern.count("/") == deep)
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in alike)


_NOTHING: Final = _Seen(
    (), (), HostFound(files={}, links={}, programs={}, space={}, outputs=[], cut=[])
)


class _Looks(threading.local):
    """What each thread has seen: several carry sessions out, and all may ask this host."""

    def __init__(self) -> None:
        """Nothing."""
        self.seen: dict[Address, _Seen] = {}
        """By the way there; see :meth:`Place.looking`."""


_looks: Final = _Looks()

HERE = Place()
