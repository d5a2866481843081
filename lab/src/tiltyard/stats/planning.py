"""How many blocks will it take, and what will so many blocks show?

Two ways, which check each other: a closed formula for normal noise, and resampling what a pilot or
an earlier run has measured, with its tails and modes, through the very intervals of the study.

Sources: Chow, Shao and Wang, "Sample Size Calculations in Clinical Research" (2008), chapter 3;
Maricq et al., "Taming Performance Variability", OSDI (2018), for resampling.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.sequential import Spending
from tiltyard.stats.types import BoolArray, FloatArray

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
    from scipy.stats import norm

    return float(norm.ppf(0.975) + norm.ppf(power))


def blocks_for_half_width(blocks: int, half_width: float, target: float) -> int:
    """Blocks at which an interval is this narrow: it shrinks with the root of their number."""
    return math.ceil(blocks * (half_width / target) ** 2 - 1e-9)


def blocks_needed(blocks: int, estimate: float, low: float, high: float, rope: float) -> int:
    """Blocks that would likely decide, the estimate staying where it is (all on the log scale).

    The half-width shrinks with the root of the number of blocks, until it is smaller than the
    distance to equality, or than what is left of the region of equivalence.
    """
    target = max(abs(estimate), rope - abs(estimate))
    return blocks_for_half_width(blocks, (high - low) / 2, target)


def deviation_interval(deviation: float, n: int, level: float = 0.05) -> tuple[float, float]:
    """What the standard deviation may be, having been estimated from n >= 2 normal values.

    Source: ``(n - 1) s^2 / sigma^2`` is chi-squared with n - 1 degrees of freedom.
    """
    from scipy.stats import chi2

    freedom = n - 1
    low, high = (float(chi2.ppf(share, freedom)) for share in (1 - level / 2, level / 2))
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
    from scipy.stats import t

    quantile = float(t.ppf(1 - level / 2, blocks - 1))
    half = quantile * deviation * math.sqrt(1 / blocks + 1 / later_blocks)
    return estimate - half, estimate + half


@dataclass(frozen=True)
class Expected:
    """What a look is expected to show of one comparison; on the log scale."""

    blocks: int
    half_width: float
    """Median half-width of the interval."""
    difference: float | None
    """The smallest true difference that is found by then with the power asked for; ``None``:
    with so many comparisons no look so far can claim any."""
    decided: float
    """Share of draws with a decision by then, were the difference what it was in the sample."""


def expected_looks(
    differences: FloatArray,
    spending: Spending,
    *,
    rope: float,
    level: float,
    power: float,
    seed: int,
) -> tuple[Expected, ...]:
    """What each look is expected to show, by resampling measured differences.

    Source: Maricq et al., "Taming performance variability", OSDI 2018 (CONFIRM).

    Args:
        differences: log ratios of the blocks of a pilot or an earlier run, shape (n,), n >= 2.
        spending: the looks of the design and what each may spend.
        rope: half-width of the region of equivalence, log scale.
        level: at which one comparison is claimed: that of the family over its size, which holds
            under Holm and Benjamini–Hochberg alike.
        power: chance with which a difference is to be found.
        seed: of the draws.

    Raises:
        ValueError: if there are fewer than two differences.
    """
    n = len(differences)
    if n < 2:
        raise ValueError("two blocks at least are needed to foresee more of them")
    centre = differences.mean()
    # Draws from n values vary by (n - 1) / n too little around their mean.
    noise = (differences - centre) * math.sqrt(n / (n - 1))
    rng = np.random.default_rng(seed)
    last = spending.looks[-1][0]
    draws = max(40, min(_DRAWS, _WALSH_VALUES // (last * (last + 1) // 2)))
    drawn = rng.choice(noise, (draws, last))
    reach = np.full(draws, np.inf)
    decided: BoolArray = np.zeros(draws, dtype=np.bool_)
    expected = []
    for place, (blocks, _) in enumerate(spending.looks):
        alone = spending.evidence(place, drawn[:, :blocks])
        decided |= (alone.low + centre > -rope) & (alone.high + centre < rope)
        if spending.has_interval(place, level):
            claimed = spending.evidence(place, drawn[:, :blocks], level)
            # A true difference above this is claimed: the interval then ends above zero.
            reach = np.minimum(reach, -claimed.low)
            decided |= (claimed.low + centre > 0) | (claimed.high + centre < 0)
        found = float(np.quantile(reach, power)) if np.isfinite(reach).all() else None
        half_width = float(np.median((alone.high - alone.low) / 2))
        expected.append(Expected(blocks, half_width, found, float(decided.mean())))
    return tuple(expected)
