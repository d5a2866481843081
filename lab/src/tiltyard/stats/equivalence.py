"""Which levels of a course are the same, within a tolerance that was named beforehand?

Equivalence is shown, not the absence of a proof of difference: two one-sided tests put the whole
interval of level ``1 - 2 alpha`` inside the tolerance. Several levels are the same when every pair
is; because every one of those tests must reject, none needs a correction.

Sources: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987); Berger, "Multiparameter hypothesis
testing and acceptance sampling", Technometrics 24 (1982), for the intersection–union.
"""

from dataclasses import dataclass

import numpy as np

from tiltyard.stats.signed_rank import largest_c, signed_ranks
from tiltyard.stats.types import FloatArray

MIN_BLOCKS = 5
"""Fewer blocks have no signed-rank interval of 90 %."""


@dataclass(frozen=True)
class PairwiseTost:
    """Every pair of levels of one course."""

    n: int
    farthest: FloatArray
    """Shape (levels, levels): the end of a pair's interval that is farthest from zero, absolute."""

    def holds(self, first: int, last: int, tolerance: float) -> bool:
        """Whether all levels from the first to the last one are the same within ±tolerance."""
        among = self.farthest[first : last + 1, first : last + 1]
        return bool((among < tolerance).all())

    def longest(self, tolerance: float) -> tuple[int, int]:
        """First and last place of the longest run of levels that are the same.

        The first of equally long ones; a single level where no two are the same.
        """
        levels = len(self.farthest)
        best, first = (0, 0), 0
        for last in range(levels):
            while not self.holds(first, last, tolerance):
                first += 1
            if last - first > best[1] - best[0]:
                best = first, last
        return best

    def reach(self, first: int, last: int) -> float:
        """The largest difference that any pair of those levels leaves possible."""
        return float(self.farthest[first : last + 1, first : last + 1].max())


def pairwise_tost(values: FloatArray, alpha: float) -> PairwiseTost:
    """Hodges–Lehmann intervals of the paired differences of every two levels.

    Args:
        values: on a log scale, shape (blocks, levels), no gaps.
        alpha: of each one-sided test; the intervals have a level of ``1 - 2 alpha``.

    Raises:
        ValueError: if so few blocks have no interval of that level; 5 have one for alpha = 5 %.
    """
    n, levels = values.shape
    first, second = np.triu_indices(levels, 1)
    farthest = np.zeros((levels, levels))
    if len(first):
        differences = np.ascontiguousarray((values[:, second] - values[:, first]).T)
        found = signed_ranks(differences, largest_c(n, 2 * alpha))
        farthest[first, second] = np.maximum(np.abs(found.low), np.abs(found.high))
    return PairwiseTost(n, np.maximum(farthest, farthest.T))
