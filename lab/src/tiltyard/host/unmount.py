"""Unmount, with patience."""

import time
from pathlib import Path

from tiltyard.errors import TiltyardError
from tiltyard.host import commands

_BUSY_TRIES = 20
_BUSY_PAUSE_S = 0.25


def unmount(target: Path) -> None:
    """Unmount; what is busy gets a few seconds, because a stopped engine takes a moment to end.

    Raises:
        TiltyardError: if it is busy all the same, or cannot be unmounted.
    """
    for attempt in range(_BUSY_TRIES):
        try:
            commands.run(("umount", str(target)))
            return
        except TiltyardError as error:
            if "busy" not in str(error) or attempt == _BUSY_TRIES - 1:
                raise
            time.sleep(_BUSY_PAUSE_S)
