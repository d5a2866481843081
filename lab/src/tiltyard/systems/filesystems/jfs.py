"""JFS."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

JFS = Filesystem(
    name="jfs",
    about="IBM's journaled file system: extents, B+ trees",
    tool=Tool("mkfs.jfs", "jfsutils", ("-V",)),
    flags=("-q",),
    min_bytes=16 * MIB,
    typical_bytes=128 * MIB,
)
"""It has no flag that overwrites, for it looks at nothing; ``-q`` answers its only question."""
