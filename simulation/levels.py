"""What is counted as a replicate: where false claims come from.

About equal systems and Welch's test at 5 %, so that nothing but the level of replication differs
from column to column.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Section, percent, table
from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import moments, welch

WITHIN: Final = 0.01
"""Noise of one trial on one preparation."""
BETWEEN: Final = (0.0, 0.005, 0.01, 0.03)
"""Noise from preparation to preparation (a fresh format, a boot)."""
LEVEL: Final = 0.05


@dataclass(frozen=True)
class LevelRates:
    """A/A: how often a difference is claimed, by what is counted."""

    between: float
    """Deviation between preparations."""
    one_preparation: float
    """Ten trials on one preparation of each system."""
    fresh: float
    """Ten preparations with one trial each."""
    pooled: float
    """Five preparations with six trials each, all thirty counted."""
    averaged: float
    """Five preparations with six trials each, five means counted."""


def level_rates(paths: int, seed: int) -> tuple[LevelRates, ...]:
    """False claims by what is counted as a replicate."""
    rng = np.random.default_rng(seed)

    def false(between: float, preparations: int, trials: int, average: bool) -> float:
        samples = [
            (
                rng.normal(0, between, (paths, preparations, 1))
                + rng.normal(0, WITHIN, (paths, preparations, trials))
            )
            for _ in range(2)
        ]
        counted = [
            sample.mean(axis=2) if average else sample.reshape(paths, -1) for sample in samples
        ]
        return welch_claims(counted[0], counted[1])

    return tuple(
        LevelRates(
            between=between,
            one_preparation=false(between, 1, 10, average=False),
            fresh=false(between, 10, 1, average=False),
            pooled=false(between, 5, 6, average=False),
            averaged=false(between, 5, 6, average=True),
        )
        for between in BETWEEN
    )


def welch_claims(first: FloatArray, second: FloatArray) -> float:
    """Share of rows in which the means differ at the level."""
    return float(np.mean(welch(moments(first), moments(second)).p < LEVEL))


def _told(found: tuple[LevelRates, ...]) -> str:
    head = ("deviation between preparations", "10 trials on one", "10 fresh, 1 trial each",
            "5 fresh × 6 trials, 30 counted", "5 fresh × 6 trials, 5 means counted")  # fmt: skip
    rows = [
        (
            f"{100 * one.between:g} %",
            percent(one.one_preparation),
            percent(one.fresh),
            percent(one.pooled),
            percent(one.averaged),
        )
        for one in found
    ]
    return f"""
## What counts as one value

Equal systems, t-tests at 5 %, trials with a noise of 1 %; a preparation (a fresh format, a boot)
has a deviation of its own. False claims, %:

{table(head, rows)}

Trials on one preparation are not replicates. That is why a block prepares every system anew.
"""


SECTION: Final = Section("levels", level_rates, _told)
