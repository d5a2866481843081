"""How files lie on their device: the figures by which fragmentation is told."""

import os
from dataclasses import dataclass
from pathlib import Path

from tiltyard.host.devices.extents import extents

_BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Layout:
    """Of all files under a directory."""

    files: int
    directories: int
    bytes: int
    pieces: int | None
    """Pieces that the files lie in, each without a gap; ``None`` where there is no FIEMAP."""
    score: float | None
    """Share of the blocks that follow the block before them in the file: the layout score of Smith
    and Seltzer (1997) over all files; 1 is a perfect layout."""


def layout_of(directory: Path) -> Layout:
    """The layout of all files under a directory; they must be written back."""
    files = directories = total_bytes = pieces = joints = broken = mapped = 0
    for home, names, found in os.walk(directory):
        directories += len(names)
        for name in found:
            size_bytes, own = _size_and_pieces(f"{home}/{name}")
            files += 1
            total_bytes += size_bytes
            if own:
                mapped += 1
                pieces += own
                joints += -(-size_bytes // _BLOCK_BYTES) - 1
                broken += own - 1
    score = 1 - min(1.0, broken / joints) if joints else 1.0
    return Layout(
        files=files,
        directories=directories,
        bytes=total_bytes,
        pieces=pieces if mapped else None,
        score=score if mapped else None,
    )


def _size_and_pieces(path: str) -> tuple[int, int]:
    """Size of a file, and the pieces that it lies in; 0 where that is not told."""
    file = os.open(path, os.O_RDONLY)
    try:
        found, expected = 0, None
        for extent in extents(file):
            found += extent.physical != expected
            expected = extent.physical + extent.length
        return os.fstat(file).st_size, found
    finally:
        os.close(file)
