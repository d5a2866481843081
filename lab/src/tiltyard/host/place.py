"""A host whose settings are read and changed: this one, or another one."""

import fnmatch
import functools
import glob
import os
import string
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from tiltyard.address import THIS_HOST, Address
from tiltyard.errors import HostLacksError, UnreachableError
from tiltyard.executors.engine import Engine
from tiltyard.host import commands
from tiltyard.host.host import Host, hosts
from tiltyard.host.mounts import Mount, mount_of, mount_over, mounts, parse_mounts
from tiltyard.host.packages import find_program, is_known, knows_filesystem
from tiltyard.host.small_files import read_small
from tiltyard.wire import HostDirect, HostFound

T = TypeVar("T")
_FILESYSTEMS: Final = "/proc/filesystems"
MOUNTS: Final = "/proc/self/mountinfo"
"""What :meth:`Place.mounts` reads."""


class Space(NamedTuple):
    """Of a file system, in bytes."""

    block_bytes: int
    size_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Place:
    """Where something is read or changed. On another host the same is done by its own programs."""

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

    def read(self, path: str | Path) -> str | None:
        """The text of a small file, without blanks at its ends; ``None`` if it cannot be read."""
        return self.read_all([path]).get(str(path))

    def read_all(self, paths: Iterable[str | Path]) -> dict[str, str]:
        """Small files by path, those that cannot be read left out.

        Raises:
            UnreachableError: if the host cannot be reached.
        """
        names = [str(path) for path in paths]
        if self.is_remote:
            seen = _seen.get(self.address, _NOTHING)
            found: Mapping[str, str | None] = seen.found.files
            if any(not seen.has(name, seen.files) for name in names):
                found = self.ask(lambda host: host.read(files=names)).files
            found = {name: found[name] for name in names if name in found}
        else:
            found = {name: read_small(name) for name in names}
        return {name: text.strip() for name, text in found.items() if text is not None}

    @contextmanager
    def looking(
        self,
        *,
        files: Sequence[str] = (),
        links: Sequence[str] = (),
        space: Sequence[str] = (),
        direct: Sequence[str] = (),
    ) -> Iterator[None]:
        """What is read in the block of another host is asked for at once, and does not change.

        Args:
            files: see :meth:`tiltyard.host.host.Host.read`; what else is read is asked for then.
            links: the same.
            space: the same.
            direct: the same.
        """
        if not self.is_remote:
            yield
            return
        found = self.ask(
            lambda host: host.read(files=files, links=links, space=space, direct=direct)
        )
        _seen[self.address] = _Seen(files, links, found)
        try:
            yield
        finally:
            del _seen[self.address]

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float | None = None,
    ) -> commands.Output:
        """Run a command there to its end, as :func:`tiltyard.host.commands.run` does here.

        Raises:
            UnreachableError: if the host is not reached, or is silent.
            TiltyardError: if the command fails, or what comes is no answer.
        """
        if not self.is_remote:
            return commands.run(argv, timeout_s=timeout_s)
        began = time.monotonic()
        said = self.ask(lambda host: host.run(argv, limit_s=timeout_s))
        command = commands.Command(argv=tuple(argv), elapsed_s=time.monotonic() - began)
        stdout, stderr = (text.strip(string.whitespace) for text in (said.stdout, said.stderr))
        return commands.Output(command, stdout, stderr)

    def understood(self) -> AbstractContextManager[None]:
        """What is read of answers in it: of another host they may be anything.

        Raises:
            HostLacksError: instead of whatever reading them has raised.
        """
        return commands.understood(str(self)) if self.is_remote else nullcontext()

    def has(self, program: str) -> bool:
        """Whether there is a program of that name."""
        return self.program(program) is not None

    def program(self, name: str) -> str | None:
        """The path of a program, if there is one of that name."""
        if self.is_remote:
            return self.ask(lambda host: host.read(programs=[name])).programs.get(name)
        return find_program(name)

    @property
    def engine(self) -> str:
        """The file of the engine there, for as long as its agent is."""
        return self.host.engine if self.is_remote else str(Engine.find().path)

    @property
    def is_root(self) -> bool:
        """Whether we are root there."""
        return (self.ask(lambda host: host.uid) if self.is_remote else os.geteuid()) == 0

    def is_directory(self, path: Path) -> bool:
        """Whether there is a directory."""
        return self.passes(("-d", str(path)))[0] if self.is_remote else path.is_dir()

    def passes(self, *tests: Sequence[str]) -> list[bool]:
        """What test(1) says there of each."""
        asked = [("test", *words) for words in tests]
        return [one.status == 0 for one in self.ask(lambda host: host.read(outputs=asked)).outputs]

    @property
    def cpus(self) -> set[int]:
        """Those that we may use there."""
        return {*self.ask(lambda host: host.cpus)} if self.is_remote else os.sched_getaffinity(0)

    @functools.cached_property
    def home(self) -> Path:
        """Where a login begins there."""
        return Path(self.run(("sh", "-c", "pwd -P")).stdout if self.is_remote else Path.home())

    def knows_filesystem(self, name: str) -> bool:
        """See :func:`tiltyard.host.packages.knows_filesystem`."""
        if not self.is_remote:
            return knows_filesystem(name)
        modules = f"/lib/modules/{self.ask(lambda host: host.release)}/modules.dep"
        said = self.read_all((_FILESYSTEMS, modules))
        return is_known(name, said.get(_FILESYSTEMS, ""), said.get(modules, ""))

    def mounts(self) -> list[Mount]:
        """All mounts that are seen there, in the order in which they were made."""
        if not self.is_remote:
            return mounts()
        with self.understood():
            return parse_mounts(self.read(MOUNTS) or "")

    def mount_of(self, path: Path) -> Mount:
        """The mount that a resolved path lies on, or would lie on.

        Raises:
            HostLacksError: if none is seen.
        """
        found = mount_over(self.mounts(), path) if self.is_remote else mount_of(path)
        if found is None:
            raise HostLacksError(f"{path}: on no mount that can be seen on {self}")
        return found

    def space(self, path: Path) -> Space:
        """Of the file system that a path lies on.

        Raises:
            HostLacksError: if there is no such path.
        """
        if not self.is_remote:
            status = os.statvfs(path)
            unit = status.f_frsize
            return Space(status.f_bsize, status.f_blocks * unit, status.f_bavail * unit)
        told = _seen.get(self.address, _NOTHING).found.space.get(str(path))
        if told is None:
            told = self.ask(lambda host: host.read(space=[str(path)])).space.get(str(path))
        if told is None:
            raise HostLacksError(f"{self}: there is no {path}")
        unit = told.block_bytes
        return Space(unit, told.blocks * unit, told.available_blocks * unit)

    def direct_io(self, directory: Path) -> HostDirect | None:
        """What becomes of a file that is opened for direct I/O; ``None`` where none can be made."""
        asked = str(directory)
        seen = _seen.get(self.address, _NOTHING).found.direct
        return seen.get(asked) or self.ask(lambda host: host.read(direct=[asked])).direct.get(asked)

    def find_all(self, paths: Sequence[str]) -> Mapping[str, str]:
        """Which of some paths are there, and where they really are."""
        if self.is_remote:
            seen = _seen.get(self.address, _NOTHING)
            if all(seen.has(path, seen.links) for path in paths):
                return {path: seen.found.links[path] for path in paths if path in seen.found.links}
            return self.ask(lambda host: host.read(links=paths)).links
        return {path: os.path.realpath(path) for path in paths if Path(path).exists()}

    def find(self, pattern: str) -> list[str]:
        """Paths that a pattern means there (``*``, ``?``, ``[0-9]``), in order."""
        if self.is_remote:
            return sorted(self.ask(lambda host: host.read(links=[pattern])).links)
        return sorted(glob.glob(pattern))  # noqa: PTH207  absolute patterns


@dataclass(frozen=True)
class _Seen:
    """What a host has answered, to what."""

    files: Sequence[str]
    links: Sequence[str]
    found: HostFound

    def has(self, path: str, patterns: Sequence[str]) -> bool:
        """Whether that was asked, so that what is not found is not there."""
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


_NOTHING: Final = _Seen(
    (), (), HostFound(files={}, links={}, programs={}, space={}, outputs=[], cut=[])
)
_seen: Final[dict[Address, _Seen]] = {}
"""By the way there; see :meth:`Place.looking`."""

HERE = Place()
