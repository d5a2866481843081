"""The file systems that can be made: one file for each family, one line for each in the list.

Two rules hold for every entry. Nothing is discarded while formatting, because a discard would
punch holes into the image and let the next system pay for their allocation; and nothing is left
to be initialised in the background after the mount, because that work would run inside a trial.

Making and mounting are apart: what no driver here mounts may still be made, for another kernel.
"""

from typing import Final

from tiltyard.registry import Plugin, Registry
from tiltyard.systems.filesystems.filesystem import Filesystem

__all__ = ["FILESYSTEMS", "Filesystem"]


def _sound(made: Filesystem, _plugin: Plugin) -> Filesystem:
    # What it does on a host is a promise of ours: before the change it is on disk.
    if not type(made.driver).__module__.startswith(f"{__name__}."):
        raise TypeError("its driver is none of tiltyard.plugin")
    return made


FILESYSTEMS: Final = Registry[Filesystem](
    "filesystems",
    {
        "ext2": ".ext:EXT2",
        "ext3": ".ext:EXT3",
        "ext4": ".ext:EXT4",
        "xfs": ".xfs:XFS",
        "btrfs": ".btrfs:BTRFS",
        "f2fs": ".f2fs:F2FS",
        "nilfs2": ".nilfs2:NILFS2",
        "jfs": ".jfs:JFS",
        "reiserfs": ".reiserfs:REISERFS",
        "bcachefs": ".bcachefs:BCACHEFS",
        "ntfs3": ".ntfs:NTFS3",
        "ntfs-3g": ".ntfs:NTFS_3G",
        "exfat": ".exfat:EXFAT",
        "vfat": ".vfat:VFAT",
        "fuse2fs": ".fuse2fs:FUSE2FS",
        "zfs": ".zfs:ZFS",
        "zfs-fuse": ".zfs:ZFS_FUSE",
    },
    Filesystem,
    within=__name__,
    unknown="is not a file system",
    sound=_sound,
)
"""In the order in which help shows them."""
