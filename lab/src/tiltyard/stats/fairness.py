"""How evenly flows share a link.

Source: Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for resource
allocation in shared computer systems", DEC Research Report TR-301 (1984).
"""

import numpy as np

from tiltyard.stats.signed_rank import largest_c, signed_rank
from tiltyard.stats.types import Estimate, FloatArray


def jain_index(shares: FloatArray) -> FloatArray:
    """Jain's fairness index along the last axis: 1 when all shares are equal, 1/n when one has all.

    Args:
        shares: not negative and not all zero, shape (..., n).
    """
    total = shares.sum(axis=-1)
    return np.asarray(total**2 / (shares.shape[-1] * (shares**2).sum(axis=-1)))


def fairness(shares: FloatArray, alpha: float = 0.05) -> Estimate:
    """Jain's index over blocks: pseudo-median and exact signed-rank interval.

    Args:
        shares: what each flow got, shape (blocks, flows); at least 6 blocks for 5 %.
        alpha: error rate of the interval; the exact one is at most that.

    Raises:
        ValueError: if so few blocks cannot reach that level.
    """
    index = jain_index(shares)
    found = signed_rank(index, largest_c(len(index), alpha))
    return Estimate(found.estimate, found.low, found.high)
