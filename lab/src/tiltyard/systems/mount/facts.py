"""What the kernel says of something that is mounted, beside what was asked of it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tiltyard.errors import TiltyardError
from tiltyard.host.mounts import Mount
from tiltyard.systems.mount.mounter import Mounter
from tiltyard.units import format_size, parse_size

_SYNONYMS = {"defaults": "", "atime": "", "strictatime": "", "loop": ""}
"""Those of mount(8) itself: option → as the kernel shows it; an empty word if it shows nothing."""


def mount_facts(
    mounter: Mounter,
    directory: Path,
    types: Sequence[str],
    asked: Sequence[str],
    synonyms: Mapping[str, str],
) -> dict[str, str]:
    """What is mounted, with which options, and what of the asked ones cannot be confirmed.

    Args:
        mounter: how it was mounted.
        directory: ours, in the root of what is mounted.
        types: what it may be; empty if anything is right.
        asked: the mount options that were asked for.
        synonyms: of these options, see :attr:`Driver.synonyms`.

    Raises:
        TiltyardError: if something else is mounted there, or nothing any more.
    """
    target = directory.parent
    there = mounter.at(target)
    if not there or (types and there[-1].type not in types):
        found = there[-1].type if there else "nothing"
        raise TiltyardError(f"{target}: {found} is mounted there, and not {' or '.join(types)}")
    mount = there[-1]
    space = mounter.space(target)
    doubts = list(in_doubt(asked, mount, {**_SYNONYMS, **synonyms}))
    return {
        "file system": mount.type,
        "mount options": mount.options,
        **({"mount options asked": ", ".join(asked)} if asked else {}),
        **({"mount options in doubt": "; ".join(doubts)} if doubts else {}),
        "block size": format_size(space.block_bytes),
        "size": format_size(space.size_bytes),
        "free": format_size(space.free_bytes),
        "direct I/O": mounter.direct_io(directory),
    }


def in_doubt(asked: Sequence[str], mount: Mount, synonyms: Mapping[str, str]) -> Iterator[str]:
    """Options that were asked for and are not in force as far as the kernel shows."""
    words = mount.options.split(",")
    values = dict(word.partition("=")[::2] for word in words)
    for word in (one for text in asked for one in text.split(",")):
        wanted = synonyms.get(word, word)
        key, _, value = wanted.partition("=")
        if not wanted or wanted in words or (not value and key in values):
            continue
        if key not in values:
            yield f"{word} (the kernel does not show it: its own default, or ignored)"
        elif not _same(value, values[key]):
            yield f"{word} (the kernel says {key}={values[key]})"


def _same(asked: str, shown: str) -> bool:
    """Whether two values are one: ``64M`` is ``65536k``, and ``zstd`` becomes ``zstd:3``."""
    if shown.startswith(f"{asked}:"):
        return True
    try:
        return parse_size(asked) == parse_size(shown)
    except ValueError:
        return False
