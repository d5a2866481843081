"""ZFS: a pool with one file system in it, by OpenZFS in the kernel or by zfs-fuse.

Making a pool imports it at once, into no file that would bring it back after a boot. To mount it
anew it is exported and imported, for only that empties its own cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import BusyError, TiltyardError
from tiltyard.host import commands
from tiltyard.host.op import MakeDirectory, Run
from tiltyard.host.packages import Tool, load_command
from tiltyard.host.place import Place
from tiltyard.host.pools import ImportPool
from tiltyard.host.processes import named
from tiltyard.host.start import Ready, Start
from tiltyard.host.steps import Step
from tiltyard.systems.filesystems.driver import Driver, Mounting
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem
from tiltyard.systems.filesystems.server import server_problems
from tiltyard.systems.kind import Problem

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
            if place.knows_filesystem(name):
                return []
            text = f"this kernel has no driver for {name}"
            return [Problem("error", text, load_command(place, name))]
        found = server_problems(self.server, place)
        if running := named((self.server.command,), place):
            text = _taken(self.server.command, running[0])
            found.append(Problem("error", text, "its pools exported, and its end", passes=True))
        return found

    def made_on(self, device: str, called: str) -> tuple[str, ...]:
        """The pool's name, and its only device."""
        return (called, device)

    def prepare(self, mounting: Mounting) -> Iterator[Step]:
        """The server, a directory with nothing but the device, and the pool that will be there.

        From that directory it is imported, so that no other device is tried.
        """
        mounter, device = mounting.mounter, mounting.device
        if self.server is not None:
            if running := named((self.server.command,), mounter.steps.place):
                raise BusyError(_taken(self.server.command, running[0]))
            argv = mounter.command((self.server.command, "--no-daemon"))
            answers = Ready(command=(self.tools[0].command, "list"))
            yield Start(argv=argv, mark=mounter.server_mark, ready=answers, outlives=True)
        links = _links(mounting)
        yield MakeDirectory(path=links)
        yield Run(argv=("ln", "-s", device, str(links)))
        yield ImportPool(pool=mounting.called)

    def mount(self, name: str, mounting: Mounting) -> Iterator[Step]:  # noqa: ARG002  pools: own
        """Give a pool just made its properties and its place.

        One that was made before remembers them. To set its place again would unmount it and mount
        it at once, when zfs-fuse may still have it open.
        """
        if not mounting.is_made:
            yield _import(mounting)
            return
        pool = mounting.called
        yield ImportPool(pool=pool)
        for option in mounting.options:
            yield Run(argv=("zfs", "set", option, pool))
        yield Run(argv=("zfs", "set", f"mountpoint={mounting.target}", pool))

    def require_set(self, mounting: Mounting, place: Place) -> None:
        """Each property is what it was set to."""
        pool = mounting.called
        for option in mounting.options:
            name, _, value = option.partition("=")
            now = place.run(("zfs", "get", "-H", "-o", "value", name, pool)).stdout
            if now != value:
                raise TiltyardError(f"{pool}: {option}: it says {name}={commands.shown(now)}")

    def renew(self, name: str, mounting: Mounting) -> Iterator[Step]:  # noqa: ARG002  pools: own
        """Export and import; a pool remembers its place and its properties."""
        yield _import(mounting, again=True)


def _import(mounting: Mounting, *, again: bool = False) -> Step:
    """From the directory with its device alone."""
    pool = mounting.called
    argv = ("zpool", "import", "-d", str(_links(mounting)), *_NO_TRACE, pool)
    return ImportPool(pool=pool, argv=argv, again=again)


def _links(mounting: Mounting) -> Path:
    return mounting.target.with_name(f"{mounting.target.name}-devices")


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
