"""NILFS2."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

NILFS2 = Filesystem(
    name="nilfs2",
    about="log-structured, with continuous snapshots",
    tool=Tool("mkfs.nilfs2", "nilfs-tools", ("-V",)),
    flags=("-q", "-K"),
    force=("-f",),
    min_bytes=150 * MIB,
    typical_bytes=512 * MIB,
)
