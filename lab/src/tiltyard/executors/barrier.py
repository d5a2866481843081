"""The start barrier: timed regions of several trials begin at the same instant.

Each trial has a thread that reads what it says. When it is ready for a timed region, the clock of
its host is held against ours by round trips over the control connection; when all are ready, each
is told an instant of its own clock that lies a little ahead. So neither the way of that word nor
the order in which it is said is part of when a client begins.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

LEAD_NS: Final = 50_000_000
"""So long after all were ready they begin: more than a word takes to another host, and than a
scheduler lets others have a processor."""
_ROUND_TRIPS: Final = 8
"""Of so many questions for the time the one that was answered soonest counts."""
_LOOK_S: Final = 0.1
"""Between two looks whether one that waits is still there."""


@dataclass(frozen=True)
class Reading:
    """Another host's clock against ours."""

    ahead_ns: int
    uncertainty_ns: int
    """Half of the round trip: the answer was given at some instant of it (Cristian, 1989)."""

    @classmethod
    def between(cls, asked_ns: int, there_ns: int, answered_ns: int) -> Self:
        """From our clock before and after, and theirs at some instant between."""
        half_ns = (answered_ns - asked_ns) // 2
        return cls(there_ns - asked_ns - half_ns, half_ns)


def closest(ask: Callable[[], int | None]) -> Reading | None:
    """The best of some readings; ``None`` as soon as the time is not told."""
    readings: list[Reading] = []
    while len(readings) < _ROUND_TRIPS:
        asked_ns = time.monotonic_ns()
        if (there_ns := ask()) is None:
            return None
        readings.append(Reading.between(asked_ns, there_ns, time.monotonic_ns()))
    return min(readings, key=lambda reading: reading.uncertainty_ns)


@dataclass(frozen=True)
class Start:
    """When a timed region was to begin."""

    at_ns: int
    """By our CLOCK_MONOTONIC."""
    clock: Reading

    @property
    def there_ns(self) -> int:
        """By that of its host."""
        return self.at_ns + self.clock.ahead_ns


class Barrier:
    """Where trials meet before each timed region."""

    def __init__(self, trials: int, ready: Callable[[], None] = lambda: None) -> None:
        """So many meet here; ``ready`` is called once, when all are here for the first time."""
        self._trials = trials
        self._ready = ready
        self._changed = threading.Condition()
        self._here = 0
        self._round = 0
        self._at_ns = 0
        self._left = False

    def arrive(self, waits: Callable[[], bool]) -> int | None:
        """Wait for the others.

        Args:
            waits: asked from time to time: whether the trial still waits.

        Returns:
            When all begin, by our CLOCK_MONOTONIC; ``None`` if they never will together.
        """
        with self._changed:
            mine = self._round
            self._here += 1
            if self._here == self._trials and not self._left:
                if mine == 0:
                    self._ready()
                self._here, self._round = 0, mine + 1
                self._at_ns = time.monotonic_ns() + LEAD_NS
                self._changed.notify_all()
            while mine == self._round and not self._left:
                self._changed.wait(_LOOK_S)
                if mine == self._round and not waits():
                    self._give_up()
            return self._at_ns if mine < self._round else None

    def leave(self) -> None:
        """A trial has ended: the others meet no more."""
        with self._changed:
            self._give_up()

    def _give_up(self) -> None:
        self._left = True
        self._changed.notify_all()
