"""Student's t of the difference of every two levels of one course.

Blocks hold every level, so that the differences of two levels are a sample; where only means with
their errors are known the difference is Welch's.

Sources: Student, Biometrika 6 (1908); Welch, Biometrika 34 (1947); Berger, "Multiparameter
hypothesis testing and acceptance sampling", Technometrics 24 (1982): a claim that several of these
tests make together needs no correction if each of them must reject.
"""

from dataclasses import dataclass

import numpy as np

from tiltyard.stats.equivalence import PairwiseTost
from tiltyard.stats.types import FloatArray


@dataclass(frozen=True)
class Gaps:
    """How much higher the second level of each pair is than the first, on a log scale.

    All have shape (levels, levels).
    """

    n: int
    """Blocks, or values of a level."""
    estimate: FloatArray
    error: FloatArray
    """Standard error; 0 where all differences are the same."""
    freedom: FloatArray
    """Degrees of freedom."""
    rounding: FloatArray
    """How far what was not kept of the digits can shift the estimate."""

    @property
    def steps(self) -> int:
        """From one level to the next."""
        return len(self.estimate) - 1

    def interval(self, first: int, last: int, alpha: float) -> tuple[float, float, float]:
        """Estimate, low and high end at the level ``1 - alpha``."""
        from scipy.special import stdtrit

        at = first, last
        reach = float(-stdtrit(self.freedom[at], alpha / 2) * self.error[at] + self.rounding[at])
        estimate = float(self.estimate[at])
        return estimate, estimate - reach, estimate + reach

    def p_beyond(self, first: int, last: int, sign: int, bound: float) -> float:
        """One-sided p of the hypothesis that ``sign`` times the difference is at most ``bound``."""
        from scipy.special import stdtr

        at = first, last
        beyond = float(sign * self.estimate[at] - bound - self.rounding[at])
        if self.error[at] == 0:
            return 0.0 if beyond > 0 else 1.0
        return float(stdtr(self.freedom[at], -beyond / self.error[at]))

    def p(self, first: int, last: int) -> float:
        """Two-sided p of no difference."""
        return min(1.0, 2 * min(self.p_beyond(first, last, sign, 0.0) for sign in (1, -1)))

    def same(self, alpha: float) -> PairwiseTost:
        """Which levels are the same, by these intervals; ``alpha`` of each one-sided test."""
        from scipy.special import stdtrit

        reach = -stdtrit(self.freedom, alpha) * self.error + self.rounding
        farthest: FloatArray = np.abs(self.estimate) + reach
        np.fill_diagonal(farthest, 0.0)
        return PairwiseTost(self.n, farthest)


def paired_gaps(values: FloatArray) -> Gaps:
    """Gaps of values on a log scale, shape (blocks, levels), no gaps, at least two blocks."""
    n, levels = values.shape
    differences = values[:, None, :] - values[:, :, None]
    error = differences.std(axis=0, ddof=1) / np.sqrt(n)
    nothing = np.zeros((levels, levels))
    return Gaps(n, differences.mean(axis=0), error, nothing + n - 1, nothing)
