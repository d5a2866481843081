"""What the replicates of two systems say about their ratio: paired where the source pairs them.

Unpaired: Welch's t on the log scale, with an error that is not below that of pooled variances. Of
values their logarithms are taken, of several cells first the mean over the cells within each
replicate: cells of one run share its noise, so the replicate is the unit. Of a mean with its
standard error the first-order (delta) approximation is taken, ``se(ln m) = se / m``.

A kept number stands for all numbers that round to it. What that leaves open of the location widens
the interval on both sides in full and is taken off the estimate before it is tested; for the spread
it counts as a uniform law within half a unit of the last kept place.

Sources: Welch, Biometrika 34 (1947); Oehlert, "A note on the delta method", Am. Stat. 46 (1992);
JCGM 100:2008 (GUM), F.2.2.1, for the resolution of an indication; pairs:
:mod:`tiltyard.stats.signed_rank`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import numpy as np
from scipy.special import stdtr, stdtrit

from tiltyard.analysis.judging import FARTHEST
from tiltyard.analysis.statements.numbers import coverage
from tiltyard.analysis.verdict import OverStudies
from tiltyard.collected.model import PrintedAs, Reading
from tiltyard.stats.signed_rank import largest_c, nominal_p, signed_rank
from tiltyard.stats.types import FloatArray
from tiltyard.stats.walsh import walsh_signs
from tiltyard.stats.welch import Moments, error_and_freedom, pooled_error
from tiltyard.units import agreeing, count_of

LEVEL: Final = 0.05
FEWEST_PAIRS: Final = 6
"""Fewer paired blocks cannot give a 95 % interval; they count as two heaps then."""
FEWEST_VALUES: Final = 3
"""Of each side, for an interval. Where noise has two modes, two values of each of two equal systems
lie apart in up to one of eight comparisons, 2 (½)²(½)², however small the noise within a mode is;
three in one of 32."""


@dataclass(frozen=True)
class Replicates:
    """Logarithms of replicates of one system, arrays of shape (n,)."""

    logs: FloatArray
    rounding: FloatArray
    """How far each can lie from there because of the digits that were not kept."""
    blocks: tuple[int, ...] = ()
    """The block of each, ascending; empty where nothing pairs them."""
    groups: tuple[str, ...] = ()
    """The session or study of each; empty where values are not of several studies."""


@dataclass(frozen=True)
class Location:
    """Where one system's logarithms lie, and how sure that is."""

    mean: float
    error: float | None
    """Standard error; ``None`` where too little was repeated, or no spread is known at all."""
    n: int
    rounding: float = 0.0
    """How far what was not kept of the digits can shift the mean."""
    replicates: Replicates | None = None
    """What it is of; ``None`` where only means were kept, or replicates do not line up."""
    averaged: bool = False
    """Whether a value is the mean of what its file repeats."""


@dataclass(frozen=True)
class Evidence:
    """``ln(system / against)``; this class where nothing tells how sure it is."""

    estimate: float
    n: int
    """Pairs, or values of the smaller heap."""
    p: float | None = None
    differences: tuple[float, ...] = ()
    """Log ratio of each block, where blocks are paired."""
    averaged: bool = field(default=False, kw_only=True)
    """Whether a value is the mean of what its file repeats."""

    @property
    def paired(self) -> bool:
        """Whether it rests on blocks."""
        return bool(self.differences)

    @property
    def basis(self) -> str:
        """What an interval rests on."""
        return f"{self.n} {'paired blocks' if self.paired else 'values a side, not paired'}"

    def lacks(self, level: float) -> str:
        """Why there is no interval of a level."""
        if self.paired:
            return (
                f"{count_of(self.n, 'paired block has', 'paired blocks have')} no "
                f"{coverage(level)} interval"
            )
        if self.n < FEWEST_VALUES and self.averaged:
            have = "each side is one sequence" if self.n < 2 else "two files a side are too few"
            return (
                f"{have}: what a file repeats shares its process or its hour, so it is one "
                f"value; {FEWEST_VALUES} files of each side that took turns are the fewest"
            )
        if self.n < 2:
            return "repetitions of both were not kept"
        if self.n < FEWEST_VALUES:
            return (
                f"{count_of(self.n, 'value')} a side {agreeing(self.n, 'is', 'are')} fewer than "
                f"{FEWEST_VALUES}"
            )
        return "no spread of both is known"

    def over(self, level: float) -> OverStudies | None:  # noqa: ARG002
        """What is known beside an interval of a level, where it is of several studies."""
        return None

    def interval(self, alpha: float = LEVEL) -> tuple[float, float] | None:  # noqa: ARG002
        """Low and high end at the level ``1 - alpha``; ``None`` where there is no such interval.

        It excludes zero if ``p`` is less than ``alpha``.
        """
        return None


