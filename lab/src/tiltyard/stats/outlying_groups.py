"""Groups of values that lie apart from the others: one slow host of ten, one where it turns round.

The group that is surest to lie apart from the mean of the others is taken away, and so on, until
none is left that does: one odd group would else make all others look odd beside it. The variance is
that of all values about the mean of their group; a group that is noisier than that has its own.
Fewer than two groups, or no group of two values, and nothing is known.

Sources: Welch, Biometrika 34 (1947), for the error of a difference; Bonferroni over the groups;
Marasinghe, Technometrics 27 (1985), for outliers that are taken away one after the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiltyard.stats.student import critical_t
from tiltyard.stats.types import FloatArray


@dataclass(frozen=True)
class OutlyingGroup:
    """One group and the mean of those that do not lie apart."""

    group: int
    """Place among the groups."""
    mean: float
    others: float
    reach: float
    """Half of the interval of ``mean``."""
    low: float
    """Simultaneous interval of ``mean - others``."""
    high: float
    turned: bool
    """Whether the intervals of both lie beyond zero, on different sides of it."""


def outlying_groups(
    groups: Sequence[FloatArray], beyond: float, level: float
) -> list[OutlyingGroup]:
    """Groups whose means surely lie apart from the others, the surest one first; half at most.

    Args:
        groups: values of each group, none of them empty.
        beyond: a difference of no more than that counts as none.
        level: error rate over all groups.
    """
    count = len(groups)
    sizes = np.array([len(own) for own in groups])
    free = int(sizes.sum()) - count
    if count < 2 or free < 1:
        return []
    means = np.array([own.mean() for own in groups])
    squares = np.array([((own - own.mean()) ** 2).sum() for own in groups])
    variances = np.maximum(squares.sum() / free, squares / np.maximum(1, sizes - 1)) / sizes
    t = critical_t(free + 1, level / count)

    rest, taken = list(range(count)), list[int]()
    while len(taken) < count // 2:
        own, noise, others = means[rest], variances[rest], len(rest) - 1
        gaps = np.abs(own - (own.sum() - own) / others)
        nearest = gaps - t * np.sqrt(noise + (noise.sum() - noise) / others**2)
        surest = int(nearest.argmax())
        if nearest[surest] <= beyond:
            break
        taken.append(rest.pop(surest))
    common = float(means[rest].mean())
    error = math.sqrt(variances[rest].sum()) / len(rest)
    found = []
    for one in taken:
        mean, reach = float(means[one]), t * math.sqrt(variances[one])
        both = math.hypot(reach, t * error)
        sure = abs(mean) > reach and abs(common) > t * error
        found.append(
            OutlyingGroup(
                group=one,
                mean=mean,
                others=common,
                reach=reach,
                low=mean - common - both,
                high=mean - common + both,
                turned=sure and mean * common < 0,
            )
        )
    return found
