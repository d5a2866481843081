"""XFS."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

XFS = Filesystem(
    name="xfs",
    about="allocation groups, B+ trees, delayed allocation, metadata journal",
    tool=Tool("mkfs.xfs", "xfsprogs", ("-V",)),
    flags=("-q", "-K"),
    force=("-f",),
    uuid=("-m", "uuid={}"),
    min_bytes=300 * MIB,
    typical_bytes=300 * MIB,
)
