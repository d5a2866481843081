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
    return named(number)


def named(number: int) -> str:
    """What uname(1) calls the machine of that ``e_machine``."""
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
