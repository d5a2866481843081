"""Kernels by the name of their series, as ``scripts/guest-kernels`` unpacks them."""

import os
import re
from pathlib import Path
from typing import Final

_SERIES: Final = re.compile(r"\d+\.\d+")
UNPACK: Final = "scripts/guest-kernels"
"""The command that unpacks them."""


def kernels_directory() -> Path:
    """Where they lie: ``$TILTYARD_KERNELS``, else in the user's cache."""
    if named := os.environ.get("TILTYARD_KERNELS"):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tiltyard" / "kernels"


def kernel_of_series(name: str) -> Path | None:
    """Where the kernel of a series is expected, ``6.12``; ``None`` if that is no series."""
    return kernels_directory() / name / "vmlinuz" if _SERIES.fullmatch(name) else None
