"""Whole studies of equal systems, judged by the function that judges real ones.

Twenty cells of six systems are 300 comparisons in one family (Benjamini–Hochberg), and the index
over the cells is a family of 15 (Holm). Trials of one system in one block share half of their
variance, as cells of one trial do.
"""

from dataclasses import dataclass
from math import comb
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent
from tiltyard.analysis.contrast import Judged
from tiltyard.analysis.findings import HEADLINE_LEVEL
from tiltyard.analysis.judging import judge
from tiltyard.analysis.quantity import Quantity
from tiltyard.plan.model import Design, Look
from tiltyard.stats.multiple import benjamini_hochberg, holm
from tiltyard.stats.sequential import looks, overall_alpha, profile_of_family
from tiltyard.stats.types import FloatArray

CELLS: Final = 20
SYSTEMS: Final = tuple("abcdef")
CV: Final = 0.03
SHARED: Final = 0.5
"""Of the variance, what is common to all cells of a trial."""
PROFILE: Final = profile_of_family("standard", False, comb(len(SYSTEMS), 2))
RATE: Final = 0.05
"""False discovery rate of the cells."""


@dataclass(frozen=True)
class StudyRates:
    """Studies without any effect; shares of all studies."""

    studies: int
    winner: float
    """The index names a winner: any of its comparisons claims a difference."""
    any_cell: float
    """Any comparison of any cell claims a difference."""


def study_rates(studies: int, seed: int) -> StudyRates:
    """How often studies of equal systems name a winner.

    Args:
        studies: how many are simulated.
        seed: the same seed gives the same rates.
    """
    rng = np.random.default_rng(seed)
    design = standard_design()
    winners = cells = 0
    for _ in range(studies):
        values = equal_cells(rng, design.looks[-1].blocks)
        index = quantity_of(values.mean(axis=0), CELLS)
        winners += claims(judge([index], SYSTEMS, design, holm, HEADLINE_LEVEL, together=True))
        grid = [quantity_of(value, 1) for value in values]
        cells += claims(judge(grid, SYSTEMS, design, benjamini_hochberg, RATE))
    return StudyRates(studies, winners / studies, cells / studies)


def standard_design() -> Design:
    """The rules of the standard profile for so many systems."""
    return Design(
        profile=PROFILE,
        strict=False,
        looks=tuple(Look(blocks=n, c=c) for n, c in looks(PROFILE, False, None)),
        alpha=overall_alpha(PROFILE, False, None),
        equivalent_within=0.02,
        false_discovery_rate=RATE,
    )


def equal_cells(rng: np.random.Generator, blocks: int) -> FloatArray:
    """Log values of all cells, shape (cells, blocks, systems)."""
    common = rng.normal(0, CV * np.sqrt(SHARED), (1, blocks, len(SYSTEMS)))
    own = rng.normal(0, CV * np.sqrt(1 - SHARED), (CELLS, blocks, len(SYSTEMS)))
    return np.asarray(common + own)


def quantity_of(log_values: FloatArray, cells: int) -> Quantity:
    """Measured in every block, on every system."""
    attempted = np.ones(log_values.shape, dtype=np.bool_)
    return Quantity("the work", "B/s", "higher", cells, log_values, attempted)


def claims(judged: tuple[Judged, ...]) -> bool:
    """Whether any comparison claims a difference."""
    return any(
        contrast.verdict in ("faster", "slower") for found in judged for contrast in found.contrasts
    )


def _simulate(paths: int, seed: int) -> StudyRates:
    """A study has hundreds of comparisons: there are fewer of them than of paths."""
    return study_rates(max(1, paths // 20), seed)


def _lines(found: StudyRates) -> list[Line]:
    return [
        Line("studies of equal systems that name a winner", "5 %", f"{percent(found.winner)} %")
    ]


def _told(found: StudyRates) -> str:
    return f"""
Whole studies of 20 cells × 6 equal systems, 300 comparisons and an index: of {found.studies}
studies {percent(found.winner)} % named a winner by the index (Holm), and {percent(found.any_cell)}
% claimed a difference in any cell (Benjamini–Hochberg). Allowed are 5 %.
"""


SECTION: Final = Section("studies", _simulate, _told, _lines)
