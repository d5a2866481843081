"""NTFS: one format and two drivers, Paragon's in the kernel (since 5.15) and one by FUSE."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.driver import Driver, KernelDriver
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem
from tiltyard.systems.filesystems.server import ServerDriver

_SERVER = ServerDriver(
    tool=Tool("ntfs-3g", "ntfs-3g", ("--version",), "ntfs-3g cannot be mounted"),
    foreground=(),
    options=("no_detach",),
    shown_as=("fuseblk", "fuse"),
    takes_files=False,
)
"""It gives up groups when it starts, which no user may do in a namespace of his own."""


def _ntfs(name: str, about: str, driver: Driver) -> Filesystem:
    return Filesystem(
        name=name,
        about=about,
        tool=Tool("mkntfs", "ntfs-3g", ("-V",)),
        flags=("-Q", "-q"),
        force=("-F",),
        min_bytes=2 * MIB,
        typical_bytes=512 * MIB,
        driver=driver,
    )


NTFS3 = _ntfs("ntfs3", "Microsoft's NTFS by the kernel's driver", KernelDriver())
NTFS_3G = _ntfs("ntfs-3g", "Microsoft's NTFS by a server in user space", _SERVER)
"""Quick: a full format would only write zeros, which our images hold already."""
