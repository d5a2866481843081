"""What comparisons rest on: the only thing that the judging of a family asks of data.

An estimator has looks, and at a look estimates, intervals and p-values of some of its comparisons.
Which one judges a comparison follows from how the values came about, never from the values:
paired blocks of a plan with looks are :class:`PairedBlocks`; whatever is judged once, as what was
measured elsewhere, is :class:`AtOnce`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from tiltyard.stats.looks import Looks
from tiltyard.stats.sequential import Spending
from tiltyard.stats.types import BoolArray, Evidence, FloatArray

Rows = npt.NDArray[np.intp]
"""Places of comparisons in their family."""


class Levels(Protocol):
    """How an error rate is spent over looks; each as that of :class:`Spending`."""

    @property
    def looks(self) -> Looks:
        """Blocks of each look, and what is cut off there."""

    @property
    def shares(self) -> tuple[float, ...]:
        """By what the p-value of each look is divided."""

    def sequential_p(self, smallest_share: FloatArray) -> FloatArray:
        """P-values that are valid whenever one stops."""

    def nominal_level(self, place: int, level: float) -> float:
        """The largest p-value that rejects at a look."""

    def has_interval(self, place: int, level: float, blocks: int | None = None) -> bool:
        """Whether a look has an interval of a level."""


@dataclass(frozen=True)
class _Once:
    """All of it at one look."""

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
    def levels(self) -> Levels:
        """Which looks there are, and at which level each is judged."""

    @property
    def usable(self) -> BoolArray:
        """Which blocks have a value, shape (m, blocks); of what is judged once, what has a test."""

    @property
    def failed(self) -> BoolArray:
        """Blocks that were attempted without one; of the same shape."""

    @property
    def rounding(self) -> FloatArray:
        """What of an interval's reach no number of blocks makes smaller, shape (m,)."""

    @property
    def covariates(self) -> int:
        """How many are adjusted for."""

    def evidence(self, place: int, blocks: int, rows: Rows, level: float) -> Evidence:
        """Of the first blocks of some comparisons, at a look."""

    def of_covariate(self, own: int, place: int, blocks: int, rows: Rows) -> Evidence:
        """The same of what is adjusted for."""


class PairedBlocks:
    """Differences within blocks, judged at looks by signed ranks; see :class:`Estimator`."""

    def __init__(
        self,
        spending: Spending,
        differences: FloatArray,
        failed: BoolArray | None = None,
        covariates: FloatArray | None = None,
        rounding: FloatArray | None = None,
    ) -> None:
        """Keep the differences of m comparisons.

        Args:
            spending: of the error rate over the looks.
            differences: shape (m, blocks) in time order; nan where a block has no difference.
            failed: shape (m, blocks); blocks that were attempted without a difference.
            covariates: what to adjust for, shape (m, blocks, covariates); nan where that is not
                known: of such a block nothing is taken off. While one is not shown to be the same
                on both sides of a comparison, nothing is claimed of it.
            rounding: how far all differences of a comparison may lie off together, because its
                values are known to the bins of a histogram only, shape (m,).
        """
        self.levels = spending
        self.usable = np.isfinite(differences)
        self.failed = np.zeros_like(self.usable) if failed is None else failed
        self.rounding = np.zeros(len(differences)) if rounding is None else rounding
        order = np.argsort(~self.usable, axis=1, kind="stable")
        # The differences of a comparison at the front, so that its looks are the first columns.
        self._packed = np.take_along_axis(differences, order, axis=1)
        self._covariates = covariates
        self.covariates = 0
        if covariates is not None:
            known = np.nan_to_num(covariates)
            self._covariates = np.take_along_axis(known, order[:, :, np.newaxis], axis=1)
            self.covariates = covariates.shape[2]

    def evidence(self, place: int, blocks: int, rows: Rows, level: float) -> Evidence:
        """See :meth:`Estimator.evidence`."""
        covariates = None if self._covariates is None else self._covariates[rows, :blocks]
        pieces, off = self._packed[rows, :blocks], self.rounding[rows]
        return self.levels.evidence(place, pieces, level, covariates, off)

    def of_covariate(self, own: int, place: int, blocks: int, rows: Rows) -> Evidence:
        """See :meth:`Estimator.of_covariate`."""
        values = np.asarray(self._covariates)[rows, :blocks, own]
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


class AtOnce:
    """Comparisons of which each has a test of its own, or none; see :class:`Estimator`."""

    levels: Final = _Once()
    covariates: Final = 0

    def __init__(self, tests: Sequence[Test]) -> None:
        """Keep the tests."""
        self._tests = tests
        self.usable = np.array([[one.p is not None] for one in tests], dtype=np.bool_)
        self.usable = self.usable.reshape(-1, 1)
        self.failed = np.zeros_like(self.usable)
        self.rounding = np.zeros(len(tests))

    def evidence(self, place: int, blocks: int, rows: Rows, level: float) -> Evidence:  # noqa: ARG002
        """See :meth:`Estimator.evidence`; what has no interval of a level has one without ends."""
        tests = [self._tests[row] for row in rows]
        low, high = np.array([one.interval(level) or (-np.inf, np.inf) for one in tests]).T
        estimate, p = np.array([(one.estimate, one.p) for one in tests], dtype=np.float64).T
        return Evidence(estimate, low, high, p)

    def of_covariate(self, own: int, place: int, blocks: int, rows: Rows) -> Evidence:  # noqa: ARG002
        """There is none."""
        raise IndexError(own)
