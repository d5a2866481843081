"""Everything that is simulated, in one call."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.simulation.adjusting import AdjustedRates, adjusted_rates
from tiltyard.simulation.families import FamilyRates, family_rates
from tiltyard.simulation.growth import GrowthRates, growth_rates
from tiltyard.simulation.imports import RoundedRates, SharedRates, rounded_rates, shared_rates
from tiltyard.simulation.laws import LawRates, law_rates
from tiltyard.simulation.portfolio import PortfolioRates, portfolio_rates
from tiltyard.simulation.rates import Rates, rates
from tiltyard.simulation.replication import LevelRates, OrderRates, level_rates, order_rates
from tiltyard.simulation.studies import StudyRates, study_rates

PATHS: Final = 20_000
"""Comparisons of each kind in the full form: a minute or two."""
QUICK_PATHS: Final = 2_000
"""In the quick form: some ten seconds."""
SEED: Final = 20_261_120
_PATHS_A_FAMILY: Final = 50
"""A family has many comparisons, and a study hundreds: there are fewer of them than of paths."""
_PATHS_A_STUDY: Final = 20
_PATHS_AN_IMPORT: Final = 10
_PATHS_A_ROUNDED_REPORT: Final = 200


@dataclass(frozen=True)
class Range:
    """The smallest and the largest of some shares."""

    low: float
    high: float


@dataclass(frozen=True)
class Results:
    """What was simulated and what came out; all rates are shares between 0 and 1."""

    paths: int
    seed: int
    rates: tuple[Rates, ...]
    """Scenario by scenario: others' rules, then our designs."""
    portfolio: tuple[PortfolioRates, ...]
    growth: tuple[GrowthRates, ...]
    laws: tuple[LawRates, ...]
    levels: tuple[LevelRates, ...]
    orders: tuple[OrderRates, ...]
    families: tuple[FamilyRates, ...]
    studies: StudyRates
    imports: tuple[SharedRates, ...]
    rounded: tuple[RoundedRates, ...]
    adjusted: tuple[AdjustedRates, ...]

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Names in the order of the tables."""
        return tuple(dict.fromkeys(found.scenario for found in self.rates))

    @property
    def designs(self) -> tuple[str, ...]:
        """Names in the order of the tables: others' rules first."""
        return tuple(dict.fromkeys(found.design for found in self.rates))

    def of(self, scenario: str, design: str) -> Rates:
        """The rates of one design in one scenario."""
        return next(r for r in self.rates if (r.scenario, r.design) == (scenario, design))

    def false_of(self, design: str) -> Range:
        """A/A false claims of a design over all scenarios."""
        return _range([found.false for found in self.rates if found.design == design])

    def covered_of(self, design: str) -> Range:
        """Coverage at stopping, A/A, of a design over all scenarios."""
        return _range([found.covered for found in self.rates if found.design == design])

    @property
    def reports(self) -> int:
        """Imports of each kind."""
        return max(1, self.paths // _PATHS_AN_IMPORT)

    @property
    def rounded_reports(self) -> int:
        """Imports of whole numbers of each kind."""
        return max(1, self.paths // _PATHS_A_ROUNDED_REPORT)

    @property
    def imported(self) -> Range:
        """False winners of imported headlines from values, from means and from pairs."""
        return _range(
            [
                share
                for found in self.imports
                for share in (*found.values.values(), *found.summarised.values(), found.paired)
            ]
        )

    @property
    def error(self) -> float:
        """Two standard errors of a share near 5 %."""
        return float(2 * np.sqrt(0.05 * 0.95 / self.paths))


def simulate(paths: int = PATHS, seed: int = SEED) -> Results:
    """Error rates of our designs and of the rules of others; the same seed gives the same results.

    Args:
        paths: comparisons of each kind; :data:`QUICK_PATHS` for a first impression.
        seed: of every part; each has a stream of its own.
    """
    own = [int(stream.generate_state(1)[0]) for stream in np.random.SeedSequence(seed).spawn(10)]
    found = rates(paths, own[0])
    return Results(
        paths=paths,
        seed=seed,
        rates=found,
        portfolio=portfolio_rates(found),
        growth=growth_rates(paths, own[1]),
        laws=law_rates(paths, own[6]),
        levels=level_rates(paths, own[2]),
        orders=order_rates(paths, own[3]),
        families=family_rates(max(1, paths // _PATHS_A_FAMILY), own[4]),
        studies=study_rates(max(1, paths // _PATHS_A_STUDY), own[5]),
        imports=shared_rates(max(1, paths // _PATHS_AN_IMPORT), own[7]),
        rounded=rounded_rates(max(1, paths // _PATHS_A_ROUNDED_REPORT), own[8]),
        adjusted=adjusted_rates(paths, own[9]),
    )


def _range(shares: list[float]) -> Range:
    return Range(min(shares), max(shares))
