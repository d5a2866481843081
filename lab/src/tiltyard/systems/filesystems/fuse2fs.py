"""The format of ext4, mounted by e2fsprogs' own server."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.ext import AT_ONCE
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem
from tiltyard.systems.filesystems.server import ENDS_AT_SERVER, ServerDriver

FUSE2FS = Filesystem(
    name="fuse2fs",
    about="ext4's format by a server in user space",
    tool=Tool("mkfs.ext4", "e2fsprogs", ("-V",)),
    flags=("-q",),
    force=("-F",),
    uuid=("-U", "{}"),
    min_bytes=16 * MIB,
    typical_bytes=512 * MIB,
    extended=AT_ONCE,
    driver=ServerDriver(
        tool=Tool("fuse2fs", "fuse2fs", ("-V",), "fuse2fs cannot be mounted"),
        foreground=("-f",),
        options=("fakeroot",),
        shown_as=("fuse.ext4", "fuseblk.ext4", "fuse.fuse2fs", "fuseblk.fuse2fs", "fuse"),
        remarks={**ENDS_AT_SERVER, "journal": "not written: fuse2fs only replays it"},
    ),
)
