"""The error rates of the rules as data, which a calibration quotes beside what it measures."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from simulation.comparisons import Comparisons
from simulation.designs import STANDARD
from simulation.document import Results
from simulation.rates import Rates
from tiltyard_calibrate.model import RuleRates, Simulated

_LOWEST: Final = 0.042
_HIGHEST: Final = 0.055
_EFFECT: Final = 0.05
"""The difference whose power is quoted."""


def quote(results: Results, judged: str = STANDARD.name) -> Simulated:
    """Our rules beside those that others use, over all scenarios of noise.

    Args:
        results: of which the section on comparisons is quoted.
        judged: the rule that A/A tests are judged by.
    """
    comparisons: Comparisons = results.found["comparisons"]
    rules = tuple(_of(name, comparisons.by(name)) for name in comparisons.designs)
    held = next(rule for rule in rules if rule.name == judged)
    known_to = float(2 * np.sqrt(0.05 * 0.95 / results.paths))
    return Simulated(
        paths=results.paths,
        seed=results.seed,
        scenarios=len(comparisons.by(judged)),
        rules=rules,
        known_to=known_to,
        passed=_LOWEST - known_to <= held.false_low and held.false_high <= _HIGHEST + known_to,
    )


def _of(name: str, hosts: Sequence[Rates]) -> RuleRates:
    power = [at.found for host in hosts for at in host.at if at.effect == _EFFECT]
    return RuleRates(
        name=name,
        false_low=min(host.false for host in hosts),
        false_high=max(host.false for host in hosts),
        covered_low=min(host.covered for host in hosts),
        covered_high=max(host.covered for host in hosts),
        power_low=min(power),
        power_high=max(power),
        blocks=max(host.blocks for host in hosts),
    )
