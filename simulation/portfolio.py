"""What a design costs and yields over a mix of cells such as a study has.

Half of the cells have a noise of 1 %, a third of 3 %, the rest of 10 %; four of ten compare systems
that are equal, three of ten differ by 10 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simulation.rates import Rates
from simulation.scenarios import SCENARIOS

NOISE: Final = {SCENARIOS[0].name: 0.50, SCENARIOS[1].name: 0.35, SCENARIOS[2].name: 0.15}
"""Scenario → share of cells."""
DIFFERENCE: Final = {0.0: 0.40, 0.02: 0.15, 0.05: 0.15, 0.10: 0.30}
"""True difference → share of cells."""


@dataclass(frozen=True)
class PortfolioRates:
    """One design over the whole mix."""

    design: str
    blocks: float
    """Trials of each system, on average over all cells."""
    false: float
    """Of cells with equal systems: a difference was claimed."""
    equivalent: float
    """Of cells with equal systems: equivalence was proved."""
    found: float
    """Of cells that differ: claimed with the right sign."""


def portfolio_rates(rates: Sequence[Rates]) -> tuple[PortfolioRates, ...]:
    """The mix, from the rates of its parts."""
    designs = dict.fromkeys(rate.design for rate in rates)
    return tuple(_mixed(design, [r for r in rates if r.design == design]) for design in designs)


def _mixed(design: str, rates: Sequence[Rates]) -> PortfolioRates:
    parts = [(NOISE[rate.scenario], rate) for rate in rates if rate.scenario in NOISE]
    differing = sum(share for effect, share in DIFFERENCE.items() if effect)
    return PortfolioRates(
        design=design,
        blocks=sum(
            weight * DIFFERENCE[0.0] * found.blocks
            + sum(weight * DIFFERENCE[at.effect] * at.blocks for at in found.at)
            for weight, found in parts
        ),
        false=sum(weight * found.false for weight, found in parts),
        equivalent=sum(weight * found.equivalent for weight, found in parts),
        found=sum(
            weight * DIFFERENCE[at.effect] * at.found for weight, found in parts for at in found.at
        )
        / differing,
    )
