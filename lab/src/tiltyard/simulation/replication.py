"""What is counted as a replicate, and in which order: where false claims come from.

Both tables are about equal systems and plain t-tests at 5 %, so that nothing but the level of
replication, or the order, differs from column to column.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.simulation.scenarios import SCENARIOS, Scenario
from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import moments, welch

WITHIN: Final = 0.01
"""Noise of one trial on one preparation."""
BETWEEN: Final = (0.0, 0.005, 0.01, 0.03)
"""Noise from preparation to preparation (a fresh format, a boot)."""
DISTURBED: Final = tuple(found for found in SCENARIOS if "normal" not in found.name)[:4]
"""The scenarios in which something happens to the host."""
LEVEL: Final = 0.05
POWER_OF: Final = 0.02
"""The difference whose power is told."""
_TRIALS: Final = 10
"""Of each system, in the table of orders."""


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


@dataclass(frozen=True)
class OrderRates:
    """Ten trials of each system under one disturbance, in five orders."""

    scenario: str
    one_after_other: float
    """A/A, all of A, then all of B, Welch."""
    alternating: float
    """A/A, ABAB…, paired t."""
    mirrored: float
    """A/A, ABBA…, paired t."""
    in_blocks: float
    """A/A, random order within blocks, paired t."""
    anywhere: float
    """A/A, fully random order, Welch."""
    power_in_blocks: float
    """2 %, random order within blocks."""
    power_anywhere: float
    """2 %, fully random order."""


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
        counted = [one.mean(axis=2) if average else one.reshape(paths, -1) for one in samples]
        return _welch_claims(counted[0], counted[1])

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


def order_rates(paths: int, seed: int) -> tuple[OrderRates, ...]:
    """False claims and power by the order of trials."""
    streams = np.random.SeedSequence(seed).spawn(len(DISTURBED))
    return tuple(
        _of_scenario(scenario, paths, np.random.default_rng(stream))
        for scenario, stream in zip(DISTURBED, streams, strict=True)
    )


def _of_scenario(scenario: Scenario, paths: int, rng: np.random.Generator) -> OrderRates:
    slots = scenario.draw(rng, paths)[:, : 2 * _TRIALS]
    early, late = slots[:, ::2], slots[:, 1::2]
    mirror = np.where(np.arange(_TRIALS) % 2 == 0, 1.0, -1.0)
    coin = rng.choice(np.array([-1.0, 1.0]), early.shape)
    anywhere = np.take_along_axis(slots, np.argsort(rng.random(slots.shape), axis=1), axis=1)
    effect = float(np.log1p(POWER_OF))
    return OrderRates(
        scenario=scenario.name,
        one_after_other=_welch_claims(slots[:, :_TRIALS], slots[:, _TRIALS:]),
        alternating=_paired_claims(late - early),
        mirrored=_paired_claims(mirror * (late - early)),
        in_blocks=_paired_claims(coin * (late - early)),
        anywhere=_welch_claims(anywhere[:, :_TRIALS], anywhere[:, _TRIALS:]),
        power_in_blocks=_paired_claims(coin * (late - early) + effect),
        power_anywhere=_welch_claims(anywhere[:, :_TRIALS], anywhere[:, _TRIALS:] + effect),
    )


def _welch_claims(first: FloatArray, second: FloatArray) -> float:
    """Share of rows in which the means differ at the level."""
    return float(np.mean(welch(moments(first), moments(second)).p < LEVEL))


def _paired_claims(differences: FloatArray) -> float:
    """Share of rows whose mean differs from zero at the level, by Student's t."""
    from scipy.stats import ttest_1samp

    return float(np.mean(ttest_1samp(differences, 0, axis=1).pvalue < LEVEL))
