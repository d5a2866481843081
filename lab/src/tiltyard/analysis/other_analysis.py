"""Comparisons judged both ways: as they are, and less what covariates explain."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tiltyard.analysis.contrast import Contrast, Judged
from tiltyard.analysis.quantity import COVARIATE_WORDS, LEFT_WORDS
from tiltyard.analysis.statements.numbers import compatible, confidence
from tiltyard.analysis.verdict import OtherAnalysis
from tiltyard.plan.model import Design
from tiltyard.stats.covariates import BALANCED_WITHIN, explained
from tiltyard.stats.family import DIFFERENT, EQUIVALENT, INVALID, FamilyVerdicts
from tiltyard.stats.sequential import LEVEL
from tiltyard.study.model import Covariate
from tiltyard.units import count_of

_MAKES_WORK: Final = "makes others work, which adjusting would hide"


def side_by_side(named: Judged, other: Judged) -> Judged:
    """A quantity by the analysis that was named for the verdicts, with the other one beside it."""
    return replace(named, contrasts=replace(named.contrasts, beside=other.contrasts))


def other_analysis(contrast: Contrast, design: Design) -> OtherAnalysis | None:
    """The other analysis of a comparison as the findings state it; ``None`` where there is none.

    There is none either where it was not computed beside an interval of the one that was named.
    """
    other = contrast.beside
    if other is None:
        return None
    interval = other.interval
    if interval is None and contrast.interval is not None and not other.withheld:
        return None
    used, share = _explained(contrast if design.verdict == "adjusted" else other, design)
    return OtherAnalysis(
        analysis="adjusted" if design.verdict == "unadjusted" else "unadjusted",
        covariates=used,
        explained=share,
        blocks=interval.blocks if interval else 0,
        ratio=math.exp(interval.estimate) if interval else None,
        low=math.exp(interval.low) if interval else None,
        high=math.exp(interval.high) if interval else None,
        level=interval.level if interval else 1 - LEVEL,
        p=interval.p if interval else None,
        p_adjusted=other.p_adjusted,
        verdict=other.verdict,
        sentence=_sentence(contrast, other, used, share, design),
    )


def _explained(adjusted: Contrast, design: Design) -> tuple[tuple[Covariate, ...], float | None]:
    """The covariates that differ between the sides, and their share of the variance.

    The share is ``None`` before the first look, and where no covariate differs.
    """
    if adjusted.covariates is None:
        return (), None
    rested_on = np.nan_to_num(adjusted.covariates[: len(adjusted.rested_on)])
    names = zip(design.adjust_for, rested_on.T, strict=True)
    used = tuple(name for name, own in names if own.any())
    if not adjusted.interval or not used:
        return used, None
    return used, explained(adjusted.rested_on, rested_on, adjusted.interval.estimate)


def not_external(
    sides: Sequence[tuple[str, str]], verdicts: FamilyVerdicts, design: Design
) -> npt.NDArray[np.object_]:
    """Why nothing adjusted is claimed of each comparison; empty where something may be.

    What differs between the systems is what one of them makes others do: its cost, not noise.

    Args:
        sides: of each comparison the names of the two.
        verdicts: of a family of at least as many comparisons.
        design: names what was adjusted for.
    """
    reasons = np.full(len(sides), "", object)
    balance = verdicts.balance
    if balance is None:
        return reasons
    claimed = np.isin(verdicts.outcome, (DIFFERENT, EQUIVALENT, INVALID))
    held_back = balance.unshown & ~claimed[:, np.newaxis]
    for row in np.flatnonzero(held_back[: len(sides)].any(axis=1)).tolist():
        own = balance.differs[row]
        place = int(np.argmax(own if own.any() else held_back[row]))
        left, (busy, other) = LEFT_WORDS[design.adjust_for[place]], sides[row]
        ends = math.exp(balance.low[row, place]), math.exp(balance.high[row, place])
        if own.any() and balance.estimate[row, place] > 0:
            ends, busy, other = (1 / ends[1], 1 / ends[0]), other, busy
        interval = f"{confidence(1 - LEVEL)} {compatible(*ends)}"
        reasons[row] = (
            f"{busy} {_MAKES_WORK}: {left}, against {other} {interval}"
            if own.any()
            else f"no adjusted verdict: {left} is not shown to be the same of both within "
            f"±{100 * BALANCED_WITHIN:g} % ({interval})"
        )
    return reasons


def _sentence(
    named: Contrast,
    other: Contrast,
    used: Sequence[Covariate],
    share: float | None,
    design: Design,
) -> str:
    """The verdict in words, with what the covariates have to do with it."""
    way = "adjusted for what others did" if design.verdict == "unadjusted" else "unadjusted"
    head = f"{other.system} against {other.against} in {other.quantity.topic}, {way}: "
    interval = other.interval
    if other.withheld:
        return f"{head}{other.verdict}; {other.withheld}."
    if interval is None:
        return f"{head}{other.verdict}; too few blocks."
    possible = compatible(math.exp(interval.low), math.exp(interval.high), other.verdict)
    evidence = f"{confidence(interval.level)} {possible}, {count_of(interval.blocks, 'block')}"
    adjusted = named if design.verdict == "adjusted" else other
    text = f"{head}{other.verdict} ({evidence}); {_share(adjusted, used, share)}"
    if not used and named.interval and named.interval.blocks != interval.blocks:
        text += "; it rests on another look only because all comparisons are corrected together"
    return f"{text}."


def _share(adjusted: Contrast, used: Sequence[Covariate], share: float | None) -> str:
    """How much of the noise goes with the covariates, as far as they are known."""
    rested_on = len(adjusted.rested_on)
    unknown = 0
    if adjusted.covariates is not None:
        unknown = int(np.isnan(adjusted.covariates[:rested_on]).any(axis=1).sum())
    units = count_of(rested_on, adjusted.quantity.unit_of_replication)
    lacking = f"what others took is not known in {unknown} of {units}"
    if share is None and unknown:
        return lacking
    if share is None:
        return "others took the same of both sides in every block, as far as the host tells"
    names = " and ".join(COVARIATE_WORDS[name] for name in used)
    explains = "explain" if len(used) > 1 else "explains"
    text = f"{names} {explains} {100 * share:.0f} % of the variance of the blocks"
    return f"{text}; {lacking}" if unknown else text
