"""Do values come from two modes? A test of unimodality, and a mixture that must agree with it."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tiltyard.stats.types import FloatArray

SMALLEST_P: Final = 1e-6
"""The tables behind the test go no further."""
_GAIN_MIN: Final = 1e-3
_ROUNDS_MAX: Final = 100
_VARIANCE_MIN: Final = 1e-6
"""Of a component, as a share of the variance of all values."""


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
    # On a scale of its own, so that the least width is small for any unit.
    centre, scale = float(values.mean()), float(values.std()) or 1.0
    own = np.sort((values - centre) / scale)
    n = len(own)
    one = _fit(own, np.ones((1, n)))
    two = _fit(own, _clusters(own))
    gain = 2 * (two.log_likelihood - one.log_likelihood) - 2 * float(np.log(n))
    lower = int(np.argmin(two.means))
    return Modes(
        low=float(two.means[lower]) * scale + centre,
        high=float(two.means[1 - lower]) * scale + centre,
        sigma=two.sigma * scale,
        weight_low=float(two.weights[lower]),
        bic_gain=gain,
        n=n,
    )


@dataclass(frozen=True)
class _Mixture:
    """Normal components of one width."""

    weights: FloatArray
    means: FloatArray
    sigma: float
    log_likelihood: float


def _clusters(ordered: FloatArray) -> FloatArray:
    """The two parts of ascending values with the smallest sum of squares within them."""
    n = len(ordered)
    left = np.arange(1, n)
    sums = np.cumsum(ordered)[:-1]
    between = sums**2 / left + (ordered.sum() - sums) ** 2 / (n - left)
    is_low = np.arange(n) <= int(np.argmax(between))
    return np.stack((is_low, ~is_low)).astype(np.float64)


def _fit(values: FloatArray, shares: FloatArray) -> _Mixture:
    """Components by expectation–maximisation, from the share of each in each value, shape (k, n).

    It ends when the mean log likelihood gains less than :data:`_GAIN_MIN`.
    """
    mixture = _maximised(values, shares)
    before = -np.inf
    for _ in range(_ROUNDS_MAX):
        densities = _log_densities(values, mixture)
        together = np.logaddexp.reduce(densities, axis=0)
        mixture = _maximised(values, np.exp(densities - together))
        now = float(together.mean())
        if abs(now - before) < _GAIN_MIN:
            break
        before = now
    total = float(np.logaddexp.reduce(_log_densities(values, mixture), axis=0).sum())
    return replace(mixture, log_likelihood=total)


def _maximised(values: FloatArray, shares: FloatArray) -> _Mixture:
    counts = shares.sum(axis=1)
    means = shares @ values / counts
    squares = float(np.sum(shares * (values - means[:, np.newaxis]) ** 2))
    sigma = float(np.sqrt(squares / len(values) + _VARIANCE_MIN))
    return _Mixture(counts / len(values), means, sigma, 0.0)


def _log_densities(values: FloatArray, mixture: _Mixture) -> FloatArray:
    """Of each component at each value, with its weight, shape (k, n)."""
    z = (values - mixture.means[:, np.newaxis]) / mixture.sigma
    level = np.log(mixture.weights) - np.log(mixture.sigma) - np.log(2 * np.pi) / 2
    found: FloatArray = level[:, np.newaxis] - z**2 / 2
    return found
