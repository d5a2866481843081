"""Two independent samples by their ranks: exact for any continuous law, and for few values.

Sources: Wilcoxon, Biometrics Bulletin 1 (1945); Mann and Whitney, Ann. Math. Stat. 18 (1947);
Hodges and Lehmann, Ann. Math. Stat. 34 (1963), for estimate and interval of the shift.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from math import comb

import numpy as np

from tiltyard.stats.types import FloatArray


@dataclass(frozen=True)
class RankSum:
    """The shift of the first sample over the second; shapes (n,) and (m,), n and m >= 1."""

    first: FloatArray
    second: FloatArray

    @cached_property
    def _differences(self) -> FloatArray:
        return np.sort(np.subtract.outer(self.first, self.second), axis=None)

    @property
    def estimate(self) -> float:
        """Median of all differences."""
        return float(np.median(self._differences))

    @property
    def p(self) -> float:
        """Two-sided; a tie counts for equality."""
        least = min((self._differences <= 0).sum(), (self._differences >= 0).sum())
        return min(1.0, 2 * self._share(int(least)))

    def interval(self, alpha: float = 0.05) -> tuple[float, float] | None:
        """It covers with at least ``1 - alpha``; ``None`` where so few values cannot."""
        found = self._differences
        left_out = [u for u in range(len(found) // 2) if 2 * self._share(u) <= alpha]
        if not left_out:
            return None
        return float(found[left_out[-1]]), float(found[-1 - left_out[-1]])

    def _share(self, u: int) -> float:
        """How often U is at most that where samples do not differ."""
        n, m = len(self.first), len(self.second)
        return sum(arrangements(n, m)[: u + 1]) / comb(n + m, n)


@cache
def arrangements(n: int, m: int) -> tuple[int, ...]:
    """For each U from 0 to n m, in how many orders of both samples it comes out."""
    if not n or not m:
        return (1,)
    counts = [0] * (n * m + 1)
    for u, count in enumerate(arrangements(n - 1, m)):
        counts[u + m] += count
    for u, count in enumerate(arrangements(n, m - 1)):
        counts[u] += count
    return tuple(counts)


def fewest(level: float) -> int:
    """Values of each side from which on a claim at that level is possible."""
    return next(n for n in range(1, 100) if 2 / comb(2 * n, n) <= level)
