"""Many cells at once: what becomes of a family under three ways to correct it.

A family is a number of comparisons that advance together, some of them of equal systems.
Correcting inside the loop is what :func:`tiltyard.stats.family.judge_family` does for real studies,
and what is called here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Section, percent, table
from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import DIFFERENT, FamilyRules, judge_family
from tiltyard.stats.looks import LEVEL, LOOKS
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.sequential import Spending
from tiltyard.stats.types import BoolArray, FloatArray

CV: Final = 0.02
"""Noise of each trial."""
SMALL: Final = 0.03
LARGE: Final = 0.10
"""True differences: half of those that differ have the one, half the other."""
SPENDING: Final = Spending("standard", False, LOOKS["standard"])
BLOCKS: Final = SPENDING.looks[-1][0]


@dataclass(frozen=True)
class Family:
    """A family of comparisons."""

    cells: int
    equal: int
    """How many of them compare equal systems."""


@dataclass(frozen=True)
class FamilyRates:
    """What one procedure makes of a family; shares, on average over families."""

    family: Family
    families: int
    """How many were simulated."""
    procedure: str
    any_false: float
    """Families with at least one false claim."""
    false_discoveries: float
    """Of what is claimed, the share that is false."""
    missed: float | None
    """Of the intervals of what is claimed, the share that misses the truth; ``None`` where the
    procedure has no intervals of its own."""
    found_small: float
    found_large: float
    blocks: float
    """Of the comparisons that differ."""


@dataclass(frozen=True)
class Ended:
    """One family at its end, arrays of shape (cells,)."""

    claimed: BoolArray
    blocks: FloatArray
    missed: BoolArray | None = None
    """Whether the interval misses the truth."""


FAMILIES: Final = (Family(100, 60), Family(100, 95), Family(20, 12))
Procedure = Callable[[FloatArray, FloatArray], Ended]


def family_rates(families: int, seed: int) -> tuple[FamilyRates, ...]:
    """Every procedure on every kind of family, on the same data.

    Args:
        families: how many of each kind are simulated.
        seed: the same seed gives the same rates.
    """
    streams = np.random.SeedSequence(seed).spawn(len(FAMILIES))
    return tuple(
        rates
        for family, stream in zip(FAMILIES, streams, strict=True)
        for rates in _of_family(family, families, np.random.default_rng(stream))
    )


def effects_of(family: Family) -> FloatArray:
    """True log ratios of the cells: first the equal ones, then small and large ones in turn."""
    differ = family.cells - family.equal
    sizes = np.where(np.arange(differ) % 2 == 0, SMALL, LARGE)
    return np.concatenate([np.zeros(family.equal), np.log1p(sizes)])


def stopping_alone(differences: FloatArray, _effects: FloatArray) -> Ended:
    """Each comparison stops at 5 % for itself; all are corrected at the end."""
    shares = [
        SPENDING.evidence(place, differences[:, :n]).p / SPENDING.shares[place]
        for place, (n, _) in enumerate(SPENDING.looks)
    ]
    p_values = SPENDING.sequential_p(np.minimum.accumulate(np.stack(shares, axis=1), axis=1))
    passed = p_values <= LEVEL
    passed[:, -1] = True
    stop = np.argmax(passed, axis=1)
    final = p_values[np.arange(len(stop)), stop]
    blocks = np.array([float(n) for n, _ in SPENDING.looks])
    return Ended(benjamini_hochberg(final) <= LEVEL, blocks[stop])


def in_the_loop(adjust: Callable[[FloatArray], FloatArray], together: bool) -> Procedure:
    """The correction of real studies; nothing is called equivalent."""
    rules = FamilyRules(
        rope=0.0,
        adjust=adjust,
        rate=LEVEL,
        together=together,
        futility=False,
        max_failed_share=1.0,
    )

    def judged(differences: FloatArray, effects: FloatArray) -> Ended:
        found = judge_family(PairedBlocks(SPENDING, differences), rules)
        missed = (effects < found.low) | (found.high < effects)
        return Ended(found.outcome == DIFFERENT, found.blocks.astype(np.float64), missed)

    return judged


PROCEDURES: Final[dict[str, Procedure]] = {
    "each cell stops alone, corrected afterwards": stopping_alone,
    "Benjamini–Hochberg in the loop": in_the_loop(benjamini_hochberg, together=False),
    "Holm in the loop": in_the_loop(holm, together=True),
}
"""In the order of the tables."""


def _of_family(family: Family, families: int, rng: np.random.Generator) -> Iterator[FamilyRates]:
    effects = effects_of(family)
    shape = (families, family.cells, BLOCKS)
    differences = rng.normal(0, CV * np.sqrt(2), shape) + effects[:, None]
    for name, procedure in PROCEDURES.items():
        yield _rates(
            family, name, effects, [procedure(difference, effects) for difference in differences]
        )


def _rates(family: Family, procedure: str, effects: FloatArray, ended: list[Ended]) -> FamilyRates:
    claimed = np.array([one.claimed for one in ended])
    count = np.maximum(1, claimed.sum(axis=1))
    false = claimed[:, effects == 0].sum(axis=1)
    misses = [np.sum(one.missed & one.claimed) for one in ended if one.missed is not None]
    return FamilyRates(
        family=family,
        families=len(ended),
        procedure=procedure,
        any_false=float(np.mean(false > 0)),
        false_discoveries=float(np.mean(false / count)),
        missed=float(np.mean(misses / count)) if misses else None,
        found_small=float(np.mean(claimed[:, np.isclose(effects, np.log1p(SMALL))])),
        found_large=float(np.mean(claimed[:, np.isclose(effects, np.log1p(LARGE))])),
        blocks=float(np.mean([one.blocks[effects > 0] for one in ended])),
    )


def _simulate(paths: int, seed: int) -> tuple[FamilyRates, ...]:
    """A family has many comparisons: there are fewer of them than of paths."""
    return family_rates(max(1, paths // 50), seed)


def _told(found: tuple[FamilyRates, ...]) -> str:
    head = ("family", "procedure", "any false claim, %", "false among the claims, %",
            "intervals of claims that miss, %", "3 % found, %", "10 % found, %",
            "blocks of those that differ")  # fmt: skip
    rows = [
        (
            f"{one.family.cells} cells, {one.family.equal} equal",
            one.procedure,
            percent(one.any_false),
            percent(one.false_discoveries),
            "–" if one.missed is None else percent(one.missed),
            percent(one.found_small, 0),
            percent(one.found_large, 0),
            f"{one.blocks:.1f}",
        )
        for one in found
    ]
    return f"""
## Many comparisons at once

Noise of 2 %, standard profile, {found[0].families} families of each kind; half of the cells that
differ do so by 3 %, half by 10 %.

{table(head, rows)}

A comparison that stops as soon as it is convincing by itself keeps a p-value that does not survive
a correction made afterwards. So the correction belongs into the loop. The interval beside a claim
is made for having been selected: of the intervals shown, too, at most 5 % miss.
"""


SECTION: Final = Section("families", _simulate, _told)
