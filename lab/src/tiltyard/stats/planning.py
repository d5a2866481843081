"""How many blocks will it take, and what will so many blocks show?

Two ways, which check each other: a closed formula for normal noise, and resampling what a pilot or
an earlier run has measured, with its tails and modes, through the very intervals of the study.

Sources: Chow, Shao and Wang, "Sample Size Calculations in Clinical Research" (2008), chapter 3;
Maricq et al., "Taming Performance Variability", OSDI (2018), for resampling.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from tiltyard.stats.sequential import RepeatedInterval, Spending
from tiltyard.stats.types import BoolArray, FloatArray, IntArray

LIKELY: Final = 0.8
"""Chance with which the blocks that are said to be needed decide."""
LIKELY_SHARE: Final = f"{100 * LIKELY:.0f} %"
"""The same in every sentence."""
FOUND_HALF_WIDTHS: Final = 1.35
"""Half-widths of the interval at the last look that a difference has which is found with the chance
of :data:`LIKELY`; one of a single half-width is found in 55 % (``tests/stats``)."""
MANY_BLOCKS: Final = 1000
"""More blocks to come say only that it is hopeless."""
_EXTRA_BLOCKS: Final = 3
_DRAWS: Final = 1000
_WALSH_VALUES: Final = 40_000_000
"""Walsh averages in all draws of one look together; fewer draws where a look has many blocks."""


def pair_deviation(cv: float, correlation: float = 0.0) -> float:
    """Standard deviation of a paired log ratio: ``CV sqrt(2 (1 - correlation))``."""
    return cv * math.sqrt(2 * (1 - correlation))


def blocks_to_find(deviation: float, difference: float, power: float) -> int:
    """Blocks that find a difference with that power, at two-sided 5 %, were the noise normal.

    ``n = (z_.975 + z_power)^2 sd^2 / ln^2(1 + difference) + 3``, with the variance of the paired
    log ratio ``sd^2 = 2 CV^2 (1 - correlation)``, see :func:`pair_deviation`; the 3 stand for
    ranks and few degrees of freedom. Source: Chow, Shao and Wang, "Sample Size Calculations in
    Clinical Research" (2008), chapter 3.

    Args:
        deviation: standard deviation of a block's log ratio.
        difference: as a fraction: 0.05.
        power: chance to find it, 0.5 … 1.
    """
    needed = (_quantiles(power) * deviation / math.log1p(difference)) ** 2
    return math.ceil(needed - 1e-9) + _EXTRA_BLOCKS


def difference_found(deviation: float, blocks: int, power: float) -> float | None:
    """The inverse: the smallest difference, as a fraction; ``None`` for three blocks or fewer."""
    if blocks <= _EXTRA_BLOCKS:
        return None
    return math.expm1(_quantiles(power) * deviation / math.sqrt(blocks - _EXTRA_BLOCKS))


def _quantiles(power: float) -> float:
    """``z_.975 + z_power``."""
    from scipy.special import ndtri

    return float(ndtri(0.975) + ndtri(power))


def blocks_for_half_width(blocks: int, half_width: float, target: float) -> int:
    """Blocks at which an interval is this narrow: it shrinks with the root of their number."""
    return math.ceil(blocks * (half_width / target) ** 2 - 1e-9)


def blocks_needed(
    spending: Spending,
    intervals: Sequence[RepeatedInterval],
    rope: float,
    claim_level: float,
    *,
    below_level: float | None = None,
    anew: bool = False,
    likely: float = LIKELY,
) -> list[int | None]:
    """Blocks by which each of many comparisons is decided with a chance of ``likely``.

    ``None``: more than :data:`MANY_BLOCKS` after the last look.

    The mean of so many blocks is predicted from those that there are: around the estimate, by
    Student's t, ``s sqrt(1/n - 1/N)`` wide. It decides outside the interval's half-width then, or
    as far within the region of equivalence. The deviation s is what makes a t interval of the
    blocks that there are as wide as the interval is. Looks of the design come first; beyond the
    last one all blocks may be one, at that look's level.

    Source: Hahn and Meeker, "Statistical Intervals" (1991), chapter 4, for the prediction.

    Args:
        spending: the looks and what each may spend.
        intervals: at the latest look, log scale.
        rope: half-width of the region of equivalence, log scale.
        claim_level: error rate over all looks at which the family would claim a comparison.
        below_level: that at which it would claim a negative one, if it is another.
        anew: the blocks are those of another study, which looks at them once and has none of those
            that there are: its mean is ``s sqrt(1/n + 1/N)`` from theirs.
        likely: the chance.
    """
    below = claim_level if below_level is None else below_level
    alike: dict[tuple[int, float], list[int]] = {}
    for place, interval in enumerate(intervals):
        alike.setdefault((interval.blocks, 1 - interval.level), []).append(place)
    needed: list[int | None] = [None] * len(intervals)
    for (n, level), places in alike.items():
        ahead = _ahead(spending, n, claim_level, below, level, anew)
        own = [intervals[place] for place in places]
        ends = np.array([(one.estimate, one.low, one.high, one.rounding) for one in own])
        for place, k in zip(
            places, _first_enough(ahead, n, ends, rope, likely).tolist(), strict=True
        ):
            needed[place] = int(ahead.blocks[k]) if k >= 0 else None
    return needed


def _first_enough(
    ahead: "_Ahead", n: int, ends: FloatArray, rope: float, likely: float
) -> IntArray:
    """Place in ``ahead`` of the blocks that decide with that chance; -1 where none do.

    Args:
        ahead: what can come after n blocks.
        n: blocks that there are.
        ends: estimate, low, high and rounding of each comparison, shape (m, 4).
        rope: half-width of the region of equivalence.
        likely: that chance.
    """
    from scipy.special import stdtr

    estimate, low, high, rounding = ends.T
    deviation = ((high - low) / 2 - rounding) / ahead.half_width
    scale = np.maximum(deviation, 1e-300)

    def is_enough(rows: IntArray, k: int | IntArray) -> BoolArray:
        """Whether so many blocks decide with that chance."""
        own = estimate[rows]
        off, spread = rounding[rows], scale[rows] * ahead.spread[k]
        claim = deviation[rows] * ahead.claim[k] + off
        below = deviation[rows] * ahead.below[k] + off
        inside = rope - deviation[rows] * ahead.alone[k] - off
        inside = np.where(inside > 0, inside, 0.0)
        chance: FloatArray = (
            stdtr(n - 1, (own - claim) / spread)
            + stdtr(n - 1, (-own - below) / spread)
            + stdtr(n - 1, (inside - own) / spread)
            - stdtr(n - 1, (-inside - own) / spread)
        )
        return np.asarray(chance >= likely)

    found, still = np.full(len(ends), -1), np.arange(len(ends))
    last = len(ahead.blocks) - 1
    first = last - MANY_BLOCKS + 1
    # Without a half-width nothing is decided: infinite times nothing is not a number.
    with np.errstate(invalid="ignore", over="ignore"):
        for k in range(first + 1):
            enough = is_enough(still, k)
            found[still[enough]], still = k, still[~enough]
        # From there on the chance only grows: the limits shrink faster than the spread grows.
        still = still[is_enough(still, last)]
        least, most = np.full(len(still), first), np.full(len(still), last)
        while (least < most).any():
            middle = (least + most) // 2
            enough = is_enough(still, middle)
            least, most = (
                np.where(enough | (least == most), least, middle + 1),
                np.where(enough, middle, most),
            )
    found[still] = least
    return found


class _Ahead(NamedTuple):
    """What further blocks could show, by their number; in deviations."""

    half_width: float
    """Of the interval that there is."""
    blocks: IntArray
    """Of each later look, then one after the other."""
    spread: FloatArray
    """Of the predicted mean about the one that there is."""
    claim: FloatArray
    """Half-width at the level of the claim."""
    below: FloatArray
    """The same of a negative one."""
    alone: FloatArray
    """Half-width at the level of the interval by itself."""


@cache
def _ahead(
    spending: Spending, n: int, claim_level: float, below_level: float, level: float, anew: bool
) -> _Ahead:
    """What can come after n blocks, or in another study."""
    last = len(spending.looks) - 1
    place = next((k for k, (blocks, _) in enumerate(spending.looks) if blocks == n), last)
    later = range(0) if anew else range(place + 1, last + 1)
    seen = n if anew else max(n, spending.looks[last][0])
    beyond = (seen + more for more in range(1, MANY_BLOCKS + 1))
    blocks = (*(spending.looks[k][0] for k in later), *beyond)
    places = (*later, *(last for _ in range(MANY_BLOCKS)))
    claim, below, alone = (
        _half_widths(None if anew else spending, places, blocks, own)
        for own in (claim_level, below_level, level)
    )
    return _Ahead(
        half_width=float(_half_widths(spending, (place,), (n,), level)[0]),
        blocks=np.array(blocks),
        spread=np.sqrt(1 / n + (1 if anew else -1) / np.array(blocks)),
        claim=claim,
        below=below,
        alone=alone,
    )


def _half_widths(
    spending: Spending | None, places: tuple[int, ...], blocks: tuple[int, ...], level: float
) -> FloatArray:
    """Half-widths of t intervals of so many blocks, in deviations; infinite where there is none.

    Without looks the blocks are looked at once.
    """
    from scipy.special import stdtrit

    def nominal_level(place: int) -> float:
        if spending is None:
            return level
        return spending.nominal_level(place, level) if spending.has_interval(place, level) else 0.0

    nominal = {place: nominal_level(place) for place in set(places)}
    n, alpha = np.array(blocks), np.array([nominal[place] for place in places])
    found: FloatArray = -stdtrit(n - 1, alpha / 2) / np.sqrt(n)
    return found


def deviation_interval(deviation: float, n: int, level: float = 0.05) -> tuple[float, float]:
    """What the standard deviation may be, having been estimated from n >= 2 normal values.

    Source: ``(n - 1) s^2 / sigma^2`` is chi-squared with n - 1 degrees of freedom.
    """
    from scipy.special import chdtri

    freedom = n - 1
    low, high = (float(chdtri(freedom, share)) for share in (level / 2, 1 - level / 2))
    return deviation * math.sqrt(freedom / low), deviation * math.sqrt(freedom / high)


def prediction_interval(
    estimate: float, deviation: float, blocks: int, later_blocks: int, level: float = 0.05
) -> tuple[float, float]:
    """Where the estimate of a repetition of the study will be: ``e ± t s sqrt(1/n1 + 1/n2)``.

    Source: Hahn and Meeker, "Statistical Intervals" (1991), chapter 4.

    Args:
        estimate: mean log ratio over the blocks.
        deviation: standard deviation of a block's log ratio.
        blocks: of the study, 2 at least.
        later_blocks: of its repetition.
        level: share of repetitions that may fall outside.
    """
    from scipy.special import stdtrit

    quantile = float(stdtrit(blocks - 1, 1 - level / 2))
    half = quantile * deviation * math.sqrt(1 / blocks + 1 / later_blocks)
    return estimate - half, estimate + half


@dataclass(frozen=True)
class Expected:
    """What a look is expected to show of one comparison; on the log scale."""

    blocks: int
    half_width: float | None
    """Median half-width of the interval; ``None``: with so many comparisons the look has none."""
    difference: float | None
    """The smallest true difference that is found by then with the power asked for; ``None``:
    with so many comparisons no look so far can claim any."""
    decided: float
    """Chance of a decision by then, from all that the sample leaves open: difference and noise."""


def expected_looks(
    differences: FloatArray,
    spending: Spending,
    *,
    rope: float,
    level: float,
    power: float,
    seed: int,
    draws: int = _DRAWS,
    rounding: float = 0.0,
) -> tuple[Expected, ...]:
    """What each look is expected to show, by resampling measured differences.

    Few blocks know neither the difference nor the noise, so both are drawn from their law: the
    deviation from that of s (chi-squared), the mean from that around its estimate (which is
    Student's t). Residuals have a random sign, as differences of equal systems have, and in
    part, the less the more blocks there are, come from a normal law (smoothed bootstrap): of a
    handful of values the tails are unknown.

    Source: Maricq et al., "Taming performance variability", OSDI 2018 (CONFIRM).

    Args:
        differences: log ratios of the blocks of a pilot or an earlier run, shape (n,), n >= 2.
        spending: the looks of the design and what each may spend.
        rope: half-width of the region of equivalence, log scale.
        level: of each interval: that of the family over its size, by which Holm's procedure makes
            intervals and claims a comparison that differs alone.
        power: chance with which a difference is to be found.
        seed: of the draws.
        draws: at most so many; fewer where a look has many blocks.
        rounding: how far all differences may lie off together.

    Raises:
        ValueError: if there are fewer than two differences.
    """
    n = len(differences)
    if n < 2:
        raise ValueError("two blocks at least are needed to foresee more of them")
    # Draws from n values vary by (n - 1) / n too little around their mean.
    noise = (differences - differences.mean()) * math.sqrt(n / (n - 1))
    rng = np.random.default_rng(seed)
    last = spending.looks[-1][0]
    draws = max(40, min(draws, _WALSH_VALUES // (last * (last + 1) // 2)))
    deviation = float(noise.std())
    smooth = 1 / math.sqrt(n)
    drawn = rng.choice(noise, (draws, last)) * rng.choice(np.array([-1.0, 1.0]), (draws, last))
    drawn = math.sqrt(1 - smooth) * drawn
    drawn += rng.normal(0, deviation * math.sqrt(smooth), (draws, last))
    scale = np.sqrt((n - 1) / rng.chisquare(n - 1, (draws, 1)))
    drawn *= scale
    around = (deviation / math.sqrt(n) * scale * rng.standard_normal((draws, 1)))[:, 0]
    centre = differences.mean() + around
    reach = np.full(draws, np.inf)
    decided: BoolArray = np.zeros(draws, dtype=np.bool_)
    expected = []
    for place, (blocks, _) in enumerate(spending.looks):
        half_width = None
        if spending.has_interval(place, level):
            off = np.full(draws, rounding)
            found = spending.evidence(place, drawn[:, :blocks], level, rounding=off)
            # A true difference above this is claimed: the interval then ends above zero.
            reach = np.minimum(reach, -found.low)
            low, high = found.low + centre, found.high + centre
            decided |= (low > 0) | (high < 0) | ((low > -rope) & (high < rope))
            half_width = float(np.median((found.high - found.low) / 2))
        size = float(np.quantile(reach, power)) if np.isfinite(reach).all() else None
        expected.append(Expected(blocks, half_width, size, float(decided.mean())))
    return tuple(expected)
