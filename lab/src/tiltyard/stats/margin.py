"""Is something worse than a margin allows? Non-inferiority at every look, for a whole family.

Each interval is a repeated confidence interval, so an answer may be given at whichever look comes
first. A family passes only if each of its comparisons does; so each passes by its own interval of
95 %, whatever their number (intersection-union test): a family with a comparison at the margin
passes in at most 2.5 %. It fails, or is better, by any one of them; so whoever claims that goes by
intervals that hold together (Bonferroni: coverage 1 - 0.05/m each).

Sources: Jennison and Turnbull, "Interim analyses: the repeated confidence interval approach",
JRSS B 51 (1989), section 4; Piaggio et al., "Reporting of noninferiority and equivalence randomized
trials", JAMA 308 (2012), for the side of the margin on which an interval lies; Berger,
"Multiparameter hypothesis testing and acceptance sampling", Technometrics 24 (1982), for the union.
"""

import math
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from tiltyard.stats.planning import LIKELY, blocks_needed
from tiltyard.stats.sequential import LEVEL, RepeatedInterval, Spending
from tiltyard.stats.types import BoolArray, FloatArray, IntArray

UNDECIDED: Final = 0
WITHIN: Final = 1
"""No worse than the margin allows."""
BEYOND: Final = 2
"""Worse than that."""
BETTER: Final = 3
"""Within, and better than the other, however many are compared."""


@dataclass(frozen=True)
class MarginVerdicts:
    """What became of m comparisons; arrays of shape (m,)."""

    outcome: IntArray
    """``UNDECIDED``, ``WITHIN``, ``BEYOND`` or ``BETTER``."""
    blocks: IntArray
    """Blocks that the interval rests on: of the look that decided, else of the latest; 0 before."""
    estimate: FloatArray
    """nan before the first look, as are the bounds."""
    low: FloatArray
    high: FloatArray
    level: FloatArray
    """Coverage of the interval: 95 %, but of what is beyond or better 1 - 0.05/m."""
    rounding: FloatArray
    """What of the interval's reach no number of blocks makes smaller; never nan."""

    def of(self, rows: BoolArray) -> "MarginVerdicts":
        """Some of them; ``rows`` of shape (m,)."""
        return MarginVerdicts(*(getattr(self, own.name)[rows] for own in fields(self)))


def against_margin(
    differences: FloatArray,
    spending: Spending,
    margin: float,
    level: float,
    *,
    ended: bool,
    rounding: FloatArray | None = None,
) -> MarginVerdicts:
    """Each comparison at its first look that answers.

    Args:
        differences: shape (m, blocks) in time order, more is worse; nan behind the last one.
        spending: the looks.
        margin: what is allowed, in the unit of the differences.
        level: error rate over all looks of each interval by which something is claimed of one
            comparison: 0.05 / m for a family of m.
        ended: no block is to come, so that the last look takes what is there.
        rounding: how far all differences of a comparison may lie off together, shape (m,).
    """
    m = len(differences)
    off = np.zeros(m) if rounding is None else rounding
    usable = np.isfinite(differences).sum(axis=1)
    found = MarginVerdicts(
        np.full(m, UNDECIDED), np.zeros(m, dtype=np.intp), *[*np.full((4, m), np.nan), off]
    )

    def look(place: int, blocks: int, rows: BoolArray) -> None:
        chosen = np.flatnonzero(rows & np.isin(found.outcome, (UNDECIDED, WITHIN)))
        if not len(chosen) or not spending.has_interval(place, LEVEL, blocks):
            return
        pieces, passed = differences[chosen, :blocks], found.outcome[chosen] == WITHIN
        own = spending.evidence(place, pieces, LEVEL, rounding=off[chosen])
        outcome = np.where(passed | (own.high < margin), WITHIN, UNDECIDED)
        bounds, coverage = np.stack([own.low, own.high]), np.full(len(chosen), 1 - LEVEL)
        if spending.has_interval(place, level, blocks):
            together = spending.evidence(place, pieces, level, rounding=off[chosen])
            outcome[~passed & (together.low > margin)] = BEYOND
            outcome[(outcome == WITHIN) & (together.high < 0)] = BETTER
            claimed = np.isin(outcome, (BEYOND, BETTER))
            bounds = np.where(claimed, [together.low, together.high], bounds)
            coverage[claimed] = 1 - level
        # What has passed keeps its interval, until it turns out to be better.
        new = ~passed | (outcome == BETTER)
        chosen = chosen[new]
        found.outcome[chosen], found.blocks[chosen] = outcome[new], blocks
        found.estimate[chosen], found.level[chosen] = own.estimate[new], coverage[new]
        found.low[chosen], found.high[chosen] = bounds[:, new]

    for place, (blocks, _) in enumerate(spending.looks):
        look(place, blocks, usable >= blocks)
    last = len(spending.looks) - 1
    waiting = usable > found.blocks
    for blocks in np.unique(usable[waiting & (usable < spending.looks[last][0])]) if ended else ():
        look(last, int(blocks), waiting & (usable == blocks))
    return found


def blocks_to_answer(
    undecided: MarginVerdicts, spending: Spending, margin: float, level: float
) -> int | None:
    """Blocks of another study that give every answer that lacks, with the planner's chance.

    Args:
        undecided: comparisons without an answer.
        spending: the looks that they were judged at.
        margin: as :func:`against_margin` takes it, like the level.
        level: of each claim.

    Returns:
        0 where no answer lacks; ``None`` where it takes very many blocks, or nothing is known yet.
    """
    if not undecided.blocks.all():
        return None
    rest = (undecided.estimate, undecided.low, undecided.high, undecided.level, undecided.rounding)
    intervals = [
        RepeatedInterval(
            blocks, estimate - margin, low - margin, high - margin, math.nan, coverage, off
        )
        for blocks, estimate, low, high, coverage, off in zip(
            undecided.blocks.tolist(), *(column.tolist() for column in rest), strict=True
        )
    ]
    likely = LIKELY ** (1 / max(1, len(intervals)))
    needed = blocks_needed(
        spending, intervals, 0.0, level, below_level=LEVEL, anew=True, likely=likely
    )
    known = [blocks for blocks in needed if blocks is not None]
    return max(known, default=0) if len(known) == len(needed) else None


def level_of(family: int) -> float:
    """Error rate of each of the simultaneous 95 % confidence intervals of a family."""
    return LEVEL / max(1, family)
