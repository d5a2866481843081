"""Is something worse than a margin allows? Non-inferiority at every look, for a whole family.

Each interval is a repeated confidence interval; those of a family are simultaneous, over all looks
(Bonferroni: coverage 1 - 0.05/m each). So an answer may be given at whichever look comes first, and
the rate of families with any false answer is at most 5 %.

Sources: Jennison and Turnbull, "Interim analyses: the repeated confidence interval approach",
JRSS B 51 (1989), section 4; Piaggio et al., "Reporting of noninferiority and equivalence randomized
trials", JAMA 308 (2012), for the side of the margin on which an interval lies.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.sequential import LEVEL, Spending
from tiltyard.stats.types import BoolArray, FloatArray, IntArray

UNDECIDED: Final = 0
WITHIN: Final = 1
"""No worse than the margin allows."""
BEYOND: Final = 2
"""Worse than that."""


@dataclass(frozen=True)
class MarginVerdicts:
    """What became of m comparisons; arrays of shape (m,)."""

    outcome: IntArray
    """``UNDECIDED``, ``WITHIN`` or ``BEYOND``."""
    blocks: IntArray
    """Blocks that the interval rests on: of the look that decided, else of the latest; 0 before."""
    estimate: FloatArray
    """nan before the first look, as are the bounds."""
    low: FloatArray
    high: FloatArray


def against_margin(
    differences: FloatArray, spending: Spending, margin: float, level: float, *, ended: bool
) -> MarginVerdicts:
    """Each comparison at its first look that answers.

    Args:
        differences: shape (m, blocks) in time order, more is worse; nan behind the last one.
        spending: the looks.
        margin: what is allowed, in the unit of the differences.
        level: error rate of each interval over all looks: 0.05 / m for a family of m.
        ended: no block is to come, so that the last look takes what is there.
    """
    m = len(differences)
    usable = np.isfinite(differences).sum(axis=1)
    found = MarginVerdicts(
        np.full(m, UNDECIDED), np.zeros(m, dtype=np.intp), *np.full((3, m), np.nan)
    )

    def look(place: int, blocks: int, rows: BoolArray) -> None:
        chosen = np.flatnonzero(rows & (found.outcome == UNDECIDED))
        if not len(chosen) or not spending.has_interval(place, level, blocks):
            return
        evidence = spending.evidence(place, differences[chosen, :blocks], level)
        found.blocks[chosen], found.estimate[chosen] = blocks, evidence.estimate
        found.low[chosen], found.high[chosen] = evidence.low, evidence.high
        beyond, within = evidence.low > margin, evidence.high < margin
        found.outcome[chosen] = np.where(beyond, BEYOND, np.where(within, WITHIN, UNDECIDED))

    for place, (blocks, _) in enumerate(spending.looks):
        look(place, blocks, usable >= blocks)
    last = len(spending.looks) - 1
    waiting = usable > found.blocks
    for blocks in np.unique(usable[waiting & (usable < spending.looks[last][0])]) if ended else ():
        look(last, int(blocks), waiting & (usable == blocks))
    return found


def level_of(family: int) -> float:
    """Error rate of each of the simultaneous 95 % confidence intervals of a family."""
    return LEVEL / max(1, family)
