"""Ctrl-C and SIGTERM: noted at once, obeyed at the next step.

The handler raises nothing, so no step is torn in two; and a second Ctrl-C during the clean-up is
noted like the first and disturbs nothing. Where several runs share a process, each in a thread,
a signal is meant for all of them.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, Self

from tiltyard.errors import InterruptedRunError

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


_entered: list["Interrupt"] = []
os.register_at_fork(after_in_child=_entered.clear)


class Interrupt:
    """Takes over the signals that mean "stop" while it is entered.

    In another thread than the main one it hears of them by one that is entered there.
    """

    def __init__(self, message: str) -> None:
        """The message of the error that :meth:`check` raises."""
        self._message = message
        self._stop: Callable[[], None] | None = None
        self.received: signal.Signals | None = None

    def __enter__(self) -> Self:
        """Install the handlers."""
        is_main = threading.current_thread() is threading.main_thread()
        numbers = SIGNALS if is_main else ()
        _entered.append(self)
        self._before = {number: signal.signal(number, _note) for number in numbers}
        # One that has come already is for us too; one that comes at this moment stays.
        for one in tuple(_entered):
            if one.received is not None:
                self.received = one.received
        return self

    def __exit__(self, *_: object) -> None:
        """Put the old handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        _entered.remove(self)

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

    def note(self, received: signal.Signals) -> None:
        """A signal has come."""
        self.received = received
        if self._stop is not None:
            self._stop()


def _note(number: int, _: FrameType | None) -> None:
    """The handler."""
    for one in tuple(_entered):
        one.note(signal.Signals(number))