@dataclass(frozen=True)
class Heaps(Evidence):
    """Two heaps of values, by Welch's t."""

    error: float = math.nan
    freedom: float = math.nan
    rounding: float = 0.0

    def interval(self, alpha: float = LEVEL) -> tuple[float, float] | None:
        """See :meth:`Evidence.interval`."""
        reach = float(-stdtrit(self.freedom, alpha / 2)) * self.error + self.rounding
        return max(self.estimate - reach, -FARTHEST), min(self.estimate + reach, FARTHEST)


@dataclass(frozen=True)
class Blocks(Evidence):
    """Paired blocks, by exact signed ranks; whatever the kept digits stand for."""

    rounding: tuple[float, ...] = ()

    def interval(self, alpha: float = LEVEL) -> tuple[float, float] | None:
        """See :meth:`Evidence.interval`; so few blocks may have none of a high level."""
        try:
            c = largest_c(self.n, alpha)
        except ValueError:
            return None
        differences, rounding = np.array(self.differences), np.array(self.rounding)
        low = signed_rank(differences - rounding, c).low
        high = signed_rank(differences + rounding, c).high
        return max(low, -FARTHEST), min(high, FARTHEST)


def half_unit(readings: Iterable[Reading], printed: PrintedAs | None) -> float:
    """Half a unit of the last place that was kept of the values of one cell, in their unit.

    That place is the one in which the source prints; where it keeps more digits than it prints, or
    nobody says how it prints, it is the least gap between two values of the cell, as they were
    before any were averaged. 0 if there is neither: then all values are the same, and no spread is
    known.
    """
    units = [10.0**-printed.decimals * printed.factor] if printed else []
    kept = ((*chain(*one.within),) or one.values for one in readings)
    values = np.unique([*chain(*kept)])
    if len(values) > 1:
        units.append(float(np.diff(values).min()))
    return 0.5 * min(units, default=0.0)


def location(
    readings: Sequence[Reading], halves: Sequence[float], signs: Sequence[float]
) -> Location | None:
    """Where the logarithms of one system lie over one cell or several ones.

    Replicates line up if every cell has equally many values, and of the same blocks if it has
    blocks. Then the mean over the cells is taken within each replicate, so that what the cells of a
    run share stays in the spread. Else, as where only means were kept, the errors of the cells are
    averaged, see :func:`together`.

    Args:
        readings: of one system, one a cell.
        halves: half a unit of the last kept place in each cell.
        signs: −1 for cells that are to be inverted.

    Returns:
        ``None`` where a cell has no positive value.
    """
    if not all(_is_positive(one) for one in readings):
        return None
    found = _lined_up(readings, halves, signs)
    place = (
        together([_of_one(*one) for one in zip(readings, halves, signs, strict=True)])
        if found is None
        else of_replicates(found)
    )
    return replace(place, averaged=any(one.within for one in readings))


def of_replicates(found: Replicates) -> Location:
    """Mean and standard error of replicates."""
    n = len(found.logs)
    error = None
    if n >= FEWEST_VALUES:
        # What was not kept of the digits: a uniform law has a third of its half-width squared.
        variance = found.logs.var(ddof=1) + (found.rounding**2).mean() / 3
        error = math.sqrt(float(variance) / n) or None
    return Location(float(found.logs.mean()), error, n, float(found.rounding.mean()), found)


def together(found: Sequence[Location]) -> Location:
    """The mean over cells of which nobody knows how they vary together.

    Its error is the bound for full dependence, the mean of their errors: no correlation makes it
    larger. The smallest count is kept for the degrees of freedom.
    """
    errors = [one.error for one in found if one.error is not None]
    return Location(
        math.fsum(one.mean for one in found) / len(found),
        math.fsum(errors) / len(found) if len(errors) == len(found) else None,
        min(one.n for one in found),
        math.fsum(one.rounding for one in found) / len(found),
        averaged=any(one.averaged for one in found),
    )


def standard_error(reading: Reading) -> float | None:
    """Of the mean of a reading, as it is stated or from its deviation and count."""
    if reading.se is not None:
        return reading.se
    if reading.sd is None or reading.n is None:
        return None
    return reading.sd / math.sqrt(reading.n)


def paired(first: Location, second: Location) -> Evidence | None:
    """The blocks that both sides share; ``None`` where those are too few or not known."""
    own, other = first.replicates, second.replicates
    if own is None or other is None:
        return None
    shared = sorted({*own.blocks} & {*other.blocks})
    if len(shared) < FEWEST_PAIRS:
        return None
    ours, theirs = (np.searchsorted(one.blocks, shared) for one in (own, other))
    return of_pairs(
        own.logs[ours] - other.logs[theirs], own.rounding[ours] + other.rounding[theirs]
    )


