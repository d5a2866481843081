"""Btrfs."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.driver import KernelDriver
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

BTRFS = Filesystem(
    name="btrfs",
    about="copy on write, checksums, snapshots",
    tool=Tool("mkfs.btrfs", "btrfs-progs", ("--version",)),
    flags=("-q", "-K"),
    force=("-f",),
    uuid=("-U", "{}"),
    min_bytes=128 * MIB,
    typical_bytes=128 * MIB,
    driver=KernelDriver({"barrier": "", "datacow": "", "datasum": ""}),
)
