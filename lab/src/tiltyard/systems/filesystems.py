"""The file systems that can be made on an image: one entry each.

Two rules hold for every entry. Nothing is discarded while formatting, because a discard would
punch holes into the image and let the next system pay for their allocation; and nothing is left
to be initialised in the background after the mount, because that work would run inside a trial.
"""

from dataclasses import dataclass

from tiltyard.host.packages import Tool

MIB = 2**20


@dataclass(frozen=True)
class Filesystem:
    """How a file system is made."""

    name: str
    about: str
    tool: Tool
    flags: tuple[str, ...]
    """Given to every mkfs, before the options of the study."""
    min_bytes: int
    """Smallest image that its mkfs takes with default options."""
    typical_bytes: int
    """Below this size its mkfs chooses other defaults than on a disk."""
    extended: str = ""
    """Value of ``-E``; an option that is given twice replaces itself, so it is merged."""

    def mkfs(self, options: tuple[str, ...], device: str) -> tuple[str, ...]:
        """The argument list that formats a device with the options of the study."""
        extended, rest = _split_extended(options)
        merged = ",".join(filter(None, (self.extended, *extended)))
        return (
            self.tool.command,
            *self.flags,
            *(("-E", merged) if merged else ()),
            *rest,
            device,
        )


def _split_extended(options: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The values of ``-E``, and all other options."""
    extended: list[str] = []
    rest: list[str] = []
    words = iter(options)
    for word in words:
        if word == "-E":
            extended.append(next(words, ""))
        else:
            rest.append(word)
    return extended, rest


def _ext(name: str, about: str) -> Filesystem:
    """The ext family: one tool, one set of rules."""
    return Filesystem(
        name=name,
        about=about,
        tool=Tool(f"mkfs.{name}", "e2fsprogs", ("-V",)),
        flags=("-q", "-F"),
        min_bytes=16 * MIB,
        typical_bytes=512 * MIB,
        extended="nodiscard,lazy_itable_init=0,lazy_journal_init=0",
    )


FILESYSTEMS: tuple[Filesystem, ...] = (
    _ext("ext2", "the second extended file system: no journal"),
    _ext("ext3", "ext2 with a journal"),
    _ext("ext4", "extents, delayed allocation, journal"),
    Filesystem(
        name="xfs",
        about="allocation groups, B+ trees, delayed allocation, metadata journal",
        tool=Tool("mkfs.xfs", "xfsprogs", ("-V",)),
        flags=("-q", "-f", "-K"),
        min_bytes=300 * MIB,
        typical_bytes=300 * MIB,
    ),
    Filesystem(
        name="btrfs",
        about="copy on write, checksums, snapshots",
        tool=Tool("mkfs.btrfs", "btrfs-progs", ("--version",)),
        flags=("-q", "-f", "-K"),
        min_bytes=128 * MIB,
        typical_bytes=128 * MIB,
    ),
)


def filesystem(name: str) -> Filesystem:
    """The entry of that name.

    Raises:
        KeyError: if there is none.
    """
    return {entry.name: entry for entry in FILESYSTEMS}[name]
