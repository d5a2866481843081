"""Whether a file system does direct I/O, as it says itself."""

import ctypes
import os
import secrets
import struct
from pathlib import Path

from tiltyard.host.changes.change import PREFIX
from tiltyard.host.facts import ABSENT

_DIOALIGN = 0x2000
"""STATX_DIOALIGN, <linux/stat.h>."""
_AT_FDCWD = -100
_STATX_BYTES = 256
_MASK = struct.Struct("=I")
_ALIGNMENT = struct.Struct("=II")
_ALIGNMENT_AT = 152
"""Where stx_dio_mem_align and stx_dio_offset_align stand."""


def direct_io(directory: Path) -> str:
    """What becomes of a file that is opened with O_DIRECT in a directory, in words.

    A file is made for the question, and removed. Source: open(2), statx(2) (Linux 6.1).
    """
    path = directory / f"{PREFIX}{secrets.token_hex(4)}-direct"
    try:
        path.touch(exist_ok=False)
    except OSError:
        return ABSENT
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        return _said(path)
    except OSError:
        return "refused"
    finally:
        path.unlink()


def _said(path: Path) -> str:
    """What statx(2) says of a file."""
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    statx = ctypes.CDLL(None, use_errno=True).statx
    if statx(_AT_FDCWD, os.fsencode(path), 0, _DIOALIGN, answer) != 0:
        return ABSENT
    (mask,) = _MASK.unpack_from(answer)
    if not mask & _DIOALIGN:
        return "accepted; the file system does not say what becomes of it"
    memory_bytes, offset_bytes = _ALIGNMENT.unpack_from(answer, _ALIGNMENT_AT)
    if offset_bytes == 0:
        return "none: accepted, but the file system buffers it all the same"
    return f"aligned to {offset_bytes} B (memory: {memory_bytes} B)"
