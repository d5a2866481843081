"""The last lines of a journal that need not be on the disk: what of them a lost host leaves."""

import contextlib
import itertools
import math
from pathlib import Path
from typing import Final

from tiltyard.folder import sha256
from tiltyard.frozen import read_json

_WAITS: Final = b'"waits":true,"event":'
_HEAD_BYTES: Final = 100
_CHUNK: Final = 1 << 16


def is_damaged(line: bytes) -> bool:
    """Whether a kill or a power failure can have left such a line, if it was not synced."""
    return not line.endswith(b"\n") or b"\0" in line


def waits(line: bytes) -> bool:
    """Whether nothing says that a line was on the disk before others were written."""
    return _WAITS in line[:_HEAD_BYTES] or is_damaged(line)


def before_lost(path: Path) -> float:
    """Where the first of the last lines begins, which have waited, whose trial is not there."""
    at = path.stat().st_size if path.exists() else 0
    lines = _last_lines(path) if at else []
    at -= sum(map(len, lines))
    for line in lines:
        with contextlib.suppress(ValueError, LookupError, TypeError):
            event = read_json(line)["event"]
            if event["type"] == "trial_finished" and not _is_there(path.parent, event):
                return at
        at += len(line)
    return math.inf


def _is_there(root: Path, trial: dict[str, str]) -> bool:
    """Whether a finished trial's file, if it has one, is what was written."""
    try:
        return not trial["file"] or sha256((root / trial["file"]).read_bytes()) == trial["sha256"]
    except OSError:
        return False


def _last_lines(path: Path) -> list[bytes]:
    """The lines that have waited, back to one that did not, or was damaged."""
    lines: list[bytes] = []
    begin, step = path.stat().st_size, _CHUNK
    with path.open("rb") as file:
        while begin:
            begin, step = max(0, begin - step), 2 * step
            file.seek(begin)
            # The first one may be half a line.
            lines = list(file)[bool(begin) :]
            waiting = list(itertools.takewhile(waits, reversed(lines)))
            if len(waiting) < len(lines):
                return waiting[::-1]
    return lines
