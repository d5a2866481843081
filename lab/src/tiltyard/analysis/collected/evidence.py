"""What two readings say about their ratio: paired where the source pairs them, else unpaired.

Unpaired: Welch's t on the log scale. Of values their logarithms are taken; of a mean with its
standard error the first-order (delta) approximation, ``se(ln m) = se / m``. A standard error that
was printed as 0.00 is not zero: half a unit of the last printed digit is added to it.

Sources: Welch, Biometrika 34 (1947); Oehlert, "A note on the delta method", Am. Stat. 46 (1992);
pairs: :mod:`tiltyard.stats.signed_rank`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.collected.model import PrintedAs, Reading
from tiltyard.stats.signed_rank import largest_c, signed_rank
from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import Moments, welch

LEVEL: Final = 0.05
FARTHEST: Final = 300.0
"""Where an interval ends that reaches farther: such a ratio tells nothing, and floats end soon."""
FEWEST_PAIRS: Final = 6
"""Fewer paired blocks cannot give a 95 % interval; they count as two heaps then."""


@dataclass(frozen=True)
class Location:
    """Where one system's logarithms lie, and how sure that is."""

    mean: float
    error: float | None
    """Standard error; ``None`` where nothing was repeated."""
    n: int
    rounding: float = 0.0
    """What printed digits leave open, on the log scale."""


@dataclass(frozen=True)
class Evidence:
    """``ln(system / against)`` with its interval."""

    estimate: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    """Pairs, or values of the smaller heap."""
    differences: tuple[float, ...] = ()
    """Log ratio of each block, where blocks are paired."""

    @property
    def paired(self) -> bool:
        """Whether it rests on blocks."""
        return bool(self.differences)


def location(reading: Reading, printed: PrintedAs | None) -> Location | None:
    """Where the logarithm of a reading lies; ``None`` where it has no positive value."""
    if reading.values:
        return _of_values(np.log(reading.values)) if min(reading.values) > 0 else None
    if reading.mean is None or reading.mean <= 0:
        return None
    unit = 0.5 * 10.0**-printed.decimals * printed.factor if printed else 0.0
    error = standard_error(reading)
    known = None if error is None or (reading.n or 0) < 2 else (error + unit) / reading.mean
    return Location(math.log(reading.mean), known, reading.n or 1, unit / reading.mean)


def standard_error(reading: Reading) -> float | None:
    """Of the mean of a reading, as it is stated or from its deviation and count."""
    if reading.se is not None:
        return reading.se
    if reading.sd is None or reading.n is None:
        return None
    return reading.sd / math.sqrt(reading.n)


def shared_blocks(first: Reading, second: Reading) -> tuple[int, ...]:
    """The blocks that two readings have both, in their order, whatever that of the values is."""
    return tuple(sorted({*first.blocks} & {*second.blocks}))


def paired(first: Reading, second: Reading) -> Evidence | None:
    """The blocks that two readings share; ``None`` where those are too few or not known."""
    own = dict(zip(first.blocks, first.values, strict=False))
    other = dict(zip(second.blocks, second.values, strict=False))
    shared = shared_blocks(first, second)
    if len(shared) < FEWEST_PAIRS or min((*own.values(), *other.values())) <= 0:
        return None
    differences = np.log([own[block] / other[block] for block in shared])
    return of_pairs(differences)


def of_pairs(differences: FloatArray) -> Evidence:
    """Log ratios of paired blocks, shape (n,), n >= 6: exact signed ranks at 95 %."""
    found = signed_rank(differences, largest_c(len(differences), LEVEL))
    values = tuple(differences.tolist())
    return Evidence(found.estimate, found.low, found.high, found.p, len(values), values)


def unpaired(pairs: Sequence[tuple[Location, Location]]) -> list[Evidence]:
    """Two heaps each, all at once: a reading that was not repeated gives no interval."""
    known = [pair for pair in pairs if pair[0].error is not None and pair[1].error is not None]
    found = iter(_welch(known)) if known else iter(())
    return [
        next(found)
        if first.error is not None and second.error is not None
        else Evidence(first.mean - second.mean, None, None, None, min(first.n, second.n))
        for first, second in pairs
    ]


def _welch(pairs: Sequence[tuple[Location, Location]]) -> list[Evidence]:
    first, second = (_moments([pair[side] for pair in pairs]) for side in (0, 1))
    found = welch(first, second, LEVEL)
    rows = zip(
        pairs, *(a.tolist() for a in (found.estimate, found.low, found.high, found.p)), strict=True
    )
    return [
        Evidence(
            estimate,
            max(low - own.rounding - other.rounding, -FARTHEST),
            min(high + own.rounding + other.rounding, FARTHEST),
            p,
            min(own.n, other.n),
        )
        for (own, other), estimate, low, high, p in rows
    ]


def _moments(found: Sequence[Location]) -> Moments:
    n = np.array([float(one.n) for one in found])
    error = np.array([one.error or 0.0 for one in found])
    return Moments(n, np.array([one.mean for one in found]), error**2 * n)


def _of_values(logs: FloatArray) -> Location:
    n = len(logs)
    error = float(logs.std(ddof=1)) / math.sqrt(n) if n > 1 else None
    return Location(float(logs.mean()), error, n)


def together(found: Sequence[Location]) -> Location:
    """The mean of several logarithms, whose errors are taken as independent.

    The smallest count is kept for the degrees of freedom: cautious, as Satterthwaite's would be
    larger.
    """
    errors = [one.error for one in found]
    error = None
    if all(one is not None for one in errors):
        error = math.sqrt(sum((one or 0.0) ** 2 for one in errors)) / len(found)
    return Location(
        math.fsum(one.mean for one in found) / len(found),
        error,
        min(one.n for one in found),
        math.fsum(one.rounding for one in found) / len(found),
    )
