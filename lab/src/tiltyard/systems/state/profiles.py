"""Ageing profiles: what a file system went through before it is measured. One entry each.

What is known of ageing: files that are created, deleted and written piece by piece in turn scatter
free space, and later files with it (Smith and Seltzer, "File System Aging", SIGMETRICS 1997); what
counts is the history in units of the capacity, and how full it ends (Kadekodi et al., "Geriatrix",
USENIX ATC 2018); a tree that is updated in place again and again slows even file systems that are
far from full (Conway et al., "File Systems Fated for Senescence? Nonsense, Says Science!",
FAST 2017). Sizes of files are log-normal (Agrawal et al., "A Five-Year Study of File-System
Metadata", FAST 2007, and "Generating Realistic Impressions", FAST 2009). The shapes are theirs, the
figures of each profile are ours.
"""

from dataclasses import dataclass

KIB = 2**10
MIB = 2**20


@dataclass(frozen=True)
class Profile:
    """How files come and go."""

    name: str
    about: str
    median_bytes: int
    """Of the log-normal distribution of sizes."""
    sigma: float
    """Standard deviation of the logarithm of sizes."""
    piece_bytes: int
    """So much is written to a file at once."""
    writers: int
    """Files that grow at the same time, a piece of one and then a piece of another."""
    together: int
    """Files that lie in directories of their own and are deleted together."""
    in_directory: int
    """Files in a directory."""
    append: float
    """Share of the files that are written again later: a piece is added to an old one."""
    full: float
    """Share of the space that is in use at the end."""
    turnover: float
    """Bytes that are written in all, in units of the capacity."""


FILLING = Profile(
    name="filled",
    about="large files written one after the other, none deleted",
    median_bytes=16 * MIB,
    sigma=0.5,
    piece_bytes=4 * MIB,
    writers=1,
    together=1,
    in_directory=64,
    append=0.0,
    full=0.8,
    turnover=0.0,
)
"""What ``filled`` means."""

PROFILES: tuple[Profile, ...] = (
    Profile(
        name="mail-spool",
        about="messages in crowded directories, mailboxes that grow, any of them deleted",
        median_bytes=8 * KIB,
        sigma=1.6,
        piece_bytes=64 * KIB,
        writers=2,
        together=1,
        in_directory=500,
        append=0.2,
        full=0.75,
        turnover=2.0,
    ),
    Profile(
        name="downloads",
        about="large files that arrive several at a time, any of them deleted; ends rather full",
        median_bytes=2 * MIB,
        sigma=1.5,
        piece_bytes=256 * KIB,
        writers=4,
        together=1,
        in_directory=50,
        append=0.0,
        full=0.85,
        turnover=3.0,
    ),
    Profile(
        name="source-trees",
        about="trees of small files, unpacked, built in, and deleted as a whole",
        median_bytes=5 * KIB,
        sigma=1.9,
        piece_bytes=32 * KIB,
        writers=3,
        together=600,
        in_directory=20,
        append=0.1,
        full=0.7,
        turnover=1.5,
    ),
)
"""In the order in which help shows them."""


def profile(name: str) -> Profile:
    """The entry of that name.

    Raises:
        KeyError: if there is none.
    """
    return {entry.name: entry for entry in PROFILES}[name]
