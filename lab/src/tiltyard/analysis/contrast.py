"""One system against another in one quantity: evidence, correction, verdict."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from math import nan
from statistics import fmean
from typing import Final, Literal, overload

import numpy as np
import numpy.typing as npt

from tiltyard.analysis.quantity import Quantity
from tiltyard.analysis.verdict import Verdict
from tiltyard.stats.sequential import RepeatedInterval
from tiltyard.stats.types import BoolArray, FloatArray, IntArray

MAX_FAILED_SHARE: Final = 0.2
"""With a larger share of failed blocks a comparison is invalid."""
OF_INTERVAL: Final = ("blocks", "estimate", "low", "high", "p", "level", "rounding")
COLUMNS: Final = np.dtype(
    [(name, object) for name in ("quantity", "system", "against", "verdict", "withheld")]
    + [("futile", np.bool_), ("failed", np.intp), ("blocks", np.intp)]
    + [(name, np.float64) for name in (*OF_INTERVAL[1:], "p_adjusted")]
)
"""As :class:`Contrast` and its interval name them; ``blocks`` is 0 where there is no interval."""


@dataclass(frozen=True)
class NoVerdict:
    """Why there are no verdicts, whatever the data say."""

    verdict: Literal["undecided", "invalid"]
    """Undecided as long as further blocks can bring the share down."""
    reason: str


@dataclass(frozen=True, slots=True)
class Contrast:
    """System against another one, paired within blocks, on the log scale."""

    quantity: Quantity
    system: str
    against: str
    differences: FloatArray
    """``ln(system / against)`` of every block in which both have a value, in block order."""
    usable: BoolArray
    """Shape (blocks,): which blocks those are."""
    interval: RepeatedInterval | None
    failed: int
    """Blocks that were attempted by both, without a value of both."""
    p_adjusted: float | None = None
    verdict: Verdict = "undecided"
    futile: bool = False
    """Stopped, undecided, because it could hardly be decided by the last look."""
    withheld: str = ""
    """Why it has no verdict though its data may well give one: too many blocks were disturbed, or
    one system makes others work, for which it would be adjusted."""
    covariates: FloatArray | None = None
    """Those of the differences, shape (differences, covariates), if they were adjusted for."""
    beside: "Contrast | None" = None
    """The same by the analysis that is not the one named for the verdicts."""

    @property
    def attempted(self) -> int:
        """Blocks in which both systems had their trial."""
        return len(self.differences) + self.failed

    @property
    def fails_too_often(self) -> bool:
        """Whether too large a share of its blocks has failed so far for any claim."""
        return self.failed > MAX_FAILED_SHARE * self.attempted

    @property
    def is_open(self) -> bool:
        """Whether more blocks may decide it."""
        return self.verdict == "undecided" and not self.futile

    @property
    def rested_on(self) -> FloatArray:
        """The differences that the interval rests on; none before the first look."""
        return self.differences[: self.interval.blocks if self.interval else 0]

    @property
    def mean(self) -> float:
        """Mean of the differences that the interval rests on; nan before the first look."""
        rested_on = self.rested_on.tolist()
        return fmean(rested_on) if rested_on else nan


@dataclass(frozen=True, eq=False)
class Contrasts(Sequence[Contrast]):
    """Contrasts as columns: a large grid has a hundred thousand, of which few are read one by one.

    A part of them is a view of the same arrays; a row is made when it is read.
    """

    differences: FloatArray
    """Shape (rows, blocks); nan where a block has none."""
    columns: npt.NDArray[np.void]
    """Shape (rows,), of :data:`COLUMNS`."""
    covariates: FloatArray | None = None
    """Shape (rows, blocks, covariates)."""
    beside: "Contrasts | None" = None

    @classmethod
    def none(cls) -> "Contrasts":
        """No comparison."""
        return cls(np.empty((0, 0)), np.empty(0, COLUMNS))

    @classmethod
    def together(cls, parts: Iterable["Contrasts"]) -> "Contrasts":
        """Of one study, in one table; covariates, and what stands beside them, are left out."""
        some = [part for part in parts if len(part)]
        if not some:
            return cls.none()
        columns, end = np.empty(sum(map(len, some)), COLUMNS), 0
        # Concatenating them would look for a common type of each two.
        for part in some:
            begin, end = end, end + len(part)
            columns[begin:end] = part.columns
        return cls(np.concatenate([part.differences for part in some]), columns)

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, place: int) -> Contrast: ...
    @overload
    def __getitem__(self, place: slice) -> "Contrasts": ...
    def __getitem__(self, place: int | slice) -> "Contrast | Contrasts":
        if isinstance(place, slice):
            covariates = None if self.covariates is None else self.covariates[place]
            part = self.differences[place], self.columns[place], covariates
            return Contrasts(*part, self.beside and self.beside[place])
        return next(iter(self[place : place + 1 or None]))

    def __iter__(self) -> Iterator[Contrast]:
        all_usable = np.isfinite(self.differences)
        besides = repeat(None) if self.beside is None else self.beside
        rows = zip(self.columns.tolist(), all_usable, besides, strict=False)
        for place, (columns, usable, beside) in enumerate(rows):
            quantity, system, against, verdict, withheld, futile, failed = columns[:7]
            *interval, p_adjusted = columns[7:]
            usable = usable[: len(quantity.log_values)]
            covariates = None if self.covariates is None else self.covariates[place]
            yield Contrast(
                quantity=quantity,
                system=system,
                against=against,
                differences=self.differences[place, : len(usable)][usable],
                usable=usable,
                interval=RepeatedInterval(*interval) if interval[0] else None,
                failed=failed,
                p_adjusted=p_adjusted if interval[0] else None,
                verdict=verdict,
                futile=futile,
                withheld=withheld,
                covariates=None if covariates is None else covariates[: len(usable)][usable],
                beside=beside,
            )

    @property
    def sides(self) -> list[tuple[str, str]]:
        """Of each row the names of the two systems."""
        found: list[tuple[str, str]] = self.columns[["system", "against"]].tolist()
        return found

    @property
    def verdicts(self) -> list[Verdict]:
        """Of each row."""
        found: list[Verdict] = self.columns["verdict"].tolist()
        return found

    @property
    def has_interval(self) -> BoolArray:
        """Which rows have reached a look."""
        return np.asarray(self.columns["blocks"] > 0)

    @property
    def is_open(self) -> BoolArray:
        """Of which rows more blocks may decide."""
        return np.asarray((self.columns["verdict"] == "undecided") & ~self.columns["futile"])

    @property
    def waiting(self) -> IntArray:
        """How many differences of each row its interval does not rest on."""
        return np.asarray(self.made - self.columns["blocks"])

    @property
    def made(self) -> IntArray:
        """How many differences each row has."""
        return np.asarray(np.isfinite(self.differences).sum(axis=1))

    @property
    def means(self) -> FloatArray:
        """Mean of the differences that each interval rests on, but for rounding; nan without."""
        blocks = self.columns["blocks"][:, np.newaxis]
        usable = np.isfinite(self.differences)
        rested_on = usable & (usable.cumsum(axis=1) <= blocks)
        sums = np.where(rested_on, self.differences, 0.0).sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / blocks[:, 0])

    def intervals(self, rows: BoolArray) -> list[RepeatedInterval]:
        """Those of some rows, as far as they have one."""
        found = self.columns[list(OF_INTERVAL)][rows & self.has_interval]
        return [RepeatedInterval(*own) for own in found.tolist()]

    def without_verdicts(self, withheld: NoVerdict) -> "Contrasts":
        """The same, whatever the data say."""
        columns = self.columns.copy()
        columns["verdict"], columns["futile"] = withheld.verdict, False
        columns["withheld"] = withheld.reason
        beside = self.beside and self.beside.without_verdicts(withheld)
        return replace(self, columns=columns, beside=beside)


@dataclass(frozen=True)
class Judged:
    """A quantity with its contrasts."""

    quantity: Quantity
    contrasts: Contrasts
    """Every pair of systems once; see :func:`tiltyard.analysis.quantity.pairs_of`."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Every system that takes part."""
        names = (name for system, against in self.contrasts.sides for name in (against, system))
        return tuple(dict.fromkeys(names))

    def place(self, one: str, other: str) -> int:
        """The row of two different systems, whichever of them it is of."""
        sides = {frozenset(own): row for row, own in enumerate(self.contrasts.sides)}
        return sides[frozenset((one, other))]

    def pair(self, one: str, other: str) -> Contrast:
        """Their contrast from the side that everything tells it from: against the first system."""
        return self.contrasts[self.place(one, other)]
