"""Looking at the data more than once without paying for it in false claims.

At fixed numbers of blocks (the looks) an interval is computed with constants so small that all
intervals together cover with 95 %: repeated confidence intervals. The interval printed at the end
then covers whatever the reason for stopping was, a budget or an impatient person included.

Constants: the two-sided levels of the looks are as equal as the discrete statistic allows, and the
joint error rate is at most 5 % (Monte Carlo, :mod:`tiltyard.stats.sequential_table`). The joint
rate assumes that the noise level does not move during the session; the *strict* constants need no
assumption, because the levels of their looks add up to less than 5 % (Bonferroni).

All looks are by signed ranks, exact for any noise, but the first one of the retired ``fast``
profile, a t-test at 1 % that takes the noise for normal; plans that were frozen with it keep it.

Sources: Jennison and Turnbull, "Repeated confidence intervals for group sequential clinical
trials", Controlled Clinical Trials 5 (1984); Pocock, Biometrika 64 (1977).
"""

import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Final

import numpy as np

from tiltyard.stats.covariates import residuals
from tiltyard.stats.looks import (
    FAMILY_LOOKS,
    FIRST_BY_T,
    FIXED,
    LEVEL,
    LOOKS,
    STRICT_LOOKS,
    Looks,
    looks,
    nominal_levels_of,
    shares_of,
)
from tiltyard.stats.signed_rank import largest_c, nominal_p, signed_ranks
from tiltyard.stats.student import critical_t, paired_ts
from tiltyard.stats.types import Evidence, FloatArray

__all__ = [
    "FIXED",
    "LEVEL",
    "LOOKS",
    "STRICT_LOOKS",
    "Evidence",
    "Looks",
    "RepeatedInterval",
    "SequentialTable",
    "Spending",
    "looks",
    "overall_alpha",
    "profile_of_family",
    "repeated_interval",
    "sequential_p",
    "table_of",
]

_ROUNDING: Final = 1 + 1e-9
"""Stored values are rounded in the last digits; an attained value must find its own entry."""


@dataclass(frozen=True)
class SequentialTable:
    """Null distribution of the smallest p-value over all looks of one profile.

    The p-value of each look counts divided by its share: :func:`tiltyard.stats.looks.shares_of`.
    """

    alpha: float
    """Joint error rate of the profile's constants."""
    minimum_p: FloatArray
    """Attainable values of the smallest p-value over its share, ascending."""
    sequential_p: FloatArray
    """Probability under the null of a smallest p-value at most that."""

    def probability(self, smallest_p: FloatArray) -> FloatArray:
        """``P(smallest p-value <= p)``; between attainable values that of the next one up."""
        place = np.searchsorted(self.minimum_p * _ROUNDING, smallest_p, side="left")
        return self.sequential_p[np.minimum(place, len(self.minimum_p) - 1)]

    def quantile(self, level: float) -> float:
        """The largest p-value over share that may count if the joint rate is to be ``level``."""
        place = int(np.searchsorted(self.sequential_p, level * _ROUNDING, side="right"))
        return float(self.minimum_p[place - 1]) if place else 0.0


def overall_alpha(profile: str, strict: bool, blocks: int | None) -> float:
    """Two-sided error rate of one comparison over all looks; for strict constants a bound."""
    levels = nominal_levels_of(profile, looks(profile, strict, blocks))
    if strict or len(levels) == 1:
        return sum(levels)
    return table_of(profile).alpha


@cache
def table_of(profile: str) -> SequentialTable:
    """The stored table of a profile with more than one look."""
    text = files("tiltyard.stats").joinpath("sequential_table.json").read_text("utf-8")
    stored = json.loads(text)["profiles"][profile]
    return SequentialTable(
        alpha=stored["alpha"],
        minimum_p=np.array(stored["minimum_p"]),
        sequential_p=np.array(stored["sequential_p"]),
    )


def sequential_p(profile: str, smallest_p: float) -> float:
    """Probability under the null that any look of the profile gives a p-value this small.

    ``smallest_p`` is the smallest p-value at the looks so far. Because the distribution is that
    over *all* looks, the result is a valid p-value at whichever look one stops.
    """
    if profile == FIXED:
        return smallest_p
    return float(table_of(profile).probability(np.array(smallest_p)))


