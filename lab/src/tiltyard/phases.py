"""What is done at this moment that may take a while, for whoever shows it.

A phase changes nothing of what is done, and costs next to nothing: nobody is called while it goes
on. It never lies around a trial, where the display would be interference.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tiltyard.units import SIZE_UNITS, format_number


@dataclass
class Phase:
    """One of them."""

    what: str
    """In words: ``writing the image``."""
    of_bytes: int = 0
    """How much there is to do; 0: that is not counted."""
    done_bytes: int = 0
    began_s: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        """With its amount: ``writing the image, 1.2 of 4 GiB``."""
        if not self.of_bytes:
            return self.what
        unit = max((bytes_ for bytes_ in SIZE_UNITS.values() if bytes_ <= self.of_bytes), default=1)
        name = next(name for name, bytes_ in SIZE_UNITS.items() if bytes_ == unit)
        done = f"{self.done_bytes / unit:.1f}"
        return f"{self.what}, {done} of {format_number(self.of_bytes / unit)} {name}"

    @property
    def elapsed_s(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began_s


class Listener(Protocol):
    """Shows phases; one may begin within another one."""

    def began(self, phase: Phase) -> None:
        """It has begun."""

    def ended(self, phase: Phase) -> None:
        """It has ended."""


_listeners: list[Listener] = []
os.register_at_fork(after_in_child=_listeners.clear)


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Show phases of this process in the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextlib.contextmanager
def phase(what: str, of_bytes: int = 0) -> Iterator[Phase]:
    """Say what the block does; its amount is counted in :attr:`Phase.done_bytes`."""
    here = Phase(what, of_bytes)
    heard = tuple(_listeners)
    for listener in heard:
        listener.began(here)
    try:
        yield here
    finally:
        for listener in heard:
            listener.ended(here)
