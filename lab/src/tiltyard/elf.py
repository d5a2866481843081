"""What the head of a program's file says: which machine it is for, and what it needs.

Nothing but the standard library, for the build of wheels reads this file by itself.
Source: System V ABI, chapters 4 and 5 (ELF header, program header).
"""

import struct
from pathlib import Path
from typing import Final

_MACHINES: Final = {
    3: "i686",
    40: "arm",
    43: "sparc64",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
}
"""``e_machine`` → what uname(1) calls it."""
_HEADER_BYTES: Final = 64
_INTERPRETER: Final = 3
"""``PT_INTERP``: the program is started by a dynamic linker."""
_SECTIONS: Final = {1: ("<I", 32, "<HHH", 46, "<II", 16), 2: ("<Q", 40, "<HHH", 58, "<QQ", 24)}
"""Class → where the section headers are, their size, number and the one of the names; of a header,
where its section is and how large it is."""
_NAMES_BYTES: Final = 2**20
"""More than the names of the sections of any program take."""


def machine(program: Path) -> str | None:
    """The machine that a program was built for, as uname(1) calls it; None for a script.

    Raises:
        OSError: if the file cannot be read.
    """
    with program.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    if len(head) < _HEADER_BYTES or not head.startswith(b"\x7fELF"):
        return None
    number: int = struct.unpack_from("<H", head, 18)[0]
    return _MACHINES.get(number, f"machine {number} of ELF")


def is_static(program: Path) -> bool:
    """Whether a program of 64 bits is started without shared libraries; a script counts as one.

    Raises:
        OSError: if the file cannot be read.
    """
    with program.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        if len(head) < _HEADER_BYTES or not head.startswith(b"\x7fELF\x02"):
            return True
        start: int = struct.unpack_from("<Q", head, 32)[0]
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(start)
        table = file.read(size * count)
    kinds = (struct.unpack_from("<I", table, at)[0] for at in range(0, len(table), size))
    return _INTERPRETER not in kinds


def has_section(program: Path, name: str) -> bool:
    """Whether a program has a section of a name; none has a script, or what is damaged.

    Raises:
        OSError: if the file cannot be read.
    """
    with program.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        if len(head) < _HEADER_BYTES or not head.startswith(b"\x7fELF") or head[4] not in _SECTIONS:
            return False
        where, at, counts, counts_at, place, place_at = _SECTIONS[head[4]]
        (start,) = struct.unpack_from(where, head, at)
        size, count, of_names = struct.unpack_from(counts, head, counts_at)
        if start > program.stat().st_size or size > _HEADER_BYTES:
            return False
        file.seek(start)
        table = file.read(size * count)
        try:
            offsets = [struct.unpack_from("<I", table, size * one)[0] for one in range(count)]
            names_at, names_bytes = struct.unpack_from(place, table, size * of_names + place_at)
        except struct.error:
            return False
        if names_at > program.stat().st_size:
            return False
        file.seek(names_at)
        names = file.read(min(names_bytes, _NAMES_BYTES))
    return any(names[offset:].partition(b"\0")[0] == name.encode() for offset in offsets)
