"""How often, and by how much at least and at most, one system is better than another one.

Where values were repeated, better means a verdict; a single number is better if it is larger (of a
time: smaller). So a count never says more than the cells do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tiltyard.analysis.claims.deltas import Delta, delta
from tiltyard.analysis.claims.lines import Line
from tiltyard.analysis.model import Pair


@dataclass(frozen=True)
class Count:
    """A pair of systems over several lines or cells."""

    pair: Pair
    better: int
    worse: int
    of: int
    """Lines or cells in which both have a value."""
    repeated: bool
    """Whether better and worse are verdicts."""
    least: Delta
    """Where the system has the smallest advantage, or the largest disadvantage."""
    most: Delta
    least_at: str
    most_at: str

    @property
    def open(self) -> int:
        """In which neither is better."""
        return self.of - self.better - self.worse


def count(lines: Sequence[Line], pair: Pair, decimals: int) -> Count | None:
    """A pair over some lines; ``None`` where it is in none of them."""
    told = [
        (line.head, found)
        for line in lines
        if (found := delta(line.comparisons, pair, line.direction, decimals)) is not None
    ]
    return _counted(pair, told)


def counts(lines: Sequence[Line], pairs: Iterable[Pair], decimals: int) -> list[Count]:
    """The same of several pairs."""
    found = (count(lines, pair, decimals) for pair in pairs)
    return [one for one in found if one is not None]


def count_together(
    lines: Sequence[Line], pairs: Sequence[Pair], pair: Pair, decimals: int
) -> Count | None:
    """Several pairs as one: a level against another one, wherever both were compared.

    Args:
        lines: to count over.
        pairs: each of which counts in each line.
        pair: what they are called together: the two levels.
        decimals: where there is no interval to round by.
    """
    told = [
        (", ".join(filter(None, (line.head, one.within))), found)
        for line in lines
        for one in pairs
        if (found := delta(line.comparisons, one, line.direction, decimals)) is not None
    ]
    return _counted(pair, told)


def _counted(pair: Pair, told: Sequence[tuple[str, Delta]]) -> Count | None:
    if not told:
        return None
    least_at, least = min(told, key=lambda one: one[1].percent)
    most_at, most = max(told, key=lambda one: one[1].percent)
    return Count(
        pair=pair,
        better=sum(is_better(found) for _, found in told),
        worse=sum(is_worse(found) for _, found in told),
        of=len(told),
        repeated=any(found.interval for _, found in told),
        least=least,
        most=most,
        least_at=least_at,
        most_at=most_at,
    )


def is_better(found: Delta) -> bool:
    """By verdict where there is an interval, else by the numbers as they are."""
    return found.verdict == "faster" if found.interval else found.percent > 0


def is_worse(found: Delta) -> bool:
    """The other way round."""
    return found.verdict == "slower" if found.interval else found.percent < 0
