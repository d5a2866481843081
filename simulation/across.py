"""Studies against each other, and pooled: who claims a difference that is only one of sessions?

Two studies of one system that has not changed, each of one session or several; and studies of two
systems that are equal on average over studies, though not in each. What a
session or a study adds is normal, or of two kinds, as in :mod:`simulation.sessions`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from simulation.sessions import BLOCK_SD, LAWS, SESSION_SDS
from tiltyard.stats.looks import FEWEST
from tiltyard.stats.random_effects import LEVEL, RandomEffects
from tiltyard.stats.rank_sum import RankSum
from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import moments, welch

BLOCKS: Final = (7, 20)
"""Fewest and most in a session or a study."""
SESSIONS: Final = (4, 6)
"""Of each side."""
STUDIES: Final = (3, 4, 5, 6, 8, 12)


@dataclass(frozen=True)
class TwoStudies:
    """One system that has not changed, in two studies; shares that claim a difference."""

    law: str
    spread: float
    """Standard deviation of what a session adds."""
    by_welch: float
    """Of one session of 20 blocks each, by Welch's t over these blocks: within these sessions."""
    by_ranks: dict[int, float]
    """Sessions of each side → by the ranks of their means."""


@dataclass(frozen=True)
class PooledStudies:
    """Studies of systems that are equal on average."""

    law: str
    spread: float
    """Standard deviation of what a study adds."""
    covered: dict[int, float]
    """Studies → share of pooled intervals that hold the truth."""
    claimed: dict[int, float]
    """The same → share of verdicts of a difference."""
    predicted: dict[int, float]
    """Share of prediction intervals that hold the truth of another study."""


@dataclass(frozen=True)
class AcrossRates:
    """All of them."""

    two: tuple[TwoStudies, ...]
    pooled: tuple[PooledStudies, ...]


def across_rates(paths: int, seed: int, studies: Sequence[int] = STUDIES) -> AcrossRates:
    """Every law and size of what sessions add.

    Args:
        paths: comparisons of each kind.
        seed: the same seed gives the same rates.
        studies: numbers of studies that are pooled.
    """
    rng = np.random.default_rng(seed)
    kinds = [(law, spread) for law in LAWS for spread in SESSION_SDS if spread or law == "normal"]
    two = tuple(_two(rng, paths, *kind) for kind in kinds)
    return AcrossRates(two, tuple(_pooled(rng, paths, *kind, studies) for kind in kinds))


def _two(rng: np.random.Generator, paths: int, law: str, spread: float) -> TwoStudies:
    sides = [
        spread * LAWS[law](rng, (paths, 1)) + rng.normal(0, BLOCK_SD, (paths, BLOCKS[1]))
        for _ in range(2)
    ]
    by_welch = float((welch(moments(sides[0]), moments(sides[1])).p <= LEVEL).mean())
    return TwoStudies(
        law,
        spread,
        by_welch,
        {sessions: _by_ranks(rng, paths, law, spread, sessions) for sessions in SESSIONS},
    )


def _by_ranks(
    rng: np.random.Generator, paths: int, law: str, spread: float, sessions: int
) -> float:
    means = spread * LAWS[law](rng, (paths, 2 * sessions))
    means += rng.normal(0, BLOCK_SD / np.sqrt(BLOCKS[0]), means.shape)
    return sum(RankSum(row[:sessions], row[sessions:]).p <= LEVEL for row in means) / paths


def _pooled(
    rng: np.random.Generator, paths: int, law: str, spread: float, numbers: Sequence[int]
) -> PooledStudies:
    covered, claimed, predicted = {}, {}, {}
    for studies in numbers:
        found = [_draw(rng, spread * LAWS[law](rng, (1, studies))[0]) for _ in range(paths)]
        others = spread * LAWS[law](rng, (paths, 1))[:, 0]
        covered[studies] = sum(_holds(one.interval(), 0.0) for one in found) / paths
        claimed[studies] = sum(one.p <= LEVEL for one in found) / paths
        predicted[studies] = (
            sum(_holds(one.prediction(), other) for one, other in zip(found, others, strict=True))
            / paths
        )
    return PooledStudies(law, spread, covered, claimed, predicted)


