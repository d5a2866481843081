"""Families of headlines: what their looks claim of equal systems, and what they find.

Of equal systems Holm's procedure claims something exactly when one of the intervals that hold
together excludes zero. So one figure, at each look, is both the share of families with a false
claim so far and that of families in which an interval that was printed misses.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np

from simulation.scenarios import SCENARIOS, Scenario
from simulation.section import Line, Section, percent, span, table
from tiltyard.stats.looks import LEVEL, LOOKS, TABULATED
from tiltyard.stats.sequential import Spending, profile_of_family
from tiltyard.stats.types import BoolArray, FloatArray

PROFILE: Final = "standard"
SYSTEMS: Final = (3, 4, 6)
SIZES: Final = (1, 2, 3, 6, 12, 15, 24, 45)
"""Comparisons of the families whose power is shown."""
LIKELY: Final = (0.10, 0.10)
CLEAR: Final = (0.20, 0.02)
"""True difference and noise of a trial, once hard to see and once plain."""


@dataclass(frozen=True)
class HeadlineRates:
    """Families of equal systems, all pairs of one workload; shares of families."""

    scenario: str
    systems: int
    families: int
    missed: dict[int, float]
    """By the blocks of each look: those in which any interval so far missed."""


@dataclass(frozen=True)
class PowerRates:
    """One comparison of a family, on normal noise; before: by the looks of a single one."""

    comparisons: int
    looks: tuple[int, ...]
    alone_before: float
    alone: float
    """Found, of the hard difference, if it is the only one."""
    last_before: float
    last: float
    """Found, of the same, if all the others have been found."""
    blocks_before: float
    blocks: float
    """Until the plain difference is found, if it is the only one; blocks."""


def headline_rates(families: int, seed: int) -> tuple[HeadlineRates, ...]:
    """Equal systems on every host.

    Args:
        families: how many of each kind are simulated.
        seed: the same seed gives the same rates.
    """
    streams = np.random.SeedSequence(seed).spawn(len(SCENARIOS) * len(SYSTEMS))
    kinds = [(scenario, systems) for systems in SYSTEMS for scenario in SCENARIOS]
    return tuple(
        _of_equal(scenario, systems, families, np.random.default_rng(stream))
        for (scenario, systems), stream in zip(kinds, streams, strict=True)
    )


def power_rates(paths: int, seed: int) -> tuple[PowerRates, ...]:
    """What each size of family finds, by its own looks and by those of a single comparison.

    Args:
        paths: comparisons of each kind.
        seed: the same seed gives the same rates.
    """
    rng = np.random.default_rng(seed)
    blocks = LOOKS[PROFILE][-1][0]
    hard, plain = (
        np.log1p(effect) + rng.normal(0, np.sqrt(2) * noise, (paths, blocks))
        for effect, noise in (LIKELY, CLEAR)
    )
    single = spending_of(1)
    return tuple(_power(size, single, hard, plain) for size in SIZES)


def spending_of(comparisons: int) -> Spending:
    """How a family of that size spends its error rate."""
    name = profile_of_family(PROFILE, False, comparisons)
    return Spending(name, False, TABULATED[name])


def differences_of(
    scenario: Scenario, systems: int, families: int, rng: np.random.Generator
) -> FloatArray:
    """Paired differences of equal systems in random order, shape (families, pairs, blocks)."""
    blocks = LOOKS[PROFILE][-1][0]
    slots = scenario.draw(rng, families, blocks * systems)
    values = rng.permuted(slots.reshape(families, blocks, systems), axis=2)
    pairs = [
        values[:, :, late] - values[:, :, early] for early, late in combinations(range(systems), 2)
    ]
    return np.stack(pairs, axis=1)


def excluded(spending: Spending, differences: FloatArray, level: float) -> BoolArray:
    """Whether the interval of each look excludes zero, shape (comparisons, looks)."""
    found = np.zeros((len(differences), len(spending.looks)), dtype=np.bool_)
    for place, (blocks, _) in enumerate(spending.looks):
        if spending.has_interval(place, level):
            evidence = spending.evidence(place, differences[:, :blocks], level)
            found[:, place] = (evidence.low > 0) | (evidence.high < 0)
    return found


def _of_equal(
    scenario: Scenario, systems: int, families: int, rng: np.random.Generator
) -> HeadlineRates:
    pairs = comb(systems, 2)
    spending = spending_of(pairs)
    rows = differences_of(scenario, systems, families, rng).reshape(families * pairs, -1)
    missed = excluded(spending, rows, LEVEL / pairs).reshape(families, pairs, -1).any(axis=1)
    so_far = np.logical_or.accumulate(missed, axis=1).mean(axis=0)
    at = {blocks: float(share) for (blocks, _), share in zip(spending.looks, so_far, strict=True)}
    return HeadlineRates(scenario.name, systems, families, at)


def _power(size: int, single: Spending, hard: FloatArray, plain: FloatArray) -> PowerRates:
    own = spending_of(size)

    def found(spending: Spending, level: float) -> float:
        return float(excluded(spending, hard, level).any(axis=1).mean())

    return PowerRates(
        comparisons=size,
        looks=tuple(blocks for blocks, _ in own.looks),
        alone_before=found(single, LEVEL / size),
        alone=found(own, LEVEL / size),
        last_before=found(single, LEVEL),
        last=found(own, LEVEL),
        blocks_before=_blocks(single, plain, LEVEL / size),
        blocks=_blocks(own, plain, LEVEL / size),
    )


def _blocks(spending: Spending, differences: FloatArray, level: float) -> float:
    """Mean number until the claim, or until the last look."""
    found = excluded(spending, differences, level)
    found[:, -1] = True
    needed = np.array([blocks for blocks, _ in spending.looks])
    return float(needed[found.argmax(axis=1)].mean())


@dataclass(frozen=True)
class Headlines:
    """What is claimed of equal systems, and what is found of different ones."""

    equal: tuple[HeadlineRates, ...]
    powers: tuple[PowerRates, ...]


def _simulate(paths: int, seed: int) -> Headlines:
    return Headlines(headline_rates(paths, seed), power_rates(paths, seed))


def _told(found: Headlines) -> str:
    return f"""
