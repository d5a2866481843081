"""Durations, of which the typical one is asked for again and again while more come."""

from heapq import heappush, heappushpop


class Times:
    """Durations in seconds; each costs the logarithm of their number."""

    def __init__(self) -> None:
        """None yet."""
        self._upper: list[float] = []
        self._lower: list[float] = []
        """Those at most the median, negated: both are heaps, and this one is never shorter."""

    def add(self, seconds: float) -> None:
        """One more."""
        if len(self._lower) > len(self._upper):
            heappush(self._upper, -heappushpop(self._lower, -seconds))
        else:
            heappush(self._lower, -heappushpop(self._upper, seconds))

    @property
    def median_s(self) -> float:
        """Of at least one; of an even number the mean of the middle two."""
        if len(self._lower) > len(self._upper):
            return -self._lower[0]
        return (self._upper[0] - self._lower[0]) / 2
