"""What has a mean: things that measure the same.

Over a rate and its inverse a mean would count one thing twice, over operations and bytes it would
add unlike ones. So would one over wall-clock time and CPU time: a part of the one may be the other,
and four threads have four seconds of CPU time in one second.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

_CPU_TIMES: Final = ("cpu_time", "user", "system", "user_time", "system_time")
"""How metrics of CPU time are called, by the engine and by readers."""


class Measure(Protocol):
    """A metric, or a table of one."""

    @property
    def name(self) -> str:
        """Of the metric."""
        ...

    @property
    def unit(self) -> str:
        """Empty for a pure number."""
        ...

    @property
    def direction(self) -> str:
        """Which values are better."""
        ...


def is_cpu_time(metric: str) -> bool:
    """Whether a metric of this name is CPU time: ``user``, ``google-benchmark_cpu_time``."""
    return metric in _CPU_TIMES or metric.endswith("_cpu_time")


def alike(own: Sequence[T], measure: Callable[[T], Measure]) -> list[T]:
    """Those of the unit and direction that the most have; of several such, the first one's.

    CPU time is of a kind by itself.
    """
    kinds = [(found.unit, found.direction, is_cpu_time(found.name)) for found in map(measure, own)]
    most = max(kinds, key=Counter(kinds).__getitem__, default=None)
    return [one for one, kind in zip(own, kinds, strict=True) if kind == most]
