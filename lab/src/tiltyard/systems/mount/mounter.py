"""How a system mounts: as root on this host, or as a user in a namespace of its own."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final

from tiltyard.host.facts import ABSENT
from tiltyard.host.mounts import Mount as Mounted
from tiltyard.host.mounts import parse_mounts
from tiltyard.host.namespaces import namespace_command, nsenter
from tiltyard.host.op import MakeDirectory, Mount, Run
from tiltyard.host.place import Space
from tiltyard.host.start import Ready, Start, Stop, pids
from tiltyard.host.steps import Step, Steps, UndoTemporarily
from tiltyard.wire import HostDirect

NAMESPACE: Final = "{namespace}"
"""Output: the process that holds the namespaces of a user."""


class Mounter(ABC):
    """One mount for one turn, as steps."""

    within: str = ""
    """The process in whose mount namespace it is mounted; empty: the host's."""

    def __init__(self, steps: Steps, mark: str) -> None:
        """Nothing is mounted yet.

        Args:
            steps: execute what is planned, on its host; taking them back unmounts.
            mark: name that its processes carry; nobody else's.
        """
        self.steps = steps
        self._mark = mark
        self._again: tuple[Step, ...] = ()
        """What unmounts and mounts again."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """Command that starts another one where the mount is seen."""
        return ()

    def servers(self) -> tuple[int, ...]:
        """Our processes that serve what is mounted."""
        mark = self.server_mark
        return pids((mark,), self.steps.place) if mark in self.steps.started else ()

    def open(self) -> tuple[Step, ...]:
        """Make it ready, before anything else; nothing by default."""
        return ()

    @abstractmethod
    def command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """A command where the mount is seen; :data:`NAMESPACE` may be in it."""

    @property
    def server_mark(self) -> str:
        """Mark of what serves."""
        return self._mark

    @abstractmethod
    def mount(self, mount: Mount) -> Step:
        """By a command that ends and leaves nothing behind."""

    @abstractmethod
    def serve(self, argv: tuple[str, ...], target: Path) -> Step:
        """Mount by a command that stays, or by one that may leave a server behind."""

    def renew(self) -> tuple[Step, ...]:
        """Unmount and mount again by the same command; the ledger knows of it all the time."""
        return self._again

    @abstractmethod
    def at(self, target: Path) -> list[Mounted]:
        """What is mounted on exactly this directory, the topmost last."""

    def make(self, path: Path, *, stays: bool) -> Step:
        """Have a directory made in what is mounted.

        Args:
            path: where.
            stays: what is mounted stays when it is not mounted any more, so that the directory is
                removed before; otherwise it may be there already.
        """
        return MakeDirectory(path=path, inside=not stays, within=self.within)

    @abstractmethod
    def space(self, path: Path) -> Space:
        """Of the file system that a path lies on."""

    def direct_io(self, directory: Path) -> str:  # noqa: ARG002
        """What becomes of a file there that is opened for it; not available by default."""
        return ABSENT


class RootMounter(Mounter):
    """As root, for all to see."""

    def command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """As it is."""
        return argv

    def mount(self, mount: Mount) -> Step:
        """By the agent."""
        self._again = (mount.model_copy(update={"again": True}),)
        return mount

    def serve(self, argv: tuple[str, ...], target: Path) -> Step:
        """By the agent; its end is that of the mount."""
        start = Start(
            argv=argv,
            mark=self._mark,
            ready=Ready(mounted=target),
            stop=Stop(unmount=target),
            outlives=True,
        )
        self._again = (
            UndoTemporarily(change=start.made(self.steps.place.address)),
            start.model_copy(update={"again": True}),
        )
        return start

    def at(self, target: Path) -> list[Mounted]:
        """In the table of mounts of this process."""
        return [mount for mount in self.steps.place.mounts() if mount.target == target]

    def space(self, path: Path) -> Space:
        """By statvfs(3)."""
        return self.steps.place.space(path)

    def direct_io(self, directory: Path) -> str:
        """As the file system says."""
        found = self.steps.place.direct_io(directory)
        return ABSENT if found is None else _told(found)


class UserMounter(Mounter):
    """As a user who is root in namespaces of his own; they go when their processes end."""

    within = NAMESPACE

    @property
    def prefix(self) -> tuple[str, ...]:
        """Into the namespaces, as the one who made them."""
        return nsenter(self._holder)

    @property
    def _holder(self) -> str:
        return self.steps.outputs[NAMESPACE]

    @property
    def server_mark(self) -> str:
        """Not that of the process that holds the namespaces."""
        return f"{self._mark}-server"

    def open(self) -> tuple[Step, ...]:
        """A process that sleeps holds the namespaces."""
        holds = Start(
            argv=namespace_command(),
            mark=self._mark,
            ready=Ready(line=True),
            outlives=True,
            output=NAMESPACE,
        )
        return (holds,)

    def command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Inside, where its mounts are."""
        return (*nsenter(NAMESPACE), *argv)

    def mount(self, mount: Mount) -> Step:
        """It goes with the namespace, so that no ledger need know of it."""
        inside = Run(argv=self.command(mount.argv))
        self._again = (Run(argv=self.command(("umount", str(mount.target)))), inside)
        return inside

    def serve(self, argv: tuple[str, ...], target: Path) -> Step:
        """A server that is asked to end unmounts what it serves."""
        start = Start(
            argv=self.command(argv),
            mark=self.server_mark,
            ready=Ready(mounted=target, seen_by=NAMESPACE),
            outlives=True,
        )
        self._again = (
            Run(argv=self.command(("umount", str(target)))),
            UndoTemporarily(change=start.made()),
            start.model_copy(update={"again": True}),
        )
        return start

    def at(self, target: Path) -> list[Mounted]:
        """In the table of mounts of the namespace."""
        table = self.steps.place.read(f"/proc/{self._holder}/mountinfo") or ""
        return [mount for mount in parse_mounts(table) if mount.target == target]

    def space(self, path: Path) -> Space:
        """From inside, by stat(1): block size, fundamental block size, blocks, those free."""
        ask = ("stat", "--file-system", "--format=%s %S %b %a", str(path))
        words = self.steps.place.run((*self.prefix, *ask)).stdout.split()
        block, unit, blocks, free = map(int, words)
        return Space(block, blocks * unit, free * unit)


def _told(found: HostDirect) -> str:
    """In words. Source: open(2), statx(2) (Linux 6.1)."""
    if found.is_refused:
        return "refused"
    if (aligned := found.alignment) is None:
        return "accepted; the file system does not say what becomes of it"
    if aligned.offset_align == 0:
        return "none: accepted, but the file system buffers it all the same"
    return f"aligned to {aligned.offset_align} B (memory: {aligned.memory_align} B)"


def mounter(steps: Steps, mark: str) -> Mounter:
    """What this process may use; on other hosts only root is asked to mount."""
    if steps.place.is_remote or steps.place.is_root:
        return RootMounter(steps, mark)
    return UserMounter(steps, mark)
