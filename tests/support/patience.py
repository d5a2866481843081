"""Waiting for what is sure to come, however busy the machine is."""

import time
from collections.abc import Callable
from typing import Final

PATIENCE_S: Final = 300.0
"""What has not come by then never comes: only a test that fails waits so long."""
LATEST_S: Final = 10.0
"""Beside other tests, what begins with others may have to wait for a processor as long."""
_PAUSE_S: Final = 0.01


def wait_until(come: Callable[[], object], what: str, pause_s: float | None = None) -> None:
    """Until something has come about.

    Args:
        come: whether it has.
        what: to be said if it never does.
        pause_s: between two looks; by default five times as long as a look takes, so that looking
            does not keep what is waited for from coming.
    """
    give_up = time.monotonic() + PATIENCE_S
    while True:
        looked_s = time.monotonic()
        if come():
            return
        now_s = time.monotonic()
        assert now_s < give_up, what
        time.sleep(max(_PAUSE_S, 5 * (now_s - looked_s)) if pause_s is None else pause_s)
