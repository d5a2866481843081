"""One system against another in one quantity: evidence, correction, verdict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import nan
from statistics import fmean
from typing import Final, Literal, TypeVar

import numpy as np

from tiltyard.analysis.quantity import Quantity, pairs_of
from tiltyard.analysis.verdict import Verdict
from tiltyard.plan.model import Design
from tiltyard.stats.family import (
    DIFFERENT,
    EQUIVALENT,
    FUTILE,
    INVALID,
    UNDECIDED,
    FamilyRules,
    FamilyVerdicts,
    judge_family,
)
from tiltyard.stats.sequential import RepeatedInterval
from tiltyard.stats.types import BoolArray, FloatArray, IntArray

_Rows = TypeVar("_Rows", FloatArray, BoolArray)

MAX_FAILED_SHARE: Final = 0.2
"""With a larger share of failed blocks a comparison is invalid."""
FARTHEST: Final = 300.0
"""Log ratios are clipped there: the ratio of a larger one may overflow."""
_SAME_WORDS: Final[dict[int, Verdict]] = {
    UNDECIDED: "undecided",
    FUTILE: "undecided",
    EQUIVALENT: "equivalent",
    INVALID: "invalid",
}


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
    """Why it has no verdict though its data may well give one: too many blocks were disturbed."""
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

    def reversed(self) -> "Contrast":
        """The same evidence from the other system's side."""
        flipped: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
        interval = self.interval and replace(
            self.interval,
            estimate=-self.interval.estimate,
            low=-self.interval.high,
            high=-self.interval.low,
        )
        return replace(
            self,
            system=self.against,
            against=self.system,
            differences=-self.differences,
            interval=interval,
            verdict=flipped.get(self.verdict, self.verdict),
            covariates=None if self.covariates is None else -self.covariates,
            beside=self.beside and self.beside.reversed(),
        )


@dataclass(frozen=True)
class Withheld:
    """Why there are no verdicts, whatever the data say."""

    verdict: Literal["undecided", "invalid"]
    """Undecided as long as further blocks can bring the share down."""
    reason: str


@dataclass(frozen=True)
class Judged:
    """A quantity with its contrasts."""

    quantity: Quantity
    contrasts: tuple[Contrast, ...]
    """Every pair of systems once, as (later, earlier) in the order of the study."""

    def against(self, baseline: str) -> "Judged":
        """The same, with the baseline always the one that others are compared against."""
        return replace(
            self,
            contrasts=tuple(
                contrast.reversed() if contrast.system == baseline else contrast
                for contrast in self.contrasts
            ),
        )

    @property
    def systems(self) -> tuple[str, ...]:
        """Every system that takes part."""
        names = (name for pair in self.contrasts for name in (pair.against, pair.system))
        return tuple(dict.fromkeys(names))

    def between(self, system: str, against: str) -> Contrast:
        """The contrast of two different systems, from the first one's side."""
        for contrast in self.contrasts:
            if (contrast.system, contrast.against) == (system, against):
                return contrast
            if (contrast.system, contrast.against) == (against, system):
                return contrast.reversed()
        raise KeyError((system, against))

    def as_printed(self, contrast: Contrast) -> Contrast:
        """The same comparison from the side that tables show."""
        shown = {(pair.system, pair.against) for pair in self.contrasts}
        return contrast if (contrast.system, contrast.against) in shown else contrast.reversed()


