"""Differences with the part taken off that goes with what others did: regression without intercept.

In a block let D be the difference of two systems and x that of a covariate, say of the time that
others left them. Were the systems equal, a coin flip would exchange their names, and D and x would
change sign *together*. The coefficient b = Σ x D / Σ x² does not change with any such flip, so that
the residuals D − x b flip alone: their signs are fair coins, and the signed-rank test of them is as
exact as that of D, at each look with the coefficient of its own blocks. An intercept does change
with the flips; with one the test claims too much.

For a difference θ the same holds of D − θ. Its residuals are r − θ w, with r those of D and w those
of the number 1; the Walsh averages of r / w, pairs weighted by w, invert the test: its interval is
that of :mod:`tiltyard.stats.signed_rank` with ``(r_i + r_j) / (w_i + w_j)`` for the averages. A
pair whose weight is not positive (of blocks that the coefficient rests on) says nothing of θ: it is
counted for both signs, which only makes p-values larger and intervals wider.

All of this is true of systems that are equal in D *and* in x. What a system itself makes others do
is its cost, and taking it off would give that away. So the covariate is tested as the difference
is, by signed ranks at the same looks, and only where it is shown to be the same of both sides may
an adjusted difference be claimed.

Source: Gail, Tan and Piantadosi, "Tests for no treatment effect in randomized clinical trials",
Biometrika 75 (1988); Rosenbaum, "Covariance adjustment in randomized experiments and observational
studies", Statistical Science 17 (2002).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.looks import LEVEL
from tiltyard.stats.types import BoolArray, FloatArray

_EXACTLY: Final = 1e-12
"""A residual of less, as a share of its difference, is zero: of it no sign may be taken."""


BALANCED_WITHIN: Final = 0.005
"""A covariate is the same of both sides if its interval lies within; in its own unit, here the
logarithm of a share of time. A claim is wrong by no more than that times the coefficient."""


@dataclass(frozen=True)
class Balance:
    """Whether k covariates are the same on both sides of m comparisons; arrays of shape (m, k).

    At the latest look of each comparison; nan before the first.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    """Sequential p-value that both sides have the same."""

    @property
    def differs(self) -> BoolArray:
        """Which covariates are shown to differ."""
        return np.asarray(self.p < LEVEL)

    @property
    def unshown(self) -> BoolArray:
        """Which are not shown to be the same, those that differ among them."""
        outside = (self.low < -BALANCED_WITHIN) | (self.high > BALANCED_WITHIN)
        return np.asarray(self.differs | outside)


@dataclass(frozen=True)
class Residuals:
    """What is left of m samples of n differences; arrays of shape (m, n)."""

    values: FloatArray
    weights: FloatArray
    """How much a difference of 1 adds to each value; zero or less where nothing is known."""


def residuals(differences: FloatArray, covariates: FloatArray) -> Residuals:
    """Take off what covariates explain.

    Args:
        differences: shape (m, n).
        covariates: paired differences of k covariates, shape (m, n, k); one that is zero
            everywhere takes nothing off.
    """
    inverse = np.linalg.pinv(covariates)

    def without(values: FloatArray) -> FloatArray:
        fitted = covariates @ (inverse @ values[..., np.newaxis])
        left: FloatArray = values - fitted[..., 0]
        return left

    values, weights = without(differences), without(np.ones_like(differences))
    values[np.abs(values) <= _EXACTLY * np.abs(differences)] = 0.0
    return Residuals(values, weights)


def explained(differences: FloatArray, covariates: FloatArray, estimate: float) -> float:
    """Share of the variance of differences around an estimate that goes with covariates.

    Args:
        differences: shape (n,).
        covariates: shape (n, k).
        estimate: of the difference; zero would count the difference itself as noise.
    """
    around = (differences - estimate)[np.newaxis]
    before = float(np.square(around).sum())
    after = float(np.square(residuals(around, covariates[np.newaxis]).values).sum())
    return 1 - after / before if before > 0 else 0.0
