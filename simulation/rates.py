"""Error rates, coverage, power and cost of every design in every scenario."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from simulation.designs import DESIGNS, Design, Outcome, outcome
from simulation.others import RULES, Rule
from simulation.scenarios import SCENARIOS, Scenario, paired
from tiltyard.stats.types import FloatArray

EFFECTS: Final = (0.02, 0.05, 0.10)
"""Differences whose power is told."""
EQUIVALENT_WITHIN: Final = 0.01
"""Half-width of the region of equivalence in these simulations."""


@dataclass(frozen=True)
class AtEffect:
    """What a design makes of a true difference; shares of all comparisons."""

    effect: float
    found: float
    """Claimed with the right sign."""
    wrong: float
    """Claimed with the wrong sign."""
    blocks: float
    """Trials of each system, on average."""


@dataclass(frozen=True)
class Rates:
    """One design in one scenario; shares of all comparisons."""

    scenario: str
    design: str
    false: float
    """A/A: a difference was claimed."""
    covered: float
    """A/A: the interval at stopping holds equality."""
    equivalent: float
    """A/A: equivalence was proved."""
    blocks: float
    """A/A: trials of each system, on average."""
    at: tuple[AtEffect, ...]

    @property
    def wrong(self) -> float:
        """The largest share of claims with the wrong sign."""
        return max(found.wrong for found in self.at)


def rates(
    paths: int,
    seed: int,
    scenarios: Sequence[Scenario] = SCENARIOS,
    designs: Sequence[Design] = DESIGNS,
    rules: Sequence[Rule] = RULES,
) -> tuple[Rates, ...]:
    """Others' rules, then our designs, scenario by scenario; all of one scenario on the same paths.

    Args:
        paths: comparisons simulated for each scenario.
        seed: the same seed gives the same rates; each scenario has a stream of its own.
        scenarios: kinds of noise.
        designs: ours.
        rules: those of others.
    """
    streams = np.random.SeedSequence(seed).spawn(len(scenarios))
    return tuple(
        found
        for scenario, stream in zip(scenarios, streams, strict=True)
        for found in _of_scenario(scenario, paths, stream, designs, rules)
    )


def _of_scenario(
    scenario: Scenario,
    paths: int,
    stream: np.random.SeedSequence,
    designs: Sequence[Design],
    rules: Sequence[Rule],
) -> Iterator[Rates]:
    rng = np.random.default_rng(stream)
    slots = scenario.draw(rng, paths)
    differences = paired(slots, rng)
    for rule in rules:
        yield _summed(scenario.name, rule.name, partial(rule.judge, slots))
    for design in designs:
        yield _summed(scenario.name, design.name, ended(design, differences))


def ended(design: Design, differences: FloatArray) -> Callable[[float], Outcome]:
    """How comparisons of one design end, by the true log ratio."""
    bounds = design.bounds(differences)
    rope = float(np.log1p(EQUIVALENT_WITHIN))
    return lambda effect: outcome(bounds, effect, rope)


def _summed(scenario: str, design: str, at: Callable[[float], Outcome]) -> Rates:
    equal = at(0.0)
    return Rates(
        scenario=scenario,
        design=design,
        false=float(np.mean(equal.claim != 0)),
        covered=float(np.mean(equal.covered)),
        equivalent=float(np.mean(equal.equivalent)),
        blocks=float(np.mean(equal.blocks)),
        at=tuple(_at_effect(effect, at(float(np.log1p(effect)))) for effect in EFFECTS),
    )


def _at_effect(effect: float, found: Outcome) -> AtEffect:
    return AtEffect(
        effect=effect,
        found=float(np.mean(found.claim == 1)),
        wrong=float(np.mean(found.claim == -1)),
        blocks=float(np.mean(found.blocks)),
    )
