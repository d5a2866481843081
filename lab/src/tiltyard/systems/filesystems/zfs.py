"""ZFS: a pool with one file system in it, by OpenZFS in the kernel or by zfs-fuse.

Making a pool imports it at once, into no file that would bring it back after a boot. To mount it
anew it is exported and imported, for only that empties its own cache.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tiltyard.errors import BusyError, TiltyardError
from tiltyard.host import commands
from tiltyard.host.changes import Change, MadeDirectory
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.op import Run
from tiltyard.host.packages import Tool, knows_filesystem, load_command
from tiltyard.host.place import Place
from tiltyard.host.pools import ImportedPool, pools
from tiltyard.host.processes import named
from tiltyard.host.start import Ready, Start
from tiltyard.host.steps import Step, Steps, TakeBack
from tiltyard.systems.filesystems.driver import Driver, Mounting
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem
from tiltyard.systems.filesystems.server import server_problems
from tiltyard.systems.kind import Problem
from tiltyard.systems.mount.mounter import Mounter

_NO_TRACE = ("-o", "cachefile=none")


@dataclass(frozen=True, kw_only=True)
class PoolDriver(Driver):
    """``zpool`` and ``zfs``, and the server where there is one."""

    tools: tuple[Tool, ...]
    shown_as: str
    server: Tool | None = None
    shows_options: bool = False
    holds_made: bool = True

    def types(self, name: str) -> tuple[str, ...]:  # noqa: ARG002  it has one
        """As the table of mounts shows it."""
        return (self.shown_as,)

    def problems(self, name: str, place: Place) -> list[Problem]:
        """The server or the module; one server is all that a host can have."""
        if self.server is None:
            if knows_filesystem(name):
                return []
            return [Problem("error", f"this kernel has no driver for {name}", load_command(name))]
        found = server_problems(self.server, place)
        if running := named((self.server.command,)):
            text = _taken(self.server.command, running[0])
            found.append(Problem("error", text, "its pools exported, and its end", passes=True))
        return found

    def made_on(self, device: str) -> tuple[str, ...]:
        """The pool's name, and its only device."""
        return (pool_of(device), device)

    def prepare(self, mounter: Mounter, device: str) -> Iterator[Step]:
        """The server, and in the ledger the pool that will be there."""
        if self.server is not None:
            if running := named((self.server.command,)):
                raise BusyError(_taken(self.server.command, running[0]))
            argv = mounter.command((self.server.command, "--no-daemon"))
            answers = Ready(command=(self.tools[0].command, "list"))
            yield Start(argv=argv, mark=mounter.server_mark, ready=answers, outlives=True)
        yield RecordPool(pool=pool_of(device))

    def mount(self, name: str, mounting: Mounting) -> Iterator[Step]:  # noqa: ARG002  pools: own
        """Give a pool just made its place, or import one that was made before."""
        pool = pool_of(mounting.device)
        yield _import(mounting)
        for option in mounting.options:
            yield SetPoolOption(pool=pool, option=option)
        yield Run(argv=("zfs", "set", f"mountpoint={mounting.target}", pool))

    def renew(self, name: str, mounting: Mounting) -> Iterator[Step]:  # noqa: ARG002  pools: own
        """Export and import; a pool remembers its place and its properties."""
        yield TakeBack(everything=False)
        yield _import(mounting)


class RecordPool(Step):
    """A pool that mkfs will make and import."""

    kind: Literal["record-pool"] = "record-pool"
    pool: str

    @property
    def line(self) -> str:
        """In words."""
        return f"# the next command imports {self.pool}, too"

    def changes(self) -> Sequence[Change]:
        """It is exported."""
        return (ImportedPool(pool=self.pool),)

    def execute(self, host: Steps) -> str:  # noqa: ARG002  mkfs does it
        """Nothing more."""
        return ""


class ImportPool(RecordPool):
    """A pool that is not imported, from a directory with its device alone in it.

    So no other device is tried, and one that is imported already stays as it is.
    """

    kind: Literal["import-pool"] = "import-pool"  # type: ignore[assignment]
    device: str
    links: Path

    @property
    def line(self) -> str:
        """In words."""
        return f"# import {self.pool} from {self.device}, unless it is imported"

    def execute(self, host: Steps) -> str:
        """Link the device into the directory, and import."""
        if self.pool in pools():
            return ""
        made = MadeDirectory(path=self.links)
        if not host.ledger.holds(made):
            host.record(made).path.mkdir()
            (self.links / Path(self.device).name).symlink_to(self.device)
            host.record(ImportedPool(pool=self.pool))  # To be taken back before the directory.
        host.run(("zpool", "import", "-d", str(self.links), *_NO_TRACE, self.pool))
        return ""


class SetPoolOption(Step):
    """A property of a pool, read back."""

    kind: Literal["set-pool-option"] = "set-pool-option"
    pool: str
    option: str

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(self._argv)

    @property
    def _argv(self) -> tuple[str, ...]:
        return ("zfs", "set", self.option, self.pool)

    def execute(self, host: Steps) -> str:
        """Set it, and read it back."""
        host.run(self._argv)
        name, _, value = self.option.partition("=")
        now = commands.run(("zfs", "get", "-H", "-o", "value", name, self.pool)).stdout
        if now != value:
            raise TiltyardError(f"{self.pool}: {self.option}: it says {name}={now}")
        return ""


def _import(mounting: Mounting) -> Step:
    links = mounting.target.with_name(f"{mounting.target.name}-devices")
    return ImportPool(pool=pool_of(mounting.device), device=mounting.device, links=links)


def pool_of(device: str) -> str:
    """Name of the pool on a device."""
    return PREFIX + Path(device).name


def _taken(server: str, pid: int) -> str:
    return f"{server} runs already (process {pid}), for others: a host can have one"


def _zfs(name: str, about: str, driver: PoolDriver) -> Filesystem:
    return Filesystem(
        name=name,
        about=about,
        tool=driver.tools[0],
        flags=("create", *_NO_TRACE, "-m", "none"),
        force=("-f",),
        min_bytes=64 * MIB,
        typical_bytes=512 * MIB,
        driver=driver,
    )


ZFS = _zfs(
    "zfs",
    "OpenZFS: pools, copy on write, checksums, compression; mount options are its properties",
    PoolDriver(tools=(Tool("zpool", "zfsutils-linux", ("--version",)),), shown_as="zfs"),
)
ZFS_FUSE = _zfs(
    "zfs-fuse",
    "ZFS of 2011 by a server in user space; mount options are its properties",
    PoolDriver(
        tools=(Tool("zpool", "zfs-fuse", ()),),
        shown_as="fuse.zfs",
        server=Tool("zfs-fuse", "zfs-fuse", ("--help",), "zfs-fuse cannot be mounted"),
    ),
)
