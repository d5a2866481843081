"""One effect from several studies, each of which has a true effect of its own.

``y_i = mu + u_i + e_i``: a study's estimate is the mean over all studies, what the study adds, and
the error of its blocks. The spread of ``u`` is that of Paule and Mandel; the interval of ``mu`` is
Hartung and Knapp's with Student's t, never narrower than with that spread taken as known. It holds
its level closely for normal ``u``. Of few studies no spread shows where all of them happen to be of
one kind, as hosts of a cloud are: two equally frequent kinds agree in ``2^(1 - k)`` of all k
studies, and any interval misses then. So no claim is made at a level below that, which is also what
ranks allow.

Sources: Paule and Mandel, J. Res. Natl. Bur. Stand. 87 (1982); Hartung and Knapp, Stat. Med. 20
(2001); Röver, Knapp and Friede, BMC Med. Res. Methodol. 15 (2015), for not being narrower; Higgins
and Thompson, Stat. Med. 21 (2002), for I²; Higgins, Thompson and Spiegelhalter, J. R. Stat. Soc. A
172 (2009), for prediction; Viechtbauer, Stat. Med. 26 (2007), for the interval of the spread.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tiltyard.stats.types import FloatArray

LEVEL: Final = 0.05
_LEAST: Final = 1e-18
"""Of a variance: values that are all the same have none, and would weigh infinitely."""


def unmet(units: int, level: float = LEVEL) -> float:
    """Share of the rarest kind that so many units surely hold: ``1 - level^(1/units)``.

    A rarer one is missing among them in more than ``level`` of all draws.
    """
    return float(1 - level ** (1 / units))


@dataclass(frozen=True)
class RandomEffects:
    """Estimates of k >= 2 studies, and the variances of these estimates; shapes (k,)."""

    estimates: FloatArray
    variances: FloatArray

    @property
    def studies(self) -> int:
        """How many."""
        return len(self.estimates)

    @property
    def chance(self) -> float:
        """How often all studies are of one kind of two: no claim is surer than that."""
        return 2.0 ** (1 - self.studies)

    @cached_property
    def spread(self) -> float:
        """Variance of the studies' true effects, 0 where their errors explain what is seen."""
        return self._variance_at(self.studies - 1.0)

    @cached_property
    def spread_interval(self) -> tuple[float, float]:
        """95 % interval of it (Q profile); its upper end is large for few studies."""
        from scipy.special import chdtri

        high, low = (
            self._variance_at(float(chdtri(self.studies - 1, share)))
            for share in (1 - LEVEL / 2, LEVEL / 2)
        )
        return low, high

    @property
    def mean(self) -> float:
        """The effect over studies."""
        return self._mean(self.spread)

    @property
    def error(self) -> float:
        """Its standard error."""
        scale = max(1.0, self._q(self.spread) / (self.studies - 1))
        return math.sqrt(scale / float((1 / self._of_each(self.spread)).sum()))

    @property
    def p(self) -> float:
        """Of no effect over studies; at least :attr:`chance`."""
        from scipy.special import stdtr

        t = abs(self.mean) / self.error
        return max(self.chance, 2 * float(stdtr(self.studies - 1, -t)))

    @property
    def inconsistency(self) -> float:
        """I²: share of what is seen between studies that their errors do not explain."""
        q = self._q(0.0)
        return max(0.0, 1 - (self.studies - 1) / q) if q else 0.0

    @property
    def p_same(self) -> float:
        """Cochran's Q: how often studies of one true effect lie at least as far apart."""
        from scipy.special import chdtrc

        return float(chdtrc(self.studies - 1, self._q(0.0)))

    def interval(self, alpha: float = LEVEL) -> tuple[float, float]:
        """Of the effect over studies, for normal studies of any number."""
        return self._around(self.error, self.studies - 1, alpha)

    def prediction(self, alpha: float = LEVEL) -> tuple[float, float] | None:
        """Where the true effect of another study lies; ``None`` for fewer than three."""
        if self.studies < 3:
            return None
        return self._around(math.hypot(self.error, math.sqrt(self.spread)), self.studies - 2, alpha)

    def _around(self, error: float, freedom: int, alpha: float) -> tuple[float, float]:
        from scipy.special import stdtrit

        reach = float(-stdtrit(freedom, alpha / 2)) * error
        return self.mean - reach, self.mean + reach

    def _of_each(self, spread: float) -> FloatArray:
        """Variance of each study's estimate about the mean over studies."""
        return np.maximum(self.variances + spread, _LEAST)

    def _mean(self, spread: float) -> float:
        return float(np.average(self.estimates, weights=1 / self._of_each(spread)))

    def _q(self, spread: float) -> float:
        """Weighted squares about the mean; falls as the spread grows."""
        squares = (self.estimates - self._mean(spread)) ** 2
        return float((squares / self._of_each(spread)).sum())

    def _variance_at(self, q: float) -> float:
        """The spread at which the weighted squares are ``q``; 0 where they never are so many."""
        from scipy.optimize import brentq

        if self._q(0.0) <= q:
            return 0.0
        most = float(np.square(self.estimates - self.estimates.mean()).sum()) / q
        while self._q(most) > q:
            most *= 2
        return float(brentq(lambda spread: self._q(spread) - q, 0.0, most, xtol=1e-15))
