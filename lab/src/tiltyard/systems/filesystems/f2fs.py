"""F2FS."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

F2FS = Filesystem(
    name="f2fs",
    about="log-structured, for flash",
    tool=Tool("mkfs.f2fs", "f2fs-tools", ("-V",)),
    flags=("-q", "-t", "0"),
    force=("-f",),
    uuid=("-U", "{}"),
    min_bytes=64 * MIB,
    typical_bytes=512 * MIB,
)
