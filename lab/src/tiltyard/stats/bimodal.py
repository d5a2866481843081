"""Do values come from two modes? A test of unimodality, and a mixture that must agree with it."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.types import FloatArray

SMALLEST_P: Final = 1e-6
"""The tables behind the test go no further."""


@dataclass(frozen=True)
class Dip:
    """Distance of a sample from the nearest unimodal one."""

    dip: float
    p: float


@dataclass(frozen=True)
class Modes:
    """Two normal components of one width, in the unit of the values."""

    low: float
    high: float
    """Means of the components."""
    sigma: float
    """Their common standard deviation."""
    weight_low: float
    """Share of the values in the lower one."""
    bic_gain: float
    """By how much the Bayesian information criterion is smaller than that of one component."""
    n: int

    @property
    def separation(self) -> float:
        """Distance of the means in standard deviations."""
        return (self.high - self.low) / self.sigma

    @property
    def minor_weight(self) -> float:
        """Share of the smaller component."""
        return min(self.weight_low, 1 - self.weight_low)


def dip_test(values: FloatArray) -> Dip:
    """Test of unimodality, values of shape (n,), n >= 4.

    Source: Hartigan and Hartigan, "The dip test of unimodality", Ann. Stat. 13 (1985).
    """
    from diptest import diptest

    dip, p = diptest(np.sort(values))
    return Dip(float(dip), max(float(p), SMALLEST_P))


def two_modes(values: FloatArray) -> Modes:
    """A mixture of two normal laws of one width, by expectation–maximisation from two clusters.

    Source: McLachlan and Peel, "Finite Mixture Models" (2000); Schwarz, Ann. Stat. 6 (1978).
    """
    from sklearn.mixture import GaussianMixture

    column = values.reshape(-1, 1)
    # On a scale of its own, so that the regularisation of the widths is small for any unit.
    scale = float(values.std()) or 1.0
    fits = [
        GaussianMixture(count, covariance_type="tied", random_state=0).fit(column / scale)
        for count in (1, 2)
    ]
    one, two = (fit.bic(column / scale) for fit in fits)
    means, weights = fits[1].means_[:, 0] * scale, fits[1].weights_
    lower = int(np.argmin(means))
    return Modes(
        low=float(means[lower]),
        high=float(means[1 - lower]),
        sigma=float(np.sqrt(fits[1].covariances_[0, 0]) * scale),
        weight_low=float(weights[lower]),
        bic_gain=float(one - two),
        n=len(values),
    )
