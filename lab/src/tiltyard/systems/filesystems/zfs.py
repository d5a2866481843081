"""ZFS: a pool with one file system in it, by OpenZFS in the kernel or by zfs-fuse.

Making a pool imports it at once, into no file that would bring it back after a boot. To mount it
anew it is exported and imported, for only that empties its own cache.
"""

from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import BusyError, TiltyardError
from tiltyard.host import commands
from tiltyard.host.changes import MadeDirectory
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.drivers import knows_filesystem
from tiltyard.host.packages import Tool, load_command
from tiltyard.host.pools import ImportedPool, pools, somebody_answers
from tiltyard.host.processes import named
from tiltyard.host.steps import Steps
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

    def types(self, name: str) -> tuple[str, ...]:  # noqa: ARG002  it has one
        """As the table of mounts shows it."""
        return (self.shown_as,)

    def problems(self, name: str) -> list[Problem]:
        """The server or the module; one server is all that a host can have."""
        if self.server is None:
            if knows_filesystem(name):
                return []
            return [Problem("error", f"this kernel has no driver for {name}", load_command(name))]
        found = server_problems(self.server)
        if running := named((self.server.command,)):
            text = _taken(self.server.command, running[0])
            found.append(Problem("error", text, "its pools exported, and its end", passes=True))
        return found

    def made_on(self, device: str) -> tuple[str, ...]:
        """The pool's name, and its only device."""
        return (pool_of(device), device)

    def prepare(self, mounter: Mounter, device: str) -> None:
        """The server, and in the ledger the pool that will be there."""
        if self.server is not None:
            if running := named((self.server.command,)):
                raise BusyError(_taken(self.server.command, running[0]))
            mounter.start((self.server.command, "--no-daemon"), somebody_answers)
        mounter.steps.record(ImportedPool(pool=pool_of(device)))

    def mount(self, name: str, mounting: Mounting) -> None:  # noqa: ARG002  pools have their own
        """Give a pool just made its place, or import one that was made before."""
        steps, pool = mounting.mounter.steps, pool_of(mounting.device)
        if steps.dry or pool in pools():
            steps.record(ImportedPool(pool=pool))
        else:
            _import(steps, mounting)
        for option in mounting.options:
            steps.run(("zfs", "set", option, pool))
            if not steps.dry:
                _insist(pool, option)
        steps.run(("zfs", "set", f"mountpoint={mounting.target}", pool))

    def renew(self, name: str, mounting: Mounting) -> None:  # noqa: ARG002  pools have their own
        """Export and import; a pool remembers its place and its properties."""
        mounting.mounter.steps.undo_last()
        _import(mounting.mounter.steps, mounting)


def _import(steps: Steps, mounting: Mounting) -> None:
    """Import a pool from a directory with its device alone in it, so that no other is tried."""
    pool = pool_of(mounting.device)
    links = mounting.target.with_name(f"{mounting.target.name}-devices")
    if not steps.ledger.holds(MadeDirectory(path=links)):
        steps.make_directory(links)
        link = links / Path(mounting.device).name
        steps.act(f"link {link} to {mounting.device}", lambda: link.symlink_to(mounting.device))
    steps.record(ImportedPool(pool=pool))
    steps.run(("zpool", "import", "-d", str(links), *_NO_TRACE, pool))


def pool_of(device: str) -> str:
    """Name of the pool on a device."""
    return PREFIX + Path(device).name


def _insist(pool: str, option: str) -> None:
    """Read a property back."""
    name, _, value = option.partition("=")
    now = commands.run(("zfs", "get", "-H", "-o", "value", name, pool)).stdout
    if now != value:
        raise TiltyardError(f"{pool}: {option}: it says {name}={now}")


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
