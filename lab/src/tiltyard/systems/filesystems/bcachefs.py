"""Bcachefs."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

BCACHEFS = Filesystem(
    name="bcachefs",
    about="copy on write, checksums, tiers; in Linux from 6.7 to 6.17, then a module of its own",
    tool=Tool("mkfs.bcachefs", "bcachefs-tools", ("version",)),
    flags=("--quiet",),
    force=("--force",),
    uuid=("--uuid", "{}"),
    min_bytes=64 * MIB,
    typical_bytes=512 * MIB,
)