## Headlines at each look

One workload, all pairs of equal systems, {found.equal[0].families} families of each kind: those in
which an interval that was printed by then misses, %. Of equal systems it is also a false positive.

{_equal_table(found.equal)}

The looks depend on the number of headlines, frozen in the plan. A family cannot use an early look:
with n blocks the smallest p-value is 2 in 2ⁿ, and Holm's procedure begins at 5 % over the number of
comparisons. So a family looks first where differences that all point the same way can be claimed
beside all the others. One comparison of a family, standard profile; 20 % apart under a noise of
2 %, 10 % under a noise of 10 %; "alone": no other comparison differs; "the last one open": all
others are found already.

{_power_table(found.powers)}

Seven blocks cannot serve a family: the widest intervals that seven differences give by ranks miss
in 1.6 % each, three of them in 4.7 %, and nothing is left for later looks.
"""


def _equal_table(rates: tuple[HeadlineRates, ...]) -> str:
    """Hosts down; looks of each number of systems across."""
    kinds = dict.fromkeys((rate.systems, *rate.missed) for rate in rates)
    head = ("host", *(f"{systems} systems, {n} blocks" for systems, *at in kinds for n in at))
    shares = {(rate.scenario, rate.systems): rate.missed for rate in rates}
    rows = [
        (host, *(percent(shares[host, systems][n]) for systems, *at in kinds for n in at))
        for host in dict.fromkeys(rate.scenario for rate in rates)
    ]
    return table(head, rows)


def _power_table(powers: tuple[PowerRates, ...]) -> str:
    head = ("comparisons", "looks", "20 % apart: blocks", "by the looks of one",
            "10 % apart, alone: found, %", "by the looks of one",
            "10 % apart, the last one open: found, %", "by the looks of one")  # fmt: skip
    rows = [
        (
            f"{power.comparisons}",
            ", ".join(map(str, power.looks)),
            f"{power.blocks:.1f}",
            f"{power.blocks_before:.1f}",
            percent(power.alone, 0),
            percent(power.alone_before, 0),
            percent(power.last, 0),
            percent(power.last_before, 0),
        )
        for power in powers
    ]
    return table(head, rows)


def _lines(found: Headlines) -> tuple[Line, ...]:
    worst = [max(one.missed.values()) for one in found.equal]
    what = "families of headlines of equal systems with a false claim, at any look"
    return (Line(what, "5 %", span(worst)),)


SECTION: Final = Section("headlines", _simulate, _told, _lines)
