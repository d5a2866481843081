"""Waiting for what is sure to come, however busy the machine is."""

import time
from collections.abc import Callable
from typing import Final

PATIENCE_S: Final = 300.0
"""What has not come by then never comes: only a test that fails waits so long."""


def wait_until(come: Callable[[], object], what: str, pause_s: float = 0.01) -> None:
    """Until something has come about.

    Args:
        come: whether it has.
        what: to be said if it never does.
        pause_s: between two looks.
    """
    give_up = time.monotonic() + PATIENCE_S
    while not come():
        assert time.monotonic() < give_up, what
        time.sleep(pause_s)
