"""Which file a study means by a kernel."""

import os
import re
import shlex
from pathlib import Path
from typing import Final

from tiltyard.host.packages import find_program
from tiltyard.ownership import cache_directory, expanded

_SERIES: Final = re.compile(r"\d+\.\d+")
UNPACK: Final = f"sh {shlex.quote(str(Path(__file__).with_name('guest-kernels')))}"
"""The command that downloads and unpacks them, followed by their series."""


def kernels_directory() -> Path:
    """Where they lie: ``$TILTYARD_KERNELS``, else in the user's cache."""
    if named := os.environ.get("TILTYARD_KERNELS"):
        return Path(named)
    return cache_directory() / "kernels"


def kernel_of_series(name: str) -> Path | None:
    """Where the kernel of a series is expected, ``6.12``; ``None`` if that is no series."""
    return kernels_directory() / name / "vmlinuz" if _SERIES.fullmatch(name) else None


def kernel_named(name: str, root: Path) -> Path | None:
    """The file of a kernel: a path, a series, or a program's name; ``None`` if there is none.

    Args:
        name: as the study has it.
        root: what relative paths begin at.
    """
    if (path := kernel_of_series(name)) is not None:
        return path if path.is_file() else None
    if "/" in name:
        path = root / expanded(Path(name))
        return path if path.is_file() else None
    program = find_program(name)
    return Path(program) if program else None
