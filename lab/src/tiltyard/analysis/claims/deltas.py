"""By how much one system is better than another one, in percent, as tables and sentences print it.

A sentence and a table take the number from the same :class:`Delta`, so they cannot differ.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tiltyard.analysis.amounts import percent_digits
from tiltyard.analysis.model import Comparison, Findings, Pair
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.verdict import Verdict


@dataclass(frozen=True)
class Delta:
    """How much better a system is than another: more of what is good, or less of a time."""

    pair: Pair
    percent: float
    low: float | None
    """The interval, in percent, its lower end first; ``None`` where nothing was repeated."""
    high: float | None
    decimals: int
    verdict: Verdict

    @property
    def amount(self) -> str:
        """Unsigned, as a sentence has it: ``33.4``."""
        return unsigned(self.percent, self.decimals)

    @property
    def text(self) -> str:
        """Signed, as a table has it: ``+33.4``, ``−5.0``."""
        return signed(self.percent, self.decimals)

    @property
    def interval(self) -> str:
        """``+24.0 … +39.1``; empty where nothing was repeated."""
        if self.low is None or self.high is None:
            return ""
        return f"{signed(self.low, self.decimals)} … {signed(self.high, self.decimals)}"

    @property
    def ends(self) -> tuple[str, ...]:
        """Both ends of the interval, unsigned; none where nothing was repeated."""
        known = (end for end in (self.low, self.high) if end is not None)
        return tuple(unsigned(end, self.decimals) for end in known)

    @property
    def is_nothing(self) -> bool:
        """Whether it is zero as printed."""
        return round(self.percent, self.decimals) == 0


def delta(
    comparisons: Iterable[Comparison], pair: Pair, direction: Direction, decimals: int
) -> Delta | None:
    """The comparison of a pair, in percent; ``None`` where it was not compared.

    Args:
        comparisons: of one line.
        pair: who, against whom.
        direction: of the line.
        decimals: where there is no interval to round by.
    """
    found = _between(comparisons, pair)
    if found is None or found.ratio is None:
        return None
    low, high = found.low, found.high
    ends: list[float | None] = [None, None]
    if low is not None and high is not None:
        decimals = percent_digits((high - low) / 2)
        ends = [*sorted(percent(end, direction) for end in (low, high))]
    return Delta(pair, percent(found.ratio, direction), ends[0], ends[1], decimals, found.verdict)


def percent(ratio: float, direction: Direction) -> float:
    """How much better a ratio is than 1, in percent: more, or less of a time."""
    return 100 * (ratio - 1 if direction == "higher" else 1 - ratio)


def unprinted_decimals(findings: Findings) -> int:
    """Decimals of a percentage that has no interval: those of its source."""
    return findings.origin.delta_decimals if findings.origin else 1


def unsigned(value: float, decimals: int) -> str:
    """``1,749.8``."""
    return f"{abs(round(value, decimals)):,.{decimals}f}"


def signed(value: float, decimals: int) -> str:
    """``+1,749.8``, ``−0.3``, ``0.0``."""
    rounded = round(value, decimals)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return sign + unsigned(value, decimals)


def _between(comparisons: Iterable[Comparison], pair: Pair) -> Comparison | None:
    for found in comparisons:
        if (found.system, found.against) == (pair.system, pair.against):
            return found
        if (found.against, found.system) == (pair.system, pair.against):
            return turned(found)
    return None
