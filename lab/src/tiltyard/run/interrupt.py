"""Ctrl-C and SIGTERM: noted at once, obeyed at the next step.

The handler raises nothing, so no step is torn in two; and a second Ctrl-C during the clean-up is
noted like the first and disturbs nothing.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, Self

from tiltyard.errors import InterruptedRunError

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupt:
    """Takes over the signals that mean "stop" while it is entered; main thread only."""

    def __init__(self, message: str) -> None:
        """The message of the error that :meth:`check` raises."""
        self._message = message
        self._stop: Callable[[], None] | None = None
        self.received: signal.Signals | None = None

    def __enter__(self) -> Self:
        """Install the handlers."""
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        """Put the old handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Between two steps.

        Raises:
            InterruptedRunError: if a signal has come.
        """
        if self.received is not None:
            raise InterruptedRunError(self._message)

    @contextmanager
    def stops(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have ``stop`` called as soon as a signal comes, or now if one has come."""
        self._stop = stop
        if self.received is not None:
            stop()
        try:
            yield
        finally:
            self._stop = None

    def _note(self, number: int, _: FrameType | None) -> None:
        """The handler."""
        self.received = signal.Signals(number)
        if self._stop is not None:
            self._stop()
