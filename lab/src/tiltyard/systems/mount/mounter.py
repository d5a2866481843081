"""How a system mounts: as root on this host, or as a user in a namespace of its own."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tiltyard.host.changes import Change, MadeDirectory
from tiltyard.host.changes.settings import StartedProcess
from tiltyard.host.devices.direct_io import direct_io
from tiltyard.host.facts import ABSENT
from tiltyard.host.mounts import Mount, mounts_at
from tiltyard.host.namespaces import MadeInside, holder_of, namespace_command, nsenter
from tiltyard.host.servers import ServedMount
from tiltyard.host.steps import Steps


class Space(NamedTuple):
    """Of a file system, in bytes."""

    block_bytes: int
    size_bytes: int
    free_bytes: int


class Mounter(ABC):
    """One mount for one turn; every step is in the ledger first."""

    _mount: Callable[[], object]
    """Makes the mount, or makes it again; set when it is made first."""
    _unmount: Callable[[], object]
    """Takes it away for a moment."""

    def __init__(self, steps: Steps, mark: str) -> None:
        """Nothing is mounted yet.

        Args:
            steps: taking them back unmounts.
            mark: name that its processes carry; nobody else's.
        """
        self.steps = steps
        self._mark = mark

    @property
    def prefix(self) -> tuple[str, ...]:
        """Command that starts another one where the mount is seen."""
        return ()

    def servers(self) -> tuple[int, ...]:
        """Our processes that serve what is mounted."""
        return tuple(StartedProcess(mark=self._mark).pids())

    def open(self) -> None:  # noqa: B027
        """Make it ready, before anything else; nothing by default."""

    @abstractmethod
    def start(self, argv: tuple[str, ...], ready: Callable[[], bool]) -> None:
        """Start a server that mounts nothing by itself, and wait until it is ready."""

    @abstractmethod
    def mount(self, argv: tuple[str, ...], target: Path, change: Change) -> None:
        """Mount by a command that ends and leaves nothing behind.

        Args:
            argv: the command.
            target: a directory of ours.
            change: how it is taken back.
        """

    @abstractmethod
    def serve(self, argv: tuple[str, ...], target: Path) -> None:
        """Mount by a command that stays, or by one that may leave a server behind."""

    def renew(self) -> None:
        """Unmount and mount again by the same command; the ledger knows of it all the time."""
        self._unmount()
        self._mount()

    @abstractmethod
    def at(self, target: Path) -> list[Mount]:
        """What is mounted on exactly this directory, the topmost last."""

    @abstractmethod
    def made(self, path: Path) -> Change:
        """The change of making a directory in what is mounted."""

    @abstractmethod
    def mkdir(self, path: Path) -> None:
        """Make a directory in what is mounted, unless it is there."""

    @abstractmethod
    def space(self, path: Path) -> Space:
        """Of the file system that a path lies on."""

    def direct_io(self, directory: Path) -> str:  # noqa: ARG002
        """See :func:`tiltyard.host.devices.direct_io.direct_io`; not available by default."""
        return ABSENT


class RootMounter(Mounter):
    """As root, for all to see."""

    def start(self, argv: tuple[str, ...], ready: Callable[[], bool]) -> None:
        """It is known by the mark."""
        process = self.steps.record(StartedProcess(mark=self._mark))
        self.steps.start(argv, process.environment, ready)

    def mount(self, argv: tuple[str, ...], target: Path, change: Change) -> None:  # noqa: ARG002
        """The change knows the target."""
        self.steps.record(change)
        self._unmount = lambda: self.steps.ledger.unmake(change)
        self._mount = lambda: self.steps.run(argv)
        self._mount()

    def serve(self, argv: tuple[str, ...], target: Path) -> None:
        """Its processes are known by the mark."""
        served = self.steps.record(ServedMount(target=target, mark=self._mark))
        environment = served.process.environment
        self._unmount = lambda: self.steps.ledger.unmake(served)
        self._mount = lambda: self.steps.start(argv, environment, lambda: bool(mounts_at(target)))
        self._mount()

    def at(self, target: Path) -> list[Mount]:
        """In the table of mounts of this process."""
        return mounts_at(target)

    def made(self, path: Path) -> Change:
        """A directory like any other."""
        return MadeDirectory(path=path)

    def mkdir(self, path: Path) -> None:
        """By this process."""
        path.mkdir(exist_ok=True)

    def space(self, path: Path) -> Space:
        """By statvfs(3)."""
        found = os.statvfs(path)
        size = found.f_frsize
        return Space(found.f_bsize, found.f_blocks * size, found.f_bavail * size)

    def direct_io(self, directory: Path) -> str:
        """As the file system says."""
        return direct_io(directory)


class UserMounter(Mounter):
    """As a user who is root in namespaces of his own; they go when their processes end."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """Into the namespaces, as the one who made them."""
        return nsenter(self._holder)

    def servers(self) -> tuple[int, ...]:
        """The process that only holds the namespaces serves nothing."""
        return tuple(self._server.pids())

    @property
    def _server(self) -> StartedProcess:
        return StartedProcess(mark=f"{self._mark}-server")

    def open(self) -> None:
        """A process that sleeps holds the namespaces."""
        process = self.steps.record(StartedProcess(mark=self._mark))
        ready = lambda: holder_of(process) is not None  # noqa: E731
        self.steps.start(namespace_command(), process.environment, ready)
        self._holder = holder_of(process) or 0

    def start(self, argv: tuple[str, ...], ready: Callable[[], bool]) -> None:
        """Inside, where its mounts are."""
        process = self.steps.record(self._server)
        self.steps.start((*self.prefix, *argv), process.environment, ready)

    def mount(self, argv: tuple[str, ...], target: Path, change: Change) -> None:  # noqa: ARG002
        """It goes with the namespace, so that the ledger need not know of it."""
        self._unmount = lambda: self.steps.run((*self.prefix, "umount", str(target)))
        self._mount = lambda: self.steps.run((*self.prefix, *argv))
        self._mount()

    def serve(self, argv: tuple[str, ...], target: Path) -> None:
        """A server that is asked to end unmounts what it serves."""
        process = self.steps.record(self._server)

        def unmount() -> None:
            self.steps.run((*self.prefix, "umount", str(target)))
            process.undo()

        def mount() -> None:
            command = (*self.prefix, *argv)
            self.steps.start(command, process.environment, lambda: bool(self.at(target)))

        self._unmount, self._mount = unmount, mount
        mount()

    def at(self, target: Path) -> list[Mount]:
        """In the table of mounts of the namespace."""
        return mounts_at(target, Path(f"/proc/{self._holder}/mountinfo"))

    def made(self, path: Path) -> Change:
        """It is removed from inside; a server may let nobody else in."""
        return MadeInside(path=path, mark=self._mark)

    def mkdir(self, path: Path) -> None:
        """From inside."""
        self.steps.ledger.run((*self.prefix, "mkdir", "--parents", str(path)))

    def space(self, path: Path) -> Space:
        """From inside, by stat(1): block size, fundamental block size, blocks, those free."""
        ask = ("stat", "--file-system", "--format=%s %S %b %a", str(path))
        words = self.steps.ledger.run((*self.prefix, *ask)).stdout.split()
        block, unit, blocks, free = map(int, words)
        return Space(block, blocks * unit, free * unit)


def mounter(steps: Steps, mark: str) -> Mounter:
    """What this process may use."""
    return RootMounter(steps, mark) if os.geteuid() == 0 else UserMounter(steps, mark)
