"""Verdicts on every pair of systems in every quantity, and on whatever else has differences."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from tiltyard.analysis.contrast import COLUMNS, MAX_FAILED_SHARE, OF_INTERVAL, Contrasts, Judged
from tiltyard.analysis.other_analysis import not_external
from tiltyard.analysis.quantity import Direction, Quantity, pairs_of
from tiltyard.plan.model import Design
from tiltyard.stats.estimators import PairedBlocks
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
from tiltyard.stats.types import BoolArray, FloatArray, IntArray

_Rows = TypeVar("_Rows", FloatArray, BoolArray)

FARTHEST: Final = 300.0
"""Log ratios are clipped there: the ratio of a larger one may overflow."""
_SAME_WORDS: Final = np.empty(5, object)
"""By outcome; what is different is faster or slower."""
_SAME_WORDS[[UNDECIDED, FUTILE]] = "undecided"
_SAME_WORDS[[EQUIVALENT, INVALID]] = "equivalent", "invalid"


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
    baseline: str | None = None,
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
            the differences are judged as they are. No verdict is given while they are not shown to
            be the same of both systems.
        others: further comparisons of the family, of which nothing is known here: p = 1.
        baseline: the system that others are compared against.
    """
    pairs = list(pairs_of(systems, baseline))
    if not quantities or not pairs:
        return tuple(Judged(quantity, Contrasts.none()) for quantity in quantities)
    differences, failed = paired(quantities, pairs)
    own = _paired_covariates(covariates, pairs, differences) if covariates else None
    rows = (*rows_of(quantities, systems, pairs), differences, failed)
    found = judge_rows(*rows, design, adjust, level, together, to_come, own, others)
    starts = range(0, len(found), len(pairs))
    return tuple(
        Judged(quantity, found[start : start + len(pairs)])
        for quantity, start in zip(quantities, starts, strict=True)
    )


def _padded(rows: _Rows, others: int, value: float) -> _Rows:
    """The rows, and further ones that have nothing but a value."""
    if not others:
        return rows
    return np.pad(rows, ((0, others), *((0, 0),) * (rows.ndim - 1)), constant_values=value)


def judge_rows(
    quantities: Sequence[Quantity],
    sides: Sequence[tuple[str, str]],
    differences: FloatArray,
    failed: BoolArray,
    design: Design,
    adjust: Callable[[FloatArray], FloatArray],
    level: float,
    together: bool = False,
    to_come: int | None = None,
    covariates: FloatArray | None = None,
    others: int = 0,
    weights: float | FloatArray = 1.0,
) -> Contrasts:
    """Verdicts on one family of differences, whatever they are differences of.

    Args:
        quantities: of each row.
        sides: of each row the names of the two.
        differences: on the log scale, shape (family, blocks); nan where there is none.
        failed: which of the missing ones were attempted; of the same shape.
        design: as :func:`judge` takes it, like the rest.
        adjust: p-values to adjusted ones.
        level: adjusted p-values up to this one are rejections.
        together: intervals are simultaneous.
        to_come: blocks that may still be made.
        covariates: differences of what to adjust for, shape (family, blocks, covariates).
        others: further rows of the family, of which nothing is known here.
        weights: how many differences of two values each row may lie off with, shape (family,).
    """
    if (sessions := quantities[0].sessions) is not None:
        if covariates is not None:
            covariates = _means_of_sessions(covariates, differences, sessions)
        differences, failed = by_session(differences, failed, sessions)
        to_come = to_come and int((~(np.isfinite(differences) | failed).any(axis=0)).sum())
    rules = rules_of(design, adjust, level, together=together)
    rounding = weights * np.array([quantity.rounding for quantity in quantities])
    estimator = PairedBlocks(
        design.spending,
        _padded(differences, others, np.nan),
        _padded(failed, others, False),
        None if covariates is None else _padded(covariates, others, np.nan),
        _padded(rounding, others, 0.0),
    )
    verdicts = judge_family(estimator, rules, to_come)
    rows = len(quantities)
    columns = np.empty(rows, COLUMNS)
    columns["quantity"] = np.fromiter(quantities, object, rows)
    for place, name in enumerate(("system", "against")):
        columns[name] = np.fromiter((own[place] for own in sides), object, rows)
    columns["verdict"] = verdict_words(verdicts, [own.direction for own in quantities])
    columns["withheld"] = not_external(sides, verdicts, design)
    columns["futile"] = verdicts.outcome[:rows] == FUTILE
    columns["failed"] = failed.sum(axis=1)
    for name in (*OF_INTERVAL, "p_adjusted"):
        columns[name] = getattr(verdicts, name)[:rows]
    return Contrasts(differences, columns, covariates)


def rules_of(
    design: Design, adjust: Callable[[FloatArray], FloatArray], level: float, *, together: bool
) -> FamilyRules:
    """How a family of a design is judged; see :func:`judge`.

    A design without looks is of what was measured elsewhere: nobody declared what would be compared
    there, so its family is what has a test.
    """
    return FamilyRules(
        rope=float(np.log1p(design.equivalent_within)),
        adjust=adjust,
        rate=level,
        together=together,
        futility=design.futility,
        max_failed_share=MAX_FAILED_SHARE,
        tested_only=not design.looks,
    )


def rows_of(
    quantities: Sequence[Quantity], systems: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> tuple[list[Quantity], list[tuple[str, str]]]:
    """All pairs in all quantities: of each row the quantity, and the names of the two sides."""
    sides = [(systems[later], systems[earlier]) for later, earlier in pairs]
    return [quantity for quantity in quantities for _ in pairs], sides * len(quantities)


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
        sessions: shape (blocks,), the number of each block's session.
    """
    usable = np.isfinite(differences)
    member = (sessions[:, np.newaxis] == np.unique(sessions)).astype(np.float64)
    count, failures = usable @ member, failed @ member
    broken = failures > MAX_FAILED_SHARE * (count + failures)
    with np.errstate(invalid="ignore"):
        means = np.where(usable, differences, 0.0) @ member / count
    return np.where(broken, np.nan, means), broken


def _means_of_sessions(
    covariates: FloatArray, differences: FloatArray, sessions: IntArray
) -> FloatArray:
    """Means over those blocks of a session's mean of which they are known, else nan.

    Of shape (family, sessions, covariates).
    """
    member = np.isfinite(differences)[:, np.newaxis] * (
        sessions == np.unique(sessions)[:, np.newaxis]
    ).astype(np.float64)
    count = member @ np.isfinite(covariates).astype(np.float64)
    sums = member @ np.nan_to_num(covariates)
    unknown = np.full(sums.shape, np.nan)
    return np.asarray(np.divide(sums, count, out=unknown, where=count > 0))


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


def verdict_words(
    verdicts: FamilyVerdicts, directions: Sequence[Direction]
) -> npt.NDArray[np.object_]:
    """The outcomes of the first rows in words: of what a lower value is better of, too."""
    rows = len(directions)
    outcome, estimate = verdicts.outcome[:rows], verdicts.estimate[:rows]
    more_is_better = np.array(directions, dtype=np.str_) == "higher"
    different = np.where((estimate > 0) == more_is_better, "faster", "slower").astype(object)
    return np.where(outcome == DIFFERENT, different, _SAME_WORDS[outcome])