@dataclass(frozen=True)
class Spending:
    """How one comparison spends its error rate over the looks, for every rate.

    The rejections are nested (a smaller rate rejects less), so that test and interval are dual at
    every level: the sequential p-value is at most ``level`` exactly when the interval of coverage
    ``1 - level`` excluded zero at one of the looks so far.
    """

    profile: str
    strict: bool
    looks: Looks

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """By what the p-value of each look is divided before the smallest one is taken.

        Where a table tells the joint law, as it was made; under the union bound in the proportions
        of the strict constants.
        """
        if self.strict:
            levels = nominal_levels_of(self.profile, self.looks)
            return tuple(level / sum(levels) for level in levels)
        return (1.0,) if self.profile == FIXED else shares_of(self.profile)

    @property
    def _table(self) -> SequentialTable | None:
        """The joint law; ``None`` where one p-value or the union bound needs none."""
        return None if self.strict or self.profile == FIXED else table_of(self.profile)

    def sequential_p(self, smallest_share: FloatArray) -> FloatArray:
        """P-values that are valid whenever one stops.

        Args:
            smallest_share: the smallest over the looks so far of p-value / share.
        """
        table = self._table
        return table.probability(smallest_share) if table else np.minimum(1.0, smallest_share)

    def nominal_level(self, place: int, level: float) -> float:
        """The largest p-value that rejects at a look, if the rate over all looks is ``level``."""
        if level >= LEVEL:
            return nominal_levels_of(self.profile, self.looks)[place]
        table = self._table
        return self.shares[place] * (table.quantile(level) if table else level) * _ROUNDING

    def has_interval(self, place: int, level: float, blocks: int | None = None) -> bool:
        """Whether a look has an interval of coverage ``1 - level``; few blocks may have none.

        ``blocks``: of the last look, where it has to take fewer than it was planned with.
        """
        nominal = self.nominal_level(place, level)
        if self._by_t(place):
            return nominal > 0
        return nominal >= nominal_p(blocks or self.looks[place][0], 0)

    def smallest_p(self, place: int) -> float:
        """The sequential p-value of differences that all point the same way, at a look."""
        nominal = 0.0 if self._by_t(place) else nominal_p(self.looks[place][0], 0)
        return float(self.sequential_p(np.array(nominal / self.shares[place])))

    def evidence(
        self,
        place: int,
        differences: FloatArray,
        level: float = LEVEL,
        covariates: FloatArray | None = None,
        rounding: FloatArray | None = None,
    ) -> Evidence:
        """Estimates, p-values and intervals of coverage ``1 - level`` over all looks.

        Args:
            place: of the look, from 0.
            differences: shape (m, blocks of the look); fewer at the last look, if no more come.
            level: above 5 % the constants are those of 5 %.
            covariates: what to adjust for, shape (m, blocks, covariates); nothing at a look by t.
            rounding: how far all differences of a comparison may lie off together, shape (m,).

        Raises:
            ValueError: if the look has no such interval; ask :meth:`has_interval`.
        """
        blocks = differences.shape[1]
        if not self.has_interval(place, level, blocks):
            raise ValueError(f"{blocks} blocks have no interval of level {1 - level:g}")
        if self._by_t(place):
            return paired_ts(differences, self.nominal_level(place, level), rounding)
        weights: FloatArray | None = None
        if covariates is not None:
            left = residuals(differences, covariates)
            differences, weights = left.values, left.weights
        return signed_ranks(differences, self._c(place, level, blocks), weights, rounding)

    def constants(self, place: int, level: float) -> tuple[int, float]:
        """By what the interval of a look is made, for who makes it elsewhere.

        Walsh averages cut off at either end, and 0; or 0, and the critical value of Student's t.
        """
        blocks = self.looks[place][0]
        if self._by_t(place):
            return 0, critical_t(blocks, self.nominal_level(place, level))
        return self._c(place, level, blocks), 0.0

    def _by_t(self, place: int) -> bool:
        return place == 0 and self.profile in FIRST_BY_T

    def _c(self, place: int, level: float, blocks: int) -> int:
        """Walsh averages cut off at either end; never more than at 5 %."""
        planned, c = self.looks[place]
        if blocks != planned:
            return largest_c(blocks, self.nominal_level(place, level))
        return c if level >= LEVEL else min(c, largest_c(blocks, self.nominal_level(place, level)))


def profile_of_family(profile: str, strict: bool, comparisons: int) -> str:
    """The name of the looks of a family of headlines, as :func:`looks` takes it.

    Of the profile and its families that with the earliest first look that can claim a difference
    beside all others, by Holm's first step; if none can, the one for the largest families. Strict
    constants and profiles without families stay what they are.

    Args:
        profile: as the study names it.
        strict: whether its constants are the strict ones.
        comparisons: size of the family; 1 or less is no family.
    """
    families = {} if strict else FAMILY_LOOKS.get(profile, {})
    named = {profile: LOOKS[profile], **families} if families else {}
    for name, constants in named.items():
        if Spending(name, False, constants).has_interval(0, LEVEL / max(1, comparisons)):
            return name
    return [profile, *families][-1]


@dataclass(frozen=True, slots=True)
class RepeatedInterval:
    """What a comparison rests on at its latest look; estimates in the unit of the differences."""

    blocks: int
    estimate: float
    low: float
    high: float
    p: float
    """Sequential p-value: valid whenever one stops, and never growing from look to look."""
    level: float = 1 - LEVEL
    """Coverage, over all looks together."""
    rounding: float = 0.0
    """What of its reach on either side no number of blocks makes smaller."""


def repeated_interval(
    differences: FloatArray,
    profile: str,
    looks: Looks,
    strict: bool = False,
    level: float = LEVEL,
    rounding: float = 0.0,
) -> RepeatedInterval | None:
    """The interval at the latest look that the differences reach; ``None`` where there is none.

    Args:
        differences: paired differences, one a block, shape (blocks,), in the order in which they
            were made. Those beyond the look wait for the next one.
        profile: names the table of sequential p-values.
        looks: as :func:`looks` gives them.
        strict: whether the looks are those that need no assumption on the noise level.
        level: two-sided error rate over all looks.
        rounding: how far all differences may lie off together.
    """
    off = np.array([rounding])
    spending = Spending(profile, strict, looks)
    reached = [place for place, (blocks, _) in enumerate(looks) if blocks <= len(differences)]
    if not reached or not spending.has_interval(reached[-1], level):
        return None
    pieces = [differences[np.newaxis, : looks[place][0]] for place in reached]
    shares = [
        spending.evidence(place, piece, rounding=off).p[0] / spending.shares[place]
        for place, piece in zip(reached, pieces, strict=True)
    ]
    latest = spending.evidence(reached[-1], pieces[-1], level, rounding=off)
    return RepeatedInterval(
        blocks=looks[reached[-1]][0],
        estimate=float(latest.estimate[0]),
        low=float(latest.low[0]),
        high=float(latest.high[0]),
        p=float(spending.sequential_p(np.array(min(shares)))),
        level=1 - min(level, LEVEL),
        rounding=rounding,
    )
