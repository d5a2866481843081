"""What has a mean: things that measure the same.

Over a rate and its inverse a mean would count one thing twice, over operations and bytes it would
add unlike ones.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Measure(Protocol):
    """A metric, or a table of one."""

    @property
    def unit(self) -> str:
        """Empty for a pure number."""
        ...

    @property
    def direction(self) -> str:
        """Which values are better."""
        ...


def alike(own: Sequence[T], measure: Callable[[T], Measure]) -> list[T]:
    """Those of the unit and direction that the most have; of several such, the first one's."""
    kinds = [(found.unit, found.direction) for found in map(measure, own)]
    most = max(kinds, key=kinds.count, default=None)
    return [one for one, kind in zip(own, kinds, strict=True) if kind == most]
