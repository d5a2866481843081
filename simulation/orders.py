"""In which order trials are made: where false claims come from.

About equal systems and plain t-tests at 5 %, so that nothing but the order differs from column to
column.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.levels import LEVEL, welch_claims
from simulation.scenarios import SCENARIOS, Scenario
from simulation.section import Section, percent, table
from tiltyard.stats.types import FloatArray

DISTURBED: Final = tuple(found for found in SCENARIOS if "normal" not in found.name)[:4]
"""The scenarios in which something happens to the host."""
POWER_OF: Final = 0.02
"""The difference whose power is told."""
_TRIALS: Final = 10
"""Of each system."""


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
        one_after_other=welch_claims(slots[:, :_TRIALS], slots[:, _TRIALS:]),
        alternating=_paired_claims(late - early),
        mirrored=_paired_claims(mirror * (late - early)),
        in_blocks=_paired_claims(coin * (late - early)),
        anywhere=welch_claims(anywhere[:, :_TRIALS], anywhere[:, _TRIALS:]),
        power_in_blocks=_paired_claims(coin * (late - early) + effect),
        power_anywhere=welch_claims(anywhere[:, :_TRIALS], anywhere[:, _TRIALS:] + effect),
    )


def _paired_claims(differences: FloatArray) -> float:
    """Share of rows whose mean differs from zero at the level, by Student's t."""
    from scipy.stats import ttest_1samp

    return float(np.mean(ttest_1samp(differences, 0, axis=1).pvalue < LEVEL))


def _told(found: tuple[OrderRates, ...]) -> str:
    head = ("host", "AAA…BBB, Welch", "ABAB, paired", "ABBA, paired", "random in block, paired",
            "fully random, Welch", "2 % found in blocks", "2 % found fully random")  # fmt: skip
    rows = [
        (
            one.scenario,
            percent(one.one_after_other),
            percent(one.alternating),
            percent(one.mirrored),
            percent(one.in_blocks),
            percent(one.anywhere),
            percent(one.power_in_blocks, 0),
            percent(one.power_anywhere, 0),
        )
        for one in found
    ]
    return f"""
## In which order

Ten trials of each system; false claims, %, and in the last columns the share of true differences
found:

{table(head, rows)}

Random order in blocks is as powerful as it is safe: what the host does falls on both systems alike
and cancels within the block.
"""


SECTION: Final = Section("orders", order_rates, _told)
