"""Many cells at once: what becomes of a family under three ways to correct it.

A family is a number of comparisons that advance together, some of them of equal systems. Correcting
inside the loop means that at each look all comparisons of the family, stopped ones with the
p-value at which they stopped, are corrected together, and what is rejected stops.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.sequential import LEVEL, LOOKS, table_of
from tiltyard.stats.signed_rank import signed_ranks
from tiltyard.stats.types import BoolArray, FloatArray

CV: Final = 0.02
"""Noise of each trial."""
SMALL: Final = 0.03
LARGE: Final = 0.10
"""True differences: half of those that differ have the one, half the other."""
PROFILE: Final = "standard"
Adjust = Callable[[FloatArray], FloatArray]


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
    procedure: str
    any_false: float
    """Families with at least one false claim."""
    false_discoveries: float
    """Of what is claimed, the share that is false."""
    found_small: float
    found_large: float
    blocks: float
    """Of the comparisons that differ."""


FAMILIES: Final = (Family(100, 60), Family(100, 95), Family(20, 12))
ALONE: Final = "each cell stops alone, corrected afterwards"
LOOPS: Final[dict[str, Adjust]] = {
    "Benjamini–Hochberg in the loop": benjamini_hochberg,
    "Holm in the loop": holm,
}


def family_rates(families: int, seed: int) -> tuple[FamilyRates, ...]:
    """Every procedure on every kind of family, on the same data.

    Args:
        families: how many of each kind are simulated.
        seed: the same seed gives the same rates.
    """
    found = []
    for family, stream in zip(
        FAMILIES, np.random.SeedSequence(seed).spawn(len(FAMILIES)), strict=True
    ):
        effects = effects_of(family)
        p_values = sequential_p_values(families, effects, np.random.default_rng(stream))
        found.append(_rates(family, ALONE, effects, *alone(p_values)))
        for name, adjust in LOOPS.items():
            found.append(_rates(family, name, effects, *in_the_loop(p_values, adjust)))
    return tuple(found)


def effects_of(family: Family) -> FloatArray:
    """True log ratios of the cells: first the equal ones, then small and large ones in turn."""
    differ = family.cells - family.equal
    sizes = np.where(np.arange(differ) % 2 == 0, SMALL, LARGE)
    return np.concatenate([np.zeros(family.equal), np.log1p(sizes)])


def sequential_p_values(families: int, effects: FloatArray, rng: np.random.Generator) -> FloatArray:
    """P-values that are valid at each look, shape (families, cells, looks)."""
    looks = LOOKS[PROFILE]
    noise = rng.normal(0, CV * np.sqrt(2), (families, len(effects), looks[-1][0]))
    paths = (noise + effects[:, None]).reshape(-1, looks[-1][0])
    single = np.stack([signed_ranks(paths[:, :n], c).p for n, c in looks], axis=1)
    smallest = np.minimum.accumulate(single, axis=1)
    table = table_of(PROFILE)
    # Stored values are rounded in the last digits; an attained value must find its own entry.
    place = np.searchsorted(table.minimum_p, smallest * (1 + 1e-9), side="right") - 1
    return table.sequential_p[place].reshape(families, len(effects), len(looks))


def in_the_loop(p_values: FloatArray, adjust: Adjust) -> tuple[BoolArray, FloatArray]:
    """Which comparisons are claimed, and how many blocks each makes; shape (families, cells)."""
    looks = LOOKS[PROFILE]
    claimed = np.zeros(p_values.shape[:2], dtype=np.bool_)
    blocks = np.full(claimed.shape, float(looks[-1][0]))
    kept = p_values[:, :, 0].copy()
    for place, (n, _) in enumerate(looks):
        kept = np.where(claimed, kept, p_values[:, :, place])
        rejected = np.array([adjust(row) <= LEVEL for row in kept])
        blocks[rejected & ~claimed] = n
        claimed |= rejected
    return claimed, blocks


def alone(p_values: FloatArray) -> tuple[BoolArray, FloatArray]:
    """The same where each stops at 5 % for itself, and all are corrected at the end."""
    looks = np.array([float(n) for n, _ in LOOKS[PROFILE]])
    passed = p_values <= LEVEL
    passed[:, :, -1] = True
    stop = np.argmax(passed, axis=2)
    final = np.take_along_axis(p_values, stop[:, :, None], axis=2)[:, :, 0]
    return np.array([benjamini_hochberg(row) <= LEVEL for row in final]), looks[stop]


def _rates(
    family: Family, procedure: str, effects: FloatArray, claimed: BoolArray, blocks: FloatArray
) -> FamilyRates:
    false = claimed[:, effects == 0].sum(axis=1)
    return FamilyRates(
        family=family,
        procedure=procedure,
        any_false=float(np.mean(false > 0)),
        false_discoveries=float(np.mean(false / np.maximum(1, claimed.sum(axis=1)))),
        found_small=float(np.mean(claimed[:, np.isclose(effects, np.log1p(SMALL))])),
        found_large=float(np.mean(claimed[:, np.isclose(effects, np.log1p(LARGE))])),
        blocks=float(np.mean(blocks[:, effects > 0])),
    )
