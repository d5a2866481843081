"""Programs with the mark of a User-Mode Linux kernel, which they are not."""

import shutil
import struct
from pathlib import Path

MARK = ".uml.setup.init"


def marked(program: Path, copy: Path) -> Path:
    """A copy of a program of 64 bits that still works, and has that section alone."""
    shutil.copy(program, copy)
    names = f"\0{MARK}\0".encode()
    with copy.open("r+b") as file:
        names_at = file.seek(0, 2)
        file.write(names)
        sections_at = file.tell()
        file.write(struct.pack("<II40xQQ", 1, 1, 0, 0))
        file.write(struct.pack("<II16xQQ24x", 0, 3, names_at, len(names)))
        file.seek(40)
        file.write(struct.pack("<Q", sections_at))
        file.seek(58)
        file.write(struct.pack("<HHH", 64, 2, 1))
    return copy
