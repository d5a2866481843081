"""ReiserFS."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

REISERFS = Filesystem(
    name="reiserfs",
    about="one balanced tree, small files packed into its leaves; left Linux with 6.13",
    tool=Tool("mkfs.reiserfs", "reiserfsprogs", ("-V",)),
    flags=("-q",),
    force=("-f", "-f"),
    uuid=("-u", "{}"),
    min_bytes=40 * MIB,
    typical_bytes=128 * MIB,
)
