"""Waiting for others: what another run or program has at the moment is no result of a system."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from tiltyard.errors import BusyError
from tiltyard.host.ledger import recover
from tiltyard.run.context import Context
from tiltyard.units import format_duration

WAIT_S: Final = 600.0
"""How long a run waits for others before it ends."""
_LONGEST_STEP_S = 5.0
_TICK_S = 0.1

T = TypeVar("T")


def retry_while_busy(context: Context, name: str, attempt: Callable[[], T]) -> T:
    """Try until nobody is in the way any more; a person is told once.

    Args:
        context: says how long to wait.
        name: of the system.
        attempt: leaves nothing behind when it raises.

    Raises:
        InterruptedRunError: if a signal came.
        BusyError: if somebody still is after that time. Nothing of it is in the journal, so the
            same command goes on with what it was about to do.
    """
    give_up = time.monotonic() + context.wait_s
    step_s = _TICK_S
    told = False
    while True:
        try:
            return attempt()
        except BusyError as error:
            waited = format_duration(context.wait_s)
            if time.monotonic() >= give_up:
                raise BusyError(
                    f"{name}: {error}. The run has waited for {waited} and ends; everything "
                    "finished is kept, and the same command goes on"
                ) from None
            if not told:
                context.observer.note(f"{name}: {error}; waiting, for {waited} at most")
                told = True
        pause(context, min(step_s, max(0.0, give_up - time.monotonic())))
        step_s = min(2 * step_s, _LONGEST_STEP_S)
        for line in recover():
            context.observer.note(line)


def pause(context: Context, length_s: float) -> None:
    """A while that a signal ends."""
    over = time.monotonic() + length_s
    while (left_s := over - time.monotonic()) > 0:
        context.interrupt.check()
        time.sleep(min(_TICK_S, left_s))
    context.interrupt.check()
