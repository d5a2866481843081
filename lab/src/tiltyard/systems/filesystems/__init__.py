"""The file systems that can be made: one file for each family, one line for each in the list.

Two rules hold for every entry. Nothing is discarded while formatting, because a discard would
punch holes into the image and let the next system pay for their allocation; and nothing is left
to be initialised in the background after the mount, because that work would run inside a trial.

Making and mounting are apart: what no driver here mounts may still be made, for another kernel.
"""

from tiltyard.systems.filesystems import (
    bcachefs,
    btrfs,
    exfat,
    ext,
    f2fs,
    fuse2fs,
    jfs,
    nilfs2,
    ntfs,
    reiserfs,
    vfat,
    xfs,
    zfs,
)
from tiltyard.systems.filesystems.filesystem import Filesystem

__all__ = ["FILESYSTEMS", "Filesystem", "filesystem"]

FILESYSTEMS: tuple[Filesystem, ...] = (
    ext.EXT2,
    ext.EXT3,
    ext.EXT4,
    xfs.XFS,
    btrfs.BTRFS,
    f2fs.F2FS,
    nilfs2.NILFS2,
    jfs.JFS,
    reiserfs.REISERFS,
    bcachefs.BCACHEFS,
    ntfs.NTFS3,
    ntfs.NTFS_3G,
    exfat.EXFAT,
    vfat.VFAT,
    fuse2fs.FUSE2FS,
    zfs.ZFS,
    zfs.ZFS_FUSE,
)
"""In the order in which help shows them."""


def filesystem(name: str) -> Filesystem:
    """The entry of that name.

    Raises:
        KeyError: if there is none.
    """
    return {entry.name: entry for entry in FILESYSTEMS}[name]
