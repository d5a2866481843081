"""A host whose settings are read and changed: this one, or one that ssh reaches."""

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
from typing import Final, NamedTuple, Self, TypeVar

from tiltyard.errors import HostLacksError, TiltyardError, UnreachableError
from tiltyard.host import commands
from tiltyard.host.host import Host, hosts
from tiltyard.host.mounts import Mount, mount_over, parse_mounts
from tiltyard.wire import HostDirect, HostFound

T = TypeVar("T")
_MARK: Final = "\x1e"
"""Comes before an answer (ASCII record separator): what precedes it a login has printed."""


_SSH: Final = ("ssh", "-o", "BatchMode=yes")
"""Of a value that is given twice ssh takes the first: no question is asked, whatever a person's
options say."""
_UNLESS_SAID: Final = (
    *("-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=3"),
    "-T",
)
"""A host that is silent for 15 s is lost, unless a person's options say otherwise. Of ``-t`` and
``-T`` ssh takes the last: a terminal would change what is read."""


_FILESYSTEMS: Final = "/proc/filesystems"
MOUNTS: Final = "/proc/self/mountinfo"
"""What :meth:`Place.mounts` reads."""
_MAGIC: Final = re.compile(r"[*?[]")
"""What stands for other characters in a pattern of the agent."""
_SRUN: Final = (
    *("srun", "--unbuffered", "--overlap", "--nodes=1", "--ntasks=1", "--quiet"),
    *("--mpi=none", "--kill-on-bad-exit=0"),
)
"""Unbuffered: a line is passed on when it is written, and not with its newline seconds later."""
_AS_SSH: Final = ("sh", "-c", 'cd && eval "$*"', "sh")
"""What comes after it is joined and read by a shell, as ssh has it read there."""
_NODE: Final = "--nodelist="
_JOB_IS_OVER: Final = re.compile("has expired|nvalid job id")
_SRUN_FAILED: Final = ("srun:", "slurmstepd:")


class Space(NamedTuple):
    """Of a file system, in bytes."""

    block_bytes: int
    size_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Place:
    """Where something is read or changed: by the engine's agent, here as anywhere."""

    ssh: tuple[str, ...] = ()
    """The command that reaches the host; what it shall do there, a line of shell, is appended.
    Empty: this host."""

    @classmethod
    def over_ssh(cls, host: str, options: Sequence[str] = ()) -> Self:
        """The host of that name, with further options for ssh."""
        return cls((*_SSH, *options, *_UNLESS_SAID, host))

    @classmethod
    def through_slurm(cls, job: str, node: str) -> Self:
        """A node of an allocation: further steps of it, each with pipes of its own."""
        return cls((*_SRUN, f"--jobid={job}", f"{_NODE}{node}", *_AS_SSH))

    @property
    def _is_of_slurm(self) -> bool:
        return self.ssh[:1] == _SRUN[:1]

    def after_the_job(self, complaint: str) -> Self | None:
        """The same node of Slurm where the allocation is over; else there is no other way."""
        if not self._is_of_slurm or not _JOB_IS_OVER.search(complaint):
            return None
        words = (w for w in self.ssh if w != "--overlap" and not w.startswith("--jobid="))
        return type(self)(tuple("--immediate=5" if w == "--quiet" else w for w in words))

    def __str__(self) -> str:
        """As a person calls it."""
        if self._is_of_slurm:
            return next(word for word in self.ssh if word.startswith(_NODE)).removeprefix(_NODE)
        return self.ssh[-1] if self.ssh else "this host"

    @property
    def restore(self) -> str:
        """The command that puts back what killed runs have left there."""
        if not self.ssh:
            return "tiltyard restore"
        options = () if self._is_of_slurm else self.ssh[len(_SSH) : -1 - len(_UNLESS_SAID)]
        told = ("--ssh-options", shlex.join(options)) if options else ()
        return shlex.join(("tiltyard", "restore", "--host", str(self), *told))

    def is_lost(self, status: int, complaint: str) -> bool:
        """Whether a command ended so because the host was not reached.

        A signal ends only what leads there: of what is there a shell tells by its status.
        """
        if status < 0:
            return True
        if self._is_of_slurm:
            return complaint.startswith(_SRUN_FAILED)
        return status == commands.SSH_FAILED

    @property
    def host(self) -> Host:
        """Its agent, which is started where there is none.

        Raises:
            UnreachableError: if the host is not reached.
            HostLacksError: if no agent can be started there.
        """
        return hosts.of(self.ssh, lambda: Host.there(self) if self.ssh else Host.here())

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
        before = _looks.seen.get(self.ssh)
        _looks.seen[self.ssh] = _Seen(files, links, found)
        try:
            yield
        finally:
            del _looks.seen[self.ssh]
            if before is not None:
                _looks.seen[self.ssh] = before

    @property
    def _seen(self) -> "_Seen":
        return _looks.seen.get(self.ssh, _NOTHING)

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

    def noise(self, said: str, where: str) -> HostLacksError:
        """The error of a host that prints something where an answer should be."""
        return HostLacksError(
            f'{self}: "{said}" is printed where {where}. '
            "Fix: a login that prints nothing when nobody looks (~/.bashrc)"
        )

    def understood(self) -> AbstractContextManager[None]:
        """What is read of answers in it: they may be anything.

        Raises:
            HostLacksError: instead of whatever reading them has raised.
        """
        return commands.understood(str(self))

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command of this host that runs a command there."""
        return (*self.ssh, shlex.join(argv)) if self.ssh else tuple(argv)

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
        self.seen: dict[tuple[str, ...], _Seen] = {}
        """By the way there; see :meth:`Place.looking`."""


_looks: Final = _Looks()

HERE = Place()