def _draw(rng: np.random.Generator, effects: FloatArray) -> RandomEffects:
    """Studies of such true effects, as their blocks tell them."""
    blocks = rng.integers(BLOCKS[0], BLOCKS[1] + 1, len(effects))
    errors = rng.normal(0, BLOCK_SD / np.sqrt(blocks))
    variances = BLOCK_SD**2 * rng.chisquare(blocks - 1) / (blocks - 1) / blocks
    return RandomEffects(effects + errors, variances)


def _holds(ends: tuple[float, float] | None, truth: float) -> bool:
    return ends is not None and ends[0] <= truth <= ends[1]


def _simulate(paths: int, seed: int) -> AcrossRates:
    """Each study is computed by itself: there are fewer of them than of paths."""
    return across_rates(max(1, paths // 10), seed)


def _told(found: AcrossRates) -> str:
    two = [
        (
            one.law if one.spread else "nothing",
            f"{100 * one.spread:g}",
            percent(one.by_welch),
            *(percent(share) for share in one.by_ranks.values()),
        )
        for one in found.two
    ]
    pooled = [
        (
            f"{one.law if one.spread else 'nothing'}, {what}",
            f"{100 * one.spread:g}",
            *(percent(share) for share in shares.values()),
        )
        for one in found.pooled
        for what, shares in (
            ("interval holds", one.covered),
            ("another study holds", one.predicted),
            ("claimed", one.claimed),
        )
    ]
    heads = (
        ("what a session adds", "deviation, %", "Welch, one session each",
         *(f"ranks, {sessions} sessions each" for sessions in SESSIONS)),
        ("what a study adds", "deviation, %", *(f"{studies} studies" for studies in STUDIES)),
    )  # fmt: skip
    worst = max(one.by_welch for one in found.two)
    kinds = [one for one in found.pooled if one.law != "normal"]
    predicted = min(share for one in found.pooled for share in one.predicted.values())
    few = [1 - min(one.covered[studies] for one in kinds) for studies in STUDIES[:2]]
    return f"""
## Studies against studies

One system that has not changed, measured in two studies that did not take turns; the noise of a
block is 3 %, a tenth as many comparisons of each kind. Share that claims a difference, %:

{table(heads[0], two)}

Twenty blocks of one session each, compared as two heaps, tell the sessions apart and not the
system: up to {percent(worst)} % of false claims. So there is no verdict from one session of each
study, and that interval is named after these sessions. Ranks of sessions' means hold what they say.

Pooled: studies of 7 to 20 blocks each, of two systems that are equal on average over studies.
Shares of pooled intervals that hold that, of prediction intervals that hold the true ratio of
another study, and of verdicts of a difference, %:

{table(heads[1], pooled)}

With normal studies the interval of Hartung and Knapp holds what it says for any number of them.
Where studies are of two kinds it misses in {percent(few[0])} % of comparisons over three, in
{percent(few[1])} % over four: all of them are of one kind then, and no spread shows. Nothing is
claimed at a level below the chance of that, so fewer than six studies decide nothing. Where studies
spread by less than their own errors, prediction intervals are somewhat narrow: the least that any
of them holds is {percent(predicted)} %.
"""


def _lines(found: AcrossRates) -> tuple[Line, ...]:
    ranks = [share for one in found.two for share in one.by_ranks.values()]
    claims = [share for one in found.pooled for share in one.claimed.values()]
    normal = [
        share for one in found.pooled if one.law == "normal" for share in one.covered.values()
    ]
    enough = [
        share for one in found.pooled for studies, share in one.covered.items() if studies >= FEWEST
    ]
    return (
        Line("two studies of one system, by sessions: a difference is claimed", "5 %", span(ranks)),
        Line(
            "pooled studies, normal or half of either kind: a difference is claimed",
            "7.5 %",
            span(claims),
        ),
        Line("pooled normal studies: intervals that hold the truth", "93.5 %", span(normal)),
        Line("six such studies or more: intervals that hold the truth", "92.5 %", span(enough)),
    )


SECTION: Final = Section("across", _simulate, _told, _lines)
