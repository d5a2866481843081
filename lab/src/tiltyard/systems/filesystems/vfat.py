"""FAT with long names."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

VFAT = Filesystem(
    name="vfat",
    about="FAT with long names: no journal, no permissions, files below 4 GiB",
    tool=Tool("mkfs.vfat", "dosfstools", ("--help",)),
    flags=(),
    force=("-I",),
    min_bytes=MIB,
    typical_bytes=512 * MIB,
)