def judge(
    quantities: Sequence[Quantity],
    systems: Sequence[str],
    design: Design,
    adjust: Callable[[FloatArray], FloatArray],
    level: float,
    together: bool = False,
    to_come: int | None = None,
    covariates: Sequence[FloatArray] = (),
    others: int = 0,
) -> tuple[Judged, ...]:
    """Verdicts on every pair of systems in every quantity, corrected as one family.

    A comparison without an interval yet, or an invalid one, takes part in the correction with
    p = 1: the family is the one that was declared before the first trial.

    Args:
        quantities: what is compared; together with the pairs they are the family.
        systems: names, in the order of the study.
        design: the rules of the plan.
        adjust: p-values to adjusted ones, e.g. Benjamini–Hochberg's.
        level: adjusted p-values up to this one are rejections.
        together: intervals are simultaneous, as fits Holm's adjustment; else those of differences
            are corrected for having been selected. See :mod:`tiltyard.stats.family`.
        to_come: blocks that may still be made; if not given, those up to the last look.
        covariates: what to adjust each quantity for, shape (blocks, systems, covariates); none:
            the differences are judged as they are.
        others: further comparisons of the family, of which nothing is known here: p = 1.
    """
    pairs = list(pairs_of(systems))
    if not quantities or not pairs:
        return tuple(Judged(quantity, ()) for quantity in quantities)
    asked = [
        (quantity, systems[later], systems[earlier])
        for quantity in quantities
        for later, earlier in pairs
    ]
    differences, failed = paired(quantities, pairs)
    own = _paired_covariates(covariates, pairs, differences) if covariates else None
    rows = (asked, differences, failed, design, adjust, level, together, to_come, own, others)
    contrasts = iter(judge_rows(*rows))
    return tuple(Judged(q, tuple(islice(contrasts, len(pairs)))) for q in quantities)


def _padded(rows: _Rows, others: int, value: float) -> _Rows:
    """The rows, and further ones that have nothing but a value."""
    if not others:
        return rows
    return np.pad(rows, ((0, others), *((0, 0),) * (rows.ndim - 1)), constant_values=value)


def judge_rows(
    asked: Sequence[tuple[Quantity, str, str]],
    differences: FloatArray,
    failed: BoolArray,
    design: Design,
    adjust: Callable[[FloatArray], FloatArray],
    level: float,
    together: bool = False,
    to_come: int | None = None,
    covariates: FloatArray | None = None,
    others: int = 0,
) -> list[Contrast]:
    """Verdicts on one family of differences, whatever they are differences of.

    Args:
        asked: of each row the quantity, and the names of the two sides.
        differences: on the log scale, shape (family, blocks); nan where there is none.
        failed: which of the missing ones were attempted; of the same shape.
        design: as :func:`judge` takes it, like the rest.
        adjust: p-values to adjusted ones.
        level: adjusted p-values up to this one are rejections.
        together: intervals are simultaneous.
        to_come: blocks that may still be made.
        covariates: differences of what to adjust for, shape (family, blocks, covariates).
        others: further rows of the family, of which nothing is known here.
    """
    if (sessions := asked[0][0].sessions) is not None:
        if covariates is not None:
            covariates = _means_of_sessions(covariates, differences, sessions)
        differences, failed = by_session(differences, failed, sessions)
        to_come = to_come and int((~(np.isfinite(differences) | failed).any(axis=0)).sum())
    rules = FamilyRules(
        spending=design.spending,
        rope=float(np.log1p(design.equivalent_within)),
        adjust=adjust,
        rate=level,
        together=together,
        futility=design.futility,
        max_failed_share=MAX_FAILED_SHARE,
    )
    verdicts = judge_family(
        _padded(differences, others, np.nan),
        _padded(failed, others, False),
        rules,
        to_come,
        None if covariates is None else _padded(covariates, others, np.nan),
    )
    return list(_contrasts(asked, differences, failed, verdicts, covariates))


def paired(
    quantities: Sequence[Quantity], pairs: Sequence[tuple[int, int]]
) -> tuple[FloatArray, BoolArray]:
    """Differences of all pairs in all quantities, and failed blocks; shape (family, blocks)."""
    later, earlier = np.array(pairs).T
    blocks = max(len(quantity.log_values) for quantity in quantities)
    shape = (len(quantities), len(pairs), blocks)
    differences, attempted = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    for row, quantity in enumerate(quantities):
        values, tried = quantity.log_values, quantity.attempted
        own = len(values)
        log_ratios = (values[:, later] - values[:, earlier]).T
        differences[row, :, :own] = np.clip(log_ratios, -FARTHEST, FARTHEST)
        attempted[row, :, :own] = (tried[:, later] & tried[:, earlier]).T
    failed = attempted & ~np.isfinite(differences)
    return differences.reshape(-1, blocks), failed.reshape(-1, blocks)


