"""Files of lines that only grow: a line is there whole, or not at all."""

import contextlib
import os
from pathlib import Path
from typing import Final

from tiltyard.folder import read_all, write_all
from tiltyard.ownership import named_in_errors

_CHUNK: Final = 1 << 16


def append_whole(
    file: int, path: Path, lines: bytes, end: int | None = None, *, sync: bool = True
) -> int:
    """Append to a file of lines, synced: on return all of it is on the disk.

    Args:
        file: open for reading and writing; nobody else writes to it.
        path: its name, for errors.
        lines: ends in a newline.
        end: where the last line ends that was appended; ``None``: where the last whole one does.
        sync: otherwise it is with the kernel on return, and survives all but the host's end.

    Returns:
        Where these lines end.

    Raises:
        OSError: with the file's name; nothing was added. Where even that could not be brought
            about, what is there too much is cut off before the next one is written.
    """
    with named_in_errors(path):
        begin = _cut_half_line(file) if end is None else end
        if os.fstat(file).st_size != begin:
            os.ftruncate(file, begin)
        try:
            write_all(file, lines, begin)
            if sync:
                os.fsync(file)
        except BaseException:  # Ctrl-C too
            cut_off(file, begin)
            raise
    return begin + len(lines)


def cut_off(file: int, end: int) -> None:
    """Take away what is behind that place, if the disk lets us."""
    with contextlib.suppress(OSError):
        os.ftruncate(file, end)
        os.fsync(file)


def _cut_half_line(file: int) -> int:
    """Where the next line begins; what has no newline at its end goes."""
    end = os.fstat(file).st_size
    if not end or os.pread(file, 1, end - 1) == b"\n":
        return end
    newline = -1
    while end and newline < 0:
        begin = max(0, end - _CHUNK)
        part = bytearray(end - begin)
        read_all(file, part, begin)
        newline = part.rfind(b"\n")
        end = begin
    os.ftruncate(file, end + newline + 1)
    return end + newline + 1
