"""Image files as an agent lays them out and mends them."""

from pathlib import Path

from support.extents import extents


def gaps(path: Path) -> list[tuple[int, int]]:
    """Holes and unwritten extents of a file, on a file system that can tell."""
    found, position, size = [], 0, path.stat().st_size
    with path.open("rb") as file:
        for extent in extents(file.fileno()):
            if extent.start > position:
                found.append((position, extent.start))
            if extent.is_unwritten:
                found.append((extent.start, min(extent.end, size)))
            position = extent.end
    assert position, "it cannot tell"
    return found + ([(position, size)] if position < size else [])
