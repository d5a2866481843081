"""Laws of noise that have nothing to do with normal: what rests on a model, and what does not.

The looks by rank are exact for every law. The first look of the retired fast profile is a t-test at
five blocks, which a law of two points deceives most: five differences then often have no spread at
all. So does any host that slows one turn of each block.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.designs import DESIGNS, outcome
from simulation.section import Section, percent, table
from tiltyard.stats.types import FloatArray

BLOCKS: Final = 30
Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]


def two_points(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """One or minus one, and a hundredth of normal noise."""
    return rng.choice(np.array([-1.0, 1.0]), shape) + rng.normal(0, 0.01, shape)


def first_turn(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """The first turn of each block is 5 % slower, under a noise of 1 % of each trial."""
    return rng.choice(np.array([-0.05, 0.05]), shape) + rng.normal(0, 0.01 * np.sqrt(2), shape)


def resonance(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """A sine of 5 % whose period is one block, of any phase, under a noise of 1 % of each trial."""
    swing = 0.1 * np.sin(rng.uniform(0, 2 * np.pi, (shape[0], 1)))
    coin = rng.choice(np.array([-1.0, 1.0]), shape)
    return coin * swing + rng.normal(0, 0.01 * np.sqrt(2), shape)


LAWS: Final[dict[str, Draw]] = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
    "Student t₂": lambda rng, shape: rng.standard_t(2, shape),
    "Cauchy": lambda rng, shape: rng.standard_cauchy(shape),
    "two points and 1 %": two_points,
    "first turn of a block 5 % slower": first_turn,
    "a sine of one block": resonance,
}
"""Paired differences of equal systems, shape (paths, blocks)."""


@dataclass(frozen=True)
class LawRates:
    """A/A under one law of the paired differences."""

    law: str
    false: dict[str, float]
    """Design → share of comparisons in which a difference was claimed."""


def law_rates(paths: int, seed: int) -> tuple[LawRates, ...]:
    """Every design under every law; without a region of equivalence, so that nothing stops early.

    Args:
        paths: comparisons simulated for each law.
        seed: the same seed gives the same rates.
    """
    streams = np.random.SeedSequence(seed).spawn(len(LAWS))
    return tuple(
        _under(name, draw(np.random.default_rng(stream), (paths, BLOCKS)))
        for (name, draw), stream in zip(LAWS.items(), streams, strict=True)
    )


def _under(law: str, differences: FloatArray) -> LawRates:
    ended = {design.name: outcome(design.bounds(differences), 0.0, 0.0) for design in DESIGNS}
    return LawRates(law, {name: float(np.mean(one.claim != 0)) for name, one in ended.items()})


def _told(found: tuple[LawRates, ...]) -> str:
    rows = [(one.law, *map(percent, one.false.values())) for one in found]
    return f"""
## Laws that are nothing like normal

Equal systems told apart, %:

{table(("paired differences", *found[0].false), rows)}

Looks by rank do not care for the law. The first look of *fast*, at five blocks, and the sequence
that looks after every block rest on normal noise: two points deceive them, and so does a host that
is slower in the first turn of each block, or swings with the blocks. No repair is exact: five
signs agree by chance in one of sixteen. So *fast* is retired; a study that was planned with it is
judged as it was planned, and its report says so.
"""


SECTION: Final = Section("laws", law_rates, _told)
