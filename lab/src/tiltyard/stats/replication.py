"""Where variance comes from, and how often to repeat at each level because of it.

A measured value carries the noise of every level that was drawn anew for it: the trial, the
formatting before it, the boot before that. Repeating a cheap level does not average out the noise
of the expensive one above it. The pilot of a study measures both and finds the cheapest mix.

Source: Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, sections 6–8
(there ``S_i^2`` and ``T_i^2``; the estimators are those of a balanced nested analysis of variance).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiltyard.stats.types import FloatArray


@dataclass(frozen=True)
class VarianceComponents:
    """Variance of a nested design, level by level, the lowest (the trial) first."""

    counts: tuple[int, ...]
    """``r_i``: repetitions at each level."""
    observed: tuple[float, ...]
    """``S_i^2``: mean variance of the means at level i, within one repetition of level i + 1."""
    own: tuple[float, ...]
    """``T_i^2``: what level i itself contributes, what the lower ones explain taken off; where
    that is below nought the level contributes nothing that shows, and 0 stands here."""


def variance_components(values: FloatArray) -> VarianceComponents:
    """Unbiased components of a balanced nested design.

    ``T_1^2 = S_1^2``, ``T_i^2 = S_i^2 - S_{i-1}^2 / r_{i-1}``. Source: Kalibera and Jones,
    "Rigorous benchmarking in reasonable time", ISMM 2013.

    Args:
        values: shape (r_k, …, r_2, r_1): the first axis is the highest level, the last one the
            trials; two repetitions at least at each level.

    Raises:
        ValueError: if a level has one repetition only, or a value is missing.
    """
    if values.ndim == 0 or min(values.shape) < 2:
        raise ValueError(f"each level needs two repetitions at least, not {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("a balanced design has no missing values")
    counts = values.shape[::-1]
    observed: list[float] = []
    own: list[float] = []
    means = values
    for level in range(len(counts)):
        observed.append(float(np.var(means, axis=-1, ddof=1).mean()))
        below = observed[level - 1] / counts[level - 1] if level else 0.0
        own.append(max(0.0, observed[level] - below))
        means = means.mean(axis=-1) if level + 1 < len(counts) else means
    return VarianceComponents(tuple(counts), tuple(observed), tuple(own))


@dataclass(frozen=True)
class Spread:
    """Variance between groups of values and within them, one-way random effects."""

    within: float
    """Of a value about the mean of its group; nan where no group has two values."""
    between: float
    """Of the groups' true means; 0 where what is seen is explained by the values within."""
    low: float
    """95 % interval of :attr:`between`."""
    high: float


def spread_between(groups: Sequence[FloatArray], level: float = 0.05) -> Spread:
    """Components of variance of groups of unequal sizes, each group counting once.

    The point estimate is ``var(means) - within / n``, n being the harmonic mean of the sizes, as of
    a balanced design, and nought where that is negative. The interval, for normal noise, covers at
    least ``1 - 2 level`` and in practice ``1 - level``. Its upper end for few groups is far above
    the estimate: three of them hardly tell how much groups differ.

    Sources: Thomas and Hultquist, "Interval estimation for the unbalanced case of the one-way
    random effects model", Ann. Statist. 6 (1978); Williams, "A confidence interval for variance
    components", Biometrika 49 (1962).

    Args:
        groups: values of each group; two groups at least, none of them empty.
        level: error rate of the interval.

    Raises:
        ValueError: if there are fewer, or an empty one.
    """
    from scipy.special import chdtri, fdtri

    sizes = np.array([len(group) for group in groups])
    if len(groups) < 2 or not sizes.all():
        raise ValueError("a spread between groups needs two at least, none of them empty")
    harmonic = len(sizes) / (1 / sizes).sum()
    seen = float(np.var([group.mean() for group in groups], ddof=1))
    free, free_within = len(groups) - 1, int(sizes.sum()) - len(groups)
    if not free_within:
        return Spread(math.nan, seen, 0.0, free * seen / float(chdtri(free, 1 - level / 2)))
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / free_within
    ends = []
    for share in (1 - level / 2, level / 2):
        explained = float(fdtri(free, free_within, share)) * within / harmonic
        ends.append(free * max(0.0, seen - explained) / float(chdtri(free, 1 - share)))
    return Spread(within, max(0.0, seen - within / harmonic), ends[0], ends[1])


def optimal_counts(own: Sequence[float], costs: Sequence[float], most: int) -> tuple[int, ...]:
    """The cheapest repetitions at each level below the highest one.

    ``r_i = ceil(sqrt((c_{i+1} / c_i) (T_i^2 / T_{i+1}^2)))``: the mean of a given precision then
    costs least. How often the highest level is repeated is for the stopping rule to say.
    Source: Kalibera and Jones, ISMM 2013.

    Args:
        own: ``T_i^2``, the lowest level first; two levels at least.
        costs: ``c_i`` in s: what one more repetition of level i takes, without those below it.
        most: upper limit. A level above that contributes nothing asks for any number; a free
            one below asks for as many as there are.

    Raises:
        ValueError: if there is not one positive cost for each level.
    """
    if len(costs) != len(own) or min(costs) <= 0:
        raise ValueError("each level needs a cost of more than nothing")
    counts = []
    for level in range(len(own) - 1):
        if own[level] == 0:
            counts.append(1)
        elif own[level + 1] == 0:
            counts.append(most)
        else:
            ratio = costs[level + 1] / costs[level] * own[level] / own[level + 1]
            counts.append(min(most, max(1, math.ceil(math.sqrt(ratio)))))
    return tuple(counts)


def without_shared(values: FloatArray) -> FloatArray:
    """The same noise without what all systems share in a block, which no comparison feels.

    The mean over the systems is taken off each block, and what is left of a turn's mean is
    stretched by ``sqrt(k / (k - 1))``, so that its variance is unbiased; deviations of the trials
    from their turn stay as they are.

    Args:
        values: shape (systems, blocks, trials), k = systems >= 2; one system is left as it is.
    """
    systems = values.shape[0]
    if systems < 2:
        return values
    turns = values.mean(axis=2, keepdims=True)
    left = (turns - turns.mean(axis=0, keepdims=True)) * math.sqrt(systems / (systems - 1))
    kept: FloatArray = values - turns + left
    return kept