def of_pairs(differences: FloatArray, rounding: FloatArray) -> Evidence:
    """Log ratios of paired blocks with what rounding leaves open of each; shape (n,), n >= 6.

    The p-value is the largest that any values have which round to the ones that were kept.
    """
    n = len(differences)
    not_negative, _ = walsh_signs(np.sort(differences + rounding))
    _, not_positive = walsh_signs(np.sort(differences - rounding))
    return Blocks(
        estimate=signed_rank(differences, largest_c(n, LEVEL)).estimate,
        n=n,
        p=nominal_p(n, min(not_negative, not_positive)),
        differences=tuple(differences.tolist()),
        rounding=tuple(rounding.tolist()),
    )


def unpaired(pairs: Sequence[tuple[Location, Location]]) -> list[Evidence]:
    """Two heaps each, all at once: one whose spread is not known gives no interval."""
    known = [pair for pair in pairs if pair[0].error is not None and pair[1].error is not None]
    found = iter(_welch(known)) if known else iter(())
    return [
        next(found)
        if first.error is not None and second.error is not None
        else Evidence(
            first.mean - second.mean,
            min(first.n, second.n),
            averaged=first.averaged or second.averaged,
        )
        for first, second in pairs
    ]


def _welch(pairs: Sequence[tuple[Location, Location]]) -> list[Evidence]:
    first, second = (_moments([pair[side] for pair in pairs]) for side in (0, 1))
    error, freedom = error_and_freedom(first, second)
    # Of a few values that happen to agree beside many that do not, Welch's error is that of the
    # many: noise with two modes then makes up to a fifth of equal systems differ. Of equally many
    # values both errors are the same.
    error = np.maximum(error, pooled_error(first, second))
    estimate = first.mean - second.mean
    rounding = np.array([own.rounding + other.rounding for own, other in pairs])
    p = 2 * stdtr(freedom, -np.maximum(np.abs(estimate) - rounding, 0.0) / error)
    columns = (one.tolist() for one in (estimate, p, error, freedom, rounding))
    return [
        Heaps(found, min(own.n, other.n), p_value, (), *spread)
        for (own, other), found, p_value, *spread in zip(pairs, *columns, strict=True)
    ]


def _moments(found: Sequence[Location]) -> Moments:
    n = np.array([float(one.n) for one in found])
    error = np.array([one.error or 0.0 for one in found])
    return Moments(n, np.array([one.mean for one in found]), error**2 * n)


def _lined_up(
    readings: Sequence[Reading], halves: Sequence[float], signs: Sequence[float]
) -> Replicates | None:
    """The replicates over all cells; ``None`` if they do not line up, or only means were kept."""
    first = readings[0]
    blocks = sorted(first.blocks)
    if not first.values or any(
        len(one.values) != len(first.values) or sorted(one.blocks) != blocks for one in readings
    ):
        return None
    values = np.array([_in_order(one) for one in readings])
    logs = np.log(values) * np.array(signs)[:, None]
    rounding = _opened(np.array(halves)[:, None] / values)
    groups = tuple(group for _, group in sorted(zip(first.blocks, first.groups, strict=False)))
    return Replicates(logs.mean(axis=0), rounding.mean(axis=0), tuple(blocks), groups)


def _of_one(reading: Reading, half: float, sign: float) -> Location:
    """One of several cells that do not line up."""
    own = _lined_up((reading,), (half,), (sign,))
    if own is not None:
        return of_replicates(own)
    mean, n = reading.mean or 0.0, reading.n or 1
    error = standard_error(reading)
    known = None
    if error is not None and n >= FEWEST_VALUES:
        known = min((error + half) / mean, FARTHEST) or None
    return Location(sign * math.log(mean), known, n, float(_opened(np.array(half / mean))))


def _is_positive(reading: Reading) -> bool:
    """Whether everything that is kept of a reading has a logarithm."""
    return min(reading.values or (reading.mean or 0.0,)) > 0


def _in_order(reading: Reading) -> list[float]:
    """The values, by their blocks where they have some."""
    if not reading.blocks:
        return list(reading.values)
    return [value for _, value in sorted(zip(reading.blocks, reading.values, strict=True))]


def _opened(shares: FloatArray) -> FloatArray:
    """How far the logarithm may lie off, at a half unit of so large a share of the value."""
    with np.errstate(divide="ignore"):
        return np.minimum(-np.log1p(-np.minimum(shares, 1.0)), FARTHEST)
