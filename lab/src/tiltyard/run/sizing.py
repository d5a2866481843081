"""How often a program is executed in each trial, where the study leaves it open.

A trial that goes on until its executions have taken so long has the more of them the shorter they
are: its mean is too high wherever they vary, and by how much differs between systems. So the
number is found in the first block, from executions whose times count for nothing else, and is the
same in all trials of all systems then.

Source: the bias is that of a renewal process that is stopped after a time (length-biased sampling;
D. R. Cox, "Renewal Theory", 1962).
"""

from collections.abc import Sequence
from math import ceil
from statistics import fmean, variance
from typing import Final, NamedTuple

BIAS: Final = 0.005
"""By how much the logarithm of a trial's mean may lie below that of the mean, on average."""
_MOST_S: Final = 1.0
_MOST_TRIED: Final = 30


class Asked(NamedTuple):
    """What a study says of the executions of a trial."""

    at_least_s: float
    """Their time together, at least."""
    executions: int = 1
    """Their number, at least."""

    @property
    def most_s(self) -> float:
        """What they take where they scatter, or where systems are far apart: a second."""
        return max(self.at_least_s, _MOST_S)


class Tried(NamedTuple):
    """What a system tells of its executions before its first trial."""

    enough: int
    """So many took what is asked for."""
    times_s: tuple[float, ...]
    """Of as many as were executed."""
    elapsed_s: float = 0.0
    """Time that trying took, with what is around the executions."""

    @property
    def mean_s(self) -> float:
        """Of the times."""
        return fmean(self.times_s)

    @property
    def needs(self) -> int:
        """How many a trial takes.

        The logarithm of a mean of n values lies below that of their expectation, by half of their
        squared coefficient of variation over n (delta method): systems that scatter more would be
        called faster.
        """
        if len(self.times_s) < 2 or not self.mean_s:
            return self.enough
        squared = variance(self.times_s) / self.mean_s**2
        return max(self.enough, ceil(squared / (2 * BIAS)))


def executions_for(tried: Sequence[Tried], asked: Asked) -> int:
    """How often each trial of each system executes its program.

    Args:
        tried: what each system tells that was tried, one at least.
        asked: what the study says.

    Returns:
        The largest number that a system needs, as long as the slowest one takes a second, or what
        it needs itself.
    """
    number, slowest = max(one.needs for one in tried), max(tried, key=lambda one: one.mean_s)
    if number * slowest.mean_s > asked.most_s:
        number = max(int(asked.most_s / slowest.mean_s), slowest.enough)
    return max(asked.executions, number)


def further(first_s: Sequence[float], elapsed_s: float, asked: Asked) -> int:
    """How many executions are tried after those that took long enough; 0: none.

    Args:
        first_s: the times of these.
        elapsed_s: what they took with what is around them: preparing each, setting up.
        asked: what the study says.
    """
    mean_s = fmean(first_s)
    if not mean_s or elapsed_s > 2 * asked.most_s:
        return 0
    return max(0, min(int(asked.most_s / mean_s), _MOST_TRIED) - len(first_s))
