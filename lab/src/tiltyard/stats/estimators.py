"""What comparisons rest on: the only thing that the judging of a family asks of data.

An estimator has looks, and at a look estimates, intervals and p-values of some of its comparisons.
Which one judges a comparison follows from how the values came about, never from the values:
paired blocks of a plan with looks are :class:`PairedBlocks`; whatever is judged once, as what was
measured elsewhere, is :class:`AtOnce`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from tiltyard.stats.looks import Looks
from tiltyard.stats.sequential import Spending
from tiltyard.stats.types import BoolArray, Evidence, FloatArray

Rows = npt.NDArray[np.intp]
"""Places of comparisons in their family."""


@dataclass(frozen=True)
class _Once:
    """How an error rate is spent at one look, as :class:`Spending` does it over several."""

    looks: Looks = ((1, 0),)
    shares: tuple[float, ...] = (1.0,)

    def sequential_p(self, smallest_share: FloatArray) -> FloatArray:
        return smallest_share

    def nominal_level(self, place: int, level: float) -> float:  # noqa: ARG002
        return level

    def has_interval(self, place: int, level: float, blocks: int | None = None) -> bool:  # noqa: ARG002
        return True


class Estimator(Protocol):
    """What m comparisons rest on, and how their error rate is spent over looks at it."""

    @property
    def levels(self) -> Spending | _Once:
        """Which looks there are, and at which level each is judged."""

    @property
    def usable(self) -> BoolArray:
        """Which blocks have a value, shape (m, blocks); of what is judged once, what has a test."""

    @property
    def lost(self) -> BoolArray:
        """Blocks that were attempted without one; of the same shape."""

    @property
    def reach(self) -> FloatArray:
        """What of an interval's reach no number of blocks makes smaller, shape (m,)."""

    @property
    def covariate_count(self) -> int:
        """How many are adjusted for."""

    def evidence(self, place: int, blocks: int, rows: Rows, level: float) -> Evidence:
        """Of the first blocks of some comparisons, at a look."""

    def of_covariate(self, own: int, place: int, blocks: int, rows: Rows) -> Evidence:
        """The same of what is adjusted for."""


@dataclass(frozen=True, eq=False)
class PairedBlocks:
    """Differences within blocks of m comparisons, judged at looks by signed ranks."""

    levels: Spending
    differences: FloatArray
    """Shape (m, blocks) in time order; nan where a block has no difference."""
    failed: BoolArray | None = None
    """Shape (m, blocks): blocks that were attempted without a difference."""
    covariates: FloatArray | None = None
    """What to adjust for, shape (m, blocks, covariates); nan where that is not known: of such a
    block nothing is taken off. While one is not shown to be the same on both sides of a comparison,
    nothing is claimed of it."""
    rounding: FloatArray | None = None
    """How far all differences of a comparison may lie off together, because its values are known to
    the bins of a histogram only, shape (m,)."""

    @cached_property
    def usable(self) -> BoolArray:
        """See :attr:`Estimator.usable`."""
        return np.isfinite(self.differences)

    @cached_property
    def lost(self) -> BoolArray:
        """See :attr:`Estimator.lost`."""
        return np.zeros_like(self.usable) if self.failed is None else self.failed

    @cached_property
    def reach(self) -> FloatArray:
        """See :attr:`Estimator.reach`."""
        return np.zeros(len(self.differences)) if self.rounding is None else self.rounding

    @property
    def covariate_count(self) -> int:
        """See :attr:`Estimator.covariate_count`."""
        return 0 if self.covariates is None else self.covariates.shape[2]

    @cached_property
    def _order(self) -> Rows:
        """Differences of a comparison to the front, so that its looks are the first columns."""
        return np.argsort(~self.usable, axis=1, kind="stable")

    @cached_property
    def _packed(self) -> FloatArray:
        return np.take_along_axis(self.differences, self._order, axis=1)

    @cached_property
    def _packed_covariates(self) -> FloatArray | None:
        if self.covariates is None:
            return None
        known = np.nan_to_num(self.covariates)
        return np.take_along_axis(known, self._order[:, :, np.newaxis], axis=1)

    def evidence(self, place: int, blocks: int, rows: Rows, level: float) -> Evidence:
        """See :meth:`Estimator.evidence`."""
        own = self._packed_covariates
        covariates = None if own is None else own[rows, :blocks]
        pieces = self._packed[rows, :blocks]
        return self.levels.evidence(place, pieces, level, covariates, self.reach[rows])

    def of_covariate(self, own: int, place: int, blocks: int, rows: Rows) -> Evidence:
        """See :meth:`Estimator.of_covariate`."""
        values = np.asarray(self._packed_covariates)[rows, :blocks, own]
        return self.levels.evidence(place, values)


class Test(Protocol):
    """One comparison that is judged once."""

    @property
    def estimate(self) -> float:
        """In the unit of the differences."""

    @property
    def p(self) -> float | None:
        """Two-sided; ``None`` where there is no test."""

    def interval(self, alpha: float) -> tuple[float, float] | None:
        """Both ends at the level ``1 - alpha``; ``None`` where there is no such interval."""


@dataclass(frozen=True, eq=False)
class AtOnce:
    """Comparisons of which each has a test of its own, or none; see :class:`Estimator`."""

    levels: ClassVar = _Once()
    covariate_count: ClassVar = 0
    tests: Sequence[Test]

    @cached_property
    def usable(self) -> BoolArray:
        """See :attr:`Estimator.usable`."""
        return np.array([one.p is not None for one in self.tests], dtype=np.bool_)[:, np.newaxis]

    @property
    def lost(self) -> BoolArray:
        """See :attr:`Estimator.lost`."""
        return np.zeros_like(self.usable)

    @property
    def reach(self) -> FloatArray:
        """See :attr:`Estimator.reach`."""
        return np.zeros(len(self.tests))

    def evidence(self, place: int, blocks: int, rows: Rows, level: float) -> Evidence:  # noqa: ARG002
        """See :meth:`Estimator.evidence`; what has no interval of a level has one without ends."""
        tests = [self.tests[row] for row in rows]
        low, high = np.array([one.interval(level) or (-np.inf, np.inf) for one in tests]).T
        estimate, p = np.array([(one.estimate, one.p) for one in tests], dtype=np.float64).T
        return Evidence(estimate, low, high, p)

    def of_covariate(self, own: int, place: int, blocks: int, rows: Rows) -> Evidence:  # noqa: ARG002
        """There is none."""
        raise IndexError(own)