def by_session(
    differences: FloatArray, failed: BoolArray, sessions: IntArray
) -> tuple[FloatArray, BoolArray]:
    """The mean difference of each session, and which sessions failed; shape (family, sessions).

    A session has failed where more than the allowed share of its blocks has.

    Args:
        differences: shape (family, blocks), nan where there is none.
        failed: which of the missing ones were attempted; of the same shape.
        sessions: shape (blocks,), counted from 1.
    """
    usable = np.isfinite(differences)
    member = (sessions[:, np.newaxis] == np.arange(1, sessions.max() + 1)).astype(np.float64)
    count, failures = usable @ member, failed @ member
    broken = failures > MAX_FAILED_SHARE * (count + failures)
    with np.errstate(invalid="ignore"):
        means = np.where(usable, differences, 0.0) @ member / count
    return np.where(broken, np.nan, means), broken


def _means_of_sessions(
    covariates: FloatArray, differences: FloatArray, sessions: IntArray
) -> FloatArray:
    """Those of the blocks that a session's mean rests on; shape (family, sessions, covariates)."""
    member = np.isfinite(differences)[:, np.newaxis] * (
        sessions == np.arange(1, sessions.max() + 1)[:, np.newaxis]
    )
    count = np.maximum(1, member.sum(axis=2))[:, :, np.newaxis]
    return np.asarray(member.astype(np.float64) @ np.nan_to_num(covariates) / count)


def _paired_covariates(
    covariates: Sequence[FloatArray], pairs: Sequence[tuple[int, int]], differences: FloatArray
) -> FloatArray:
    """Those of the differences, in the same order; shape (family, blocks, covariates)."""
    later, earlier = np.array(pairs).T
    rows, blocks = differences.shape
    shape = (len(covariates), len(pairs), blocks, covariates[0].shape[2])
    paired = np.full(shape, np.nan)
    for row, own in enumerate(covariates):
        paired[row, :, : len(own)] = (own[:, later] - own[:, earlier]).swapaxes(0, 1)
    return paired.reshape(rows, blocks, -1)


def _contrasts(
    asked: Sequence[tuple[Quantity, str, str]],
    differences: FloatArray,
    failed: BoolArray,
    verdicts: FamilyVerdicts,
    covariates: FloatArray | None,
) -> Iterator[Contrast]:
    """Each row of the arrays as a contrast."""
    usable = np.isfinite(differences)
    rows = zip(
        verdicts.outcome.tolist(),
        verdicts.blocks.tolist(),
        verdicts.estimate.tolist(),
        verdicts.low.tolist(),
        verdicts.high.tolist(),
        verdicts.p.tolist(),
        verdicts.level.tolist(),
        verdicts.p_adjusted.tolist(),
        failed.sum(axis=1).tolist(),
        strict=True,
    )
    for row, (quantity, system, against) in enumerate(asked):
        outcome, blocks, estimate, low, high, p, level, p_adjusted, failures = next(rows)
        own = usable[row, : len(quantity.log_values)]
        yield Contrast(
            quantity=quantity,
            system=system,
            against=against,
            differences=differences[row, : len(own)][own],
            usable=own,
            interval=RepeatedInterval(blocks, estimate, low, high, p, level) if blocks else None,
            failed=failures,
            p_adjusted=p_adjusted if blocks else None,
            verdict=_verdict(outcome, estimate, quantity),
            futile=outcome == FUTILE,
            covariates=None if covariates is None else covariates[row, : len(own)][own],
        )


def _verdict(outcome: int, estimate: float, quantity: Quantity) -> Verdict:
    """The outcome in the words of the quantity: times are better when they are lower."""
    if outcome == DIFFERENT:
        return "faster" if (estimate > 0) == (quantity.direction == "higher") else "slower"
    return _SAME_WORDS[outcome]
