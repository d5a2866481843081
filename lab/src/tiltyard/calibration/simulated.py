"""Error rates of the rules, simulated anew: what the live figures are to be held against (C3)."""

import math
from collections.abc import Sequence
from typing import Final

from tiltyard.calibration.model import RuleRates, Simulated
from tiltyard.simulation.rates import Rates, rates

QUICK_PATHS: Final = 2_000
"""Comparisons of each kind in some ten seconds."""
FULL_PATHS: Final = 20_000
"""In a minute or two; what the acceptance table asks for."""
SEED: Final = 20_261_120
_JUDGED: Final = "standard"
"""The rules that A/A above was judged by."""
_LOWEST: Final = 0.042
_HIGHEST: Final = 0.055
_EFFECT: Final = 0.05
"""The difference whose power is told."""


def simulated(paths: int) -> Simulated:
    """Our rules beside those that others use, over all scenarios of noise.

    Args:
        paths: Comparisons of each kind; the same number gives the same rates.
    """
    found = rates(paths, SEED)
    designs = tuple(dict.fromkeys(one.design for one in found))
    rules = tuple(_of(name, [one for one in found if one.design == name]) for name in designs)
    own = next(rule for rule in rules if rule.name == _JUDGED)
    known_to = 2 * math.sqrt(0.05 * 0.95 / paths)
    return Simulated(
        paths=paths,
        seed=SEED,
        scenarios=len(found) // len(designs),
        rules=rules,
        known_to=known_to,
        passed=_LOWEST - known_to <= own.false_low and own.false_high <= _HIGHEST + known_to,
    )


def _of(name: str, found: Sequence[Rates]) -> RuleRates:
    """One rule, over all scenarios."""
    power = [at.found for one in found for at in one.at if at.effect == _EFFECT]
    return RuleRates(
        name=name,
        false_low=min(one.false for one in found),
        false_high=max(one.false for one in found),
        covered_low=min(one.covered for one in found),
        covered_high=max(one.covered for one in found),
        power_low=min(power),
        power_high=max(power),
        blocks=max(one.blocks for one in found),
    )
