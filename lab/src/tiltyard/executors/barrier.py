"""How several trials wait for each other: they begin at the same instant, or they take turns.

Each trial has a thread that reads what it says. At a start barrier, when it is ready for a timed
region, the clock of its host is held against ours by round trips over the control connection; when
all are ready, each is told an instant of its own clock that lies a little ahead. So neither the way
of that word nor the order in which it is said is part of when a client begins.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, Self

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


AT_ONCE: Final = Start(0, Reading(0, 0))
Clock = Callable[[], Reading | None]
"""Reads the clock of a trial's host; ``None``: the trial does not wait any more."""
Waits = Callable[[], bool]
"""Asked from time to time: whether a trial still waits."""


class HeldBy(Protocol):
    """What a trial waits for."""

    @property
    def each(self) -> Literal["regions", "executions"]:
        """Before what it waits; see the wire's ``Held``."""

    def arrive(self, clock: Clock, waits: Waits) -> Start | None:
        """It is ready.

        Returns:
            When it begins; ``None`` if it never will.
        """


class Barrier:
    """Where trials meet before each timed region."""

    each: Final = "regions"

    def __init__(self, trials: int, ready: Callable[[], None] = lambda: None) -> None:
        """So many meet here; ``ready`` is called once, when all are here for the first time."""
        self._trials = trials
        self._ready = ready
        self._changed = threading.Condition()
        self._here = 0
        self._round = 0
        self._at_ns = 0
        self._left = False

    def arrive(self, clock: Clock, waits: Waits) -> Start | None:
        """Wait for the others; all begin at the same instant."""
        if (reading := clock()) is None:
            return None
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
            return Start(self._at_ns, reading) if mine < self._round else None

    def leave(self) -> None:
        """A trial has ended: the others meet no more."""
        with self._changed:
            self._give_up()

    def _give_up(self) -> None:
        self._left = True
        self._changed.notify_all()


class Turns:
    """Trials that execute one at a time, in a given order."""

    def __init__(self, order: Sequence[int]) -> None:
        """With the places of trials: first each once, to begin, then one for each execution."""
        self.held_s = dict.fromkeys(order, 0.0)
        """Place → how long it was its turn."""
        self._order = deque(order)
        self._changed = threading.Condition()
        self._holder: int | None = None
        self._since_s = 0.0

    def take(self, place: int, waits: Waits) -> bool:
        """Its turn is over, if it had one; wait for the next. ``False`` if it does not wait."""
        with self._changed:
            self._release(place)
            while self._holder is not None or (self._order and self._order[0] != place):
                self._changed.wait(_LOOK_S)
                if not waits():
                    return False
            if self._order:
                self._order.popleft()
            self._holder, self._since_s = place, time.monotonic()
            return True

    def leave(self, place: int) -> None:
        """Its trial has ended; the others go on."""
        with self._changed:
            self._order = deque(one for one in self._order if one != place)
            self._release(place)

    def of(self, place: int) -> "Turn":
        """What a trial waits for."""
        return Turn(self, place)

    def _release(self, place: int) -> None:
        if self._holder == place:
            self.held_s[place] += time.monotonic() - self._since_s
            self._holder = None
        self._changed.notify_all()


@dataclass(frozen=True)
class Turn:
    """The turns of one trial."""

    turns: Turns
    place: int
    each: Literal["executions"] = "executions"

    def arrive(self, clock: Clock, waits: Waits) -> Start | None:  # noqa: ARG002  none is needed
        """Wait for its turn."""
        return AT_ONCE if self.turns.take(self.place, waits) else None


def hear_together(hear: Callable[[int], object], trials: int, stop: Callable[[], None]) -> None:
    """Hear so many trials to their ends, each in a thread, the first in this one.

    Args:
        hear: is given the place of each.
        trials: their number.
        stop: ends all; called when one could not be heard, whose error is raised in the end.
    """
    errors: list[BaseException] = []

    def guarded(place: int) -> None:
        try:
            hear(place)
        except BaseException as error:
            errors.append(error)
            stop()

    threads = [threading.Thread(target=guarded, args=(place,)) for place in range(1, trials)]
    for thread in threads:
        thread.start()
    guarded(0)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
