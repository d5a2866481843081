"""How a system mounts: as root on this host, or as a user in a namespace of its own."""

import ctypes
import os
import secrets
import struct
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final, NamedTuple

from tiltyard.host.changes import Change, MadeDirectory
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.changes.settings import StartedProcess
from tiltyard.host.facts import ABSENT
from tiltyard.host.mounts import Mount, mounts_at
from tiltyard.host.namespaces import MadeInside, nsenter
from tiltyard.host.steps import Run, StartMount, StartNamespace, Step, Steps, UndoTemporarily
from tiltyard.ownership import make_directory

_DIOALIGN = 0x2000
"""STATX_DIOALIGN, <linux/stat.h>."""
_AT_FDCWD = -100
_STATX_BYTES = 256
_MASK = struct.Struct("=I")
_ALIGNMENT = struct.Struct("=II")
_ALIGNMENT_AT = 152
"""Where stx_dio_mem_align and stx_dio_offset_align stand."""


def direct_io(directory: Path) -> str:
    """What becomes of a file that is opened with O_DIRECT in a directory, in words.

    A file is made for the question, and removed. Source: open(2), statx(2) (Linux 6.1).
    """
    path = directory / f"{PREFIX}{secrets.token_hex(4)}-direct"
    try:
        path.touch(exist_ok=False)
    except OSError:
        return ABSENT
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        return _said(path)
    except OSError:
        return "refused"
    finally:
        path.unlink()


def _said(path: Path) -> str:
    """What statx(2) says of a file."""
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    statx = ctypes.CDLL(None, use_errno=True).statx
    if statx(_AT_FDCWD, os.fsencode(path), 0, _DIOALIGN, answer) != 0:
        return ABSENT
    (mask,) = _MASK.unpack_from(answer)
    if not mask & _DIOALIGN:
        return "accepted; the file system does not say what becomes of it"
    memory_bytes, offset_bytes = _ALIGNMENT.unpack_from(answer, _ALIGNMENT_AT)
    if offset_bytes == 0:
        return "none: accepted, but the file system buffers it all the same"
    return f"aligned to {offset_bytes} B (memory: {memory_bytes} B)"


class Space(NamedTuple):
    """Of a file system, in bytes."""

    block_bytes: int
    size_bytes: int
    free_bytes: int


NAMESPACE: Final = "{namespace}"
"""Output: the process that holds the namespaces of a user."""


class Mounter(ABC):
    """One mount for one turn, as steps."""

    def __init__(self, steps: Steps, mark: str) -> None:
        """Nothing is mounted yet.

        Args:
            steps: execute what is planned here; taking them back unmounts.
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
        return tuple(StartedProcess(mark=self._mark).pids())

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
    def mount(self, argv: tuple[str, ...], target: Path, change: Change) -> Step:
        """Mount by a command that ends and leaves nothing behind.

        Args:
            argv: the command.
            target: a directory of ours.
            change: how it is taken back.
        """

    @abstractmethod
    def serve(self, argv: tuple[str, ...], target: Path) -> Step:
        """Mount by a command that stays, or by one that may leave a server behind."""

    def renew(self) -> tuple[Step, ...]:
        """Unmount and mount again by the same command; the ledger knows of it all the time."""
        return self._again

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
        """See :func:`tiltyard.systems.mount.mounter.direct_io`; not available by default."""
        return ABSENT


class RootMounter(Mounter):
    """As root, for all to see."""

    def command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """As it is."""
        return argv

    def mount(self, argv: tuple[str, ...], target: Path, change: Change) -> Step:  # noqa: ARG002
        """The change knows the target."""
        self._again = (UndoTemporarily(change=change), Run(argv=argv))
        return Run(argv=argv, change=change)

    def serve(self, argv: tuple[str, ...], target: Path) -> Step:
        """Its processes are known by the mark."""
        start = StartMount(argv=argv, mark=self._mark, target=target)
        (served,) = start.changes()
        again = start.model_copy(update={"recorded": False})
        self._again = (UndoTemporarily(change=served), again)
        return start

    def at(self, target: Path) -> list[Mount]:
        """In the table of mounts of this process."""
        return mounts_at(target)

    def made(self, path: Path) -> Change:
        """A directory like any other."""
        return MadeDirectory(path=path)

    def mkdir(self, path: Path) -> None:
        """By this process; in what is mounted others may have a hand."""
        make_directory(path, exist_ok=True)

    def space(self, path: Path) -> Space:
        """By statvfs(3)."""
        status = os.statvfs(path)
        size = status.f_frsize
        return Space(status.f_bsize, status.f_blocks * size, status.f_bavail * size)

    def direct_io(self, directory: Path) -> str:
        """As the file system says."""
        return direct_io(directory)


class UserMounter(Mounter):
    """As a user who is root in namespaces of his own; they go when their processes end."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """Into the namespaces, as the one who made them."""
        return nsenter(self._holder)

    @property
    def _holder(self) -> str:
        return self.steps.outputs[NAMESPACE]

    def servers(self) -> tuple[int, ...]:
        """The process that only holds the namespaces serves nothing."""
        return tuple(StartedProcess(mark=self.server_mark).pids())

    @property
    def server_mark(self) -> str:
        """Not that of the process that holds the namespaces."""
        return f"{self._mark}-server"

    def open(self) -> tuple[Step, ...]:
        """A process that sleeps holds the namespaces."""
        return (StartNamespace(mark=self._mark, output=NAMESPACE),)

    def command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Inside, where its mounts are."""
        return (*nsenter(NAMESPACE), *argv)

    def mount(self, argv: tuple[str, ...], target: Path, change: Change) -> Step:  # noqa: ARG002
        """It goes with the namespace, so that the ledger need not know of it."""
        mount = Run(argv=self.command(argv))
        self._again = (Run(argv=self.command(("umount", str(target)))), mount)
        return mount

    def serve(self, argv: tuple[str, ...], target: Path) -> Step:
        """A server that is asked to end unmounts what it serves."""
        start = StartMount(
            argv=self.command(argv), mark=self.server_mark, target=target, namespace=NAMESPACE
        )
        self._again = (
            Run(argv=self.command(("umount", str(target)))),
            UndoTemporarily(change=start.process),
            start.model_copy(update={"recorded": False}),
        )
        return start

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
