"""A noise level that moves during the session: what the looks take for granted.

The joint error rate of the looks assumes that the magnitudes of differences are exchangeable over
blocks. The strict constants assume nothing.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.designs import STANDARD, STRICT, Design, outcome
from simulation.section import Section, percent, table
from tiltyard.stats.types import FloatArray

BLOCKS: Final = 30

_STEADY: Final = np.ones(BLOCKS)
SCALES: Final[dict[str, FloatArray]] = {
    "constant": _STEADY,
    "grows 2 times": np.geomspace(1, 2, BLOCKS),
    "grows 10 times": np.geomspace(1, 10, BLOCKS),
    "grows 100 times": np.geomspace(1, 100, BLOCKS),
    "10 times from block 11 on": np.where(np.arange(BLOCKS) < 10, 1.0, 10.0),
    "shrinks 5 times": np.geomspace(5, 1, BLOCKS),
    "shrinks 100 times": np.geomspace(100, 1, BLOCKS),
}
"""Scale of the noise, block by block, shape (blocks,)."""


@dataclass(frozen=True)
class GrowthRates:
    """A/A: how often a difference is claimed."""

    scale: str
    standard: float
    strict: float


def growth_rates(paths: int, seed: int) -> tuple[GrowthRates, ...]:
    """Every scale on the same paths; without a region of equivalence, so that nothing stops early.

    Args:
        paths: comparisons simulated.
        seed: the same seed gives the same rates.
    """
    noise = np.random.default_rng(seed).normal(0, 1, (paths, BLOCKS))
    return tuple(
        GrowthRates(name, _false(STANDARD, noise * scale), _false(STRICT, noise * scale))
        for name, scale in SCALES.items()
    )


def _false(design: Design, differences: FloatArray) -> float:
    return float(np.mean(outcome(design.bounds(differences), 0.0, 0.0).claim != 0))


def _told(found: tuple[GrowthRates, ...]) -> str:
    rows = [(one.scale, percent(one.standard), percent(one.strict)) for one in found]
    return f"""
## Noise that changes while one measures

The joint error rate of the looks takes the level of noise for constant. If it moves, equal systems
are told apart in so many comparisons (%):

{table(("noise over 30 blocks", "standard", "standard, strict"), rows)}

The strict constants hold whatever happens; they cost some power.
"""


SECTION: Final = Section("growth", growth_rates, _told)
