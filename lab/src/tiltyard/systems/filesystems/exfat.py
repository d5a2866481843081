"""ExFAT."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

EXFAT = Filesystem(
    name="exfat",
    about="Microsoft's file system for cards and sticks: no journal, no permissions",
    tool=Tool("mkfs.exfat", "exfatprogs", ("-V",)),
    flags=(),
    min_bytes=4 * MIB,
    typical_bytes=512 * MIB,
)
"""Its mkfs has no flag that overwrites: it always does."""
