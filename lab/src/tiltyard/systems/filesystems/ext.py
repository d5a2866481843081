"""The ext family: one tool, one set of rules, and one driver in most kernels of today."""

from tiltyard.host.packages import Tool
from tiltyard.systems.filesystems.driver import KernelDriver
from tiltyard.systems.filesystems.filesystem import MIB, Filesystem

AT_ONCE = "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
_SYNONYMS = {"barrier=0": "nobarrier", "barrier=1": "", "barrier": ""}


def _ext(name: str, about: str) -> Filesystem:
    return Filesystem(
        name=name,
        about=about,
        tool=Tool(f"mkfs.{name}", "e2fsprogs", ("-V",)),
        flags=("-q",),
        force=("-F",),
        uuid=("-U", "{}"),
        min_bytes=16 * MIB,
        typical_bytes=512 * MIB,
        extended=AT_ONCE,
        driver=KernelDriver(_SYNONYMS),
    )


EXT2 = _ext("ext2", "the second extended file system: no journal")
EXT3 = _ext("ext3", "ext2 with a journal")
EXT4 = _ext("ext4", "extents, delayed allocation, journal")
