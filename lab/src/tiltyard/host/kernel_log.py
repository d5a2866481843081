"""Errors that the kernel reports while we look (``/dev/kmsg``, ABI/testing/dev-kmsg)."""

import os
from pathlib import Path
from typing import Self

_KMSG = Path("/dev/kmsg")
_LONGEST = 8192
_LEVELS = 8
"""A record's first number is facility · 8 + level."""
_ERROR = 3
_MOST = 10
_HARMLESS = ("operation not supported error",)
"""How such messages begin: a device that lacks an operation (a loop device cannot always write
zeroes by itself), which the block layer then does in another way."""


class KernelLog:
    """The kernel's messages from now on."""

    def __init__(self) -> None:
        """Open the log at its end, where we may read it."""
        self._file: int | None = None
        try:
            self._file = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._file, 0, os.SEEK_END)
        except OSError:
            self.close()

    def __enter__(self) -> Self:
        """The log itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Read no more."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def errors(self) -> tuple[str, ...] | None:
        """What the kernel itself said at level error or graver, the first few since last asked.

        ``None`` where the log may not be read.
        """
        if self._file is None:
            return None
        found: list[str] = []
        while len(found) < _MOST:
            try:
                record = os.read(self._file, _LONGEST)
            except BrokenPipeError:
                continue  # records were overwritten before we came to them
            except BlockingIOError:
                break
            if not record:
                break
            if message := _error(record.decode(errors="replace")):
                found.append(message)
        return tuple(found)


def _error(record: str) -> str | None:
    """The message of a record, if it is the kernel's own (facility 0) and tells of an error."""
    head, _, text = record.partition(";")
    facility, level = divmod(int(head.partition(",")[0]), _LEVELS)
    if facility != 0 or level > _ERROR or text.startswith(_HARMLESS):
        return None
    return text.partition("\n")[0]
