"""Which file systems the kernel has a driver for."""

import os
from pathlib import Path

_KNOWN = Path("/proc/filesystems")
_MODULES = Path("/lib/modules")


def knows_filesystem(name: str) -> bool:
    """Whether a driver is there, or is a module that the kernel loads when it is needed.

    Source: proc(5); modules.dep(5).
    """
    if name in _KNOWN.read_text().split():
        return True
    listed = _MODULES / os.uname().release / "modules.dep"
    try:
        files = (line.partition(":")[0] for line in listed.read_text().splitlines())
    except OSError:
        return False
    return any(Path(file).name.partition(".ko")[0].replace("_", "-") == name for file in files)
