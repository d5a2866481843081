"""Comparisons judged both ways: as they are, and less what covariates explain."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tiltyard.analysis.amounts import compatible, coverage
from tiltyard.analysis.contrast import Adjustment, Contrast, Judged
from tiltyard.analysis.covariates import WORDS
from tiltyard.analysis.verdict import Beside
from tiltyard.plan.model import Design
from tiltyard.stats.covariates import explained
from tiltyard.stats.sequential import LEVEL
from tiltyard.stats.types import FloatArray
from tiltyard.study.model import Covariate


def side_by_side(
    named: Judged, other: Judged, design: Design, systems: Sequence[str], covariates: FloatArray
) -> Judged:
    """A quantity judged both ways, told as the analysis has it that was named beforehand.

    Args:
        named: by the analysis whose verdicts are those of the study.
        other: by the other one.
        design: which covariates, and which of the two is named.
        systems: in the order of the covariates.
        covariates: of each turn, shape (blocks, systems, covariates).
    """
    column = {name: place for place, name in enumerate(systems)}
    adjusted = named if design.verdict == "adjusted" else other
    contrasts = []
    for found, beside, by in zip(named.contrasts, other.contrasts, adjusted.contrasts, strict=True):
        own = covariates[:, column[found.system]] - covariates[:, column[found.against]]
        adjustment = _adjustment(by, own, design.adjust_for)
        contrasts.append(replace(found, beside=beside, adjustment=adjustment))
    return replace(named, contrasts=tuple(contrasts))


def _adjustment(
    found: Contrast, covariates: FloatArray, names: tuple[Covariate, ...]
) -> Adjustment:
    """What covariates had to do with a comparison; nothing before its first look."""
    rested_on = np.nan_to_num(covariates[found.usable][: len(found.rested_on)])
    used = tuple(name for name, own in zip(names, rested_on.T, strict=True) if own.any())
    share = None
    if found.interval and used:
        share = explained(found.rested_on, rested_on, found.interval.estimate)
    return Adjustment(used, tuple(name for name in names if name not in used), share)


def beside(contrast: Contrast, design: Design) -> Beside | None:
    """The other analysis of a comparison as the findings state it; ``None`` where there is none."""
    other, adjustment = contrast.beside, contrast.adjustment
    if other is None or adjustment is None:
        return None
    interval = other.interval
    return Beside(
        analysis="adjusted" if design.verdict == "unadjusted" else "unadjusted",
        covariates=adjustment.used,
        explained=adjustment.explained,
        blocks=interval.blocks if interval else 0,
        ratio=math.exp(interval.estimate) if interval else None,
        low=math.exp(interval.low) if interval else None,
        high=math.exp(interval.high) if interval else None,
        level=interval.level if interval else 1 - LEVEL,
        p=interval.p if interval else None,
        p_adjusted=other.p_adjusted,
        verdict=other.verdict,
        sentence=_sentence(other, adjustment, design),
    )


def _sentence(other: Contrast, adjustment: Adjustment, design: Design) -> str:
    """The verdict in words, with what the covariates have to do with it."""
    way = "adjusted for what others did" if design.verdict == "unadjusted" else "unadjusted"
    head = f"{other.system} against {other.against} in {other.quantity.topic}, {way}: "
    interval = other.interval
    if other.withheld:
        return f"{head}{other.verdict}; {other.withheld}."
    if interval is None:
        return f"{head}{other.verdict}; too few blocks."
    possible = compatible(math.exp(interval.low), math.exp(interval.high))
    evidence = f"{coverage(interval.level)} interval {possible}, {interval.blocks} blocks"
    return f"{head}{other.verdict} ({evidence}); {_share(adjustment)}."


def _share(adjustment: Adjustment) -> str:
    """How much of the noise goes with the covariates."""
    names = " and ".join(WORDS[name] for name in adjustment.used)
    if adjustment.explained is None:
        return "others took the same of both sides in every block, as far as the host tells"
    explains = "explain" if len(adjustment.used) > 1 else "explains"
    return f"{names} {explains} {100 * adjustment.explained:.0f} % of the variance of the blocks"
