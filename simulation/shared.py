"""Systems that are equal over sessions, where sessions are fewer than they look.

Days that follow each other resemble each other; a host carries out two sessions; a host is lost
because of what it would have shown. What a session adds has a deviation of 3 %, as has the noise
of each of its seven blocks.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from simulation.sessions import BLOCK_SD, BLOCKS, at_end
from tiltyard.analysis.judging import by_session
from tiltyard.analysis.sessions import bounds_if_lost
from tiltyard.stats.permutation import lag_one, permutation_p
from tiltyard.stats.sequential import LEVEL
from tiltyard.stats.types import FloatArray

SD: Final = 0.03
_MORE: Final = 20
"""Times as many studies, where these cost little."""
CORRELATED: Final = (0.0, 0.3, 0.6, 0.9)
SESSIONS: Final = (6, 10, 20)
HOSTS: Final = 8
TWICE: Final = (0, 1, 2)
"""Of eight sessions, so many on a host that has carried out another one."""
LOST: Final = (0.5, 0.9)
"""Chance that a host on which one system is 2 % slower or more is lost, and another takes over."""
SLOWER: Final = -0.02


@dataclass(frozen=True)
class SharedRates:
    """Shares of studies of equal systems."""

    studies: int
    """Of each kind; twenty times as many where a host carries out two sessions."""
    followed: dict[tuple[float, int], tuple[float, float]]
    """Lag-1 autocorrelation and sessions → claims; studies in which it is named."""
    twice: dict[int, tuple[float, float]]
    """Hosts with two sessions → claims where each session counts; where each host does."""
    lost: dict[tuple[float, int], tuple[float, float]]
    """Chance of loss and hosts → claims; those that the bound beside them leaves."""


def shared_rates(paths: int, seed: int) -> SharedRates:
    """Every way in which sessions share something.

    Args:
        paths: studies of each kind.
        seed: the same seed gives the same rates.
    """
    rng = np.random.default_rng(seed)
    return SharedRates(
        studies=paths,
        followed={(r, k): _followed(rng, paths, r, k) for r in CORRELATED for k in SESSIONS},
        twice={count: _twice(rng, _MORE * paths, count) for count in TWICE},
        lost={(p, k): _lost(rng, paths, p, k) for p in LOST for k in SESSIONS[:2]},
    )


def _means(rng: np.random.Generator, effects: FloatArray) -> FloatArray:
    return np.asarray(effects + rng.normal(0, BLOCK_SD / np.sqrt(BLOCKS), effects.shape))


def _followed(
    rng: np.random.Generator, paths: int, correlated: float, sessions: int
) -> tuple[float, float]:
    days = rng.normal(0, 1, (paths, sessions))
    for day in range(1, sessions):
        days[:, day] *= np.sqrt(1 - correlated**2)
        days[:, day] += correlated * days[:, day - 1]
    means = _means(rng, SD * days)
    named = [permutation_p(lag_one, own, seed) <= LEVEL for seed, own in enumerate(means)]
    return float(at_end(means)[0].mean()), float(np.mean(named))


def _twice(rng: np.random.Generator, paths: int, twice: int) -> tuple[float, float]:
    units = np.arange(HOSTS)
    units[HOSTS - twice :] = units[:twice]
    effects = SD * rng.normal(0, 1, (paths, HOSTS))
    means = _means(rng, effects[:, units])
    hosts, _ = by_session(means, np.zeros(means.shape, dtype=np.bool_), units)
    return float(at_end(means)[0].mean()), float(at_end(hosts)[0].mean())


def _lost(rng: np.random.Generator, paths: int, chance: float, hosts: int) -> tuple[float, float]:
    claimed = left = 0
    for _ in range(paths):
        kept: list[float] = []
        lost = 0
        while len(kept) < hosts:
            (mean,) = _means(rng, SD * rng.normal(0, 1, 1))
            is_lost = mean < SLOWER and rng.random() < chance
            lost += is_lost
            kept += [] if is_lost else [float(mean)]
        means = np.array(kept)
        if not at_end(means[None, :])[0][0]:
            continue
        claimed += 1
        low, high = bounds_if_lost(means, lost, 1 - LEVEL)
        left += low > 0 or high < 0
    return claimed / paths, left / paths


def _simulate(paths: int, seed: int) -> SharedRates:
    return shared_rates(max(1, paths // 20), seed)


def _lines(found: SharedRates) -> tuple[Line, ...]:
    follow = [claims for (r, _), (claims, _) in found.followed.items() if r]
    named = [share for (r, k), (_, share) in found.followed.items() if r == max(CORRELATED)]
    hosts = [once for _, once in found.twice.values()]
    bound = [left for _, left in found.lost.values()]
    alone = [share for (r, _), (_, share) in found.followed.items() if not r]
    return (
        Line("hosts that carried out two sessions, counted once: a difference is claimed", "5.5 %",
             span(hosts)),
        Line("days that do not resemble each other are said to", "6 %", span(alone)),
        Line("days correlated by 0.9 are said to resemble each other", "–", span(named)),
        Line("days that resemble each other: a difference is claimed", "–", span(follow)),
        Line("hosts lost for what they would show: claims that the bound leaves", "–",
             span(bound)),
    )  # fmt: skip


def _told(found: SharedRates) -> str:
    followed = table(
        ("lag-1 autocorrelation of days",
         *(f"{k} sessions: {what}" for k in SESSIONS for what in ("claims", "named"))),
        [
            (f"{r:g}", *(percent(one) for k in SESSIONS for one in found.followed[r, k]))
            for r in CORRELATED
        ],
    )  # fmt: skip
    twice = table(
        (f"of {HOSTS} sessions on a host twice", "each session counts", "each host counts"),
        [(str(count), *map(percent, own)) for count, own in found.twice.items()],
    )
    lost = table(
        ("chance of loss", "hosts", "claims", "the bound leaves"),
        [(f"{p:g}", str(k), *map(percent, own)) for (p, k), own in found.lost.items()],
    )
    return f"""
## Sessions that share something

Systems that are equal over sessions, which add 3 % to their ratio, under a noise of 3 % of each of
seven blocks; {found.studies:,} studies of each kind. Share of studies that claim a difference, %,
and of those that name what is wrong:

{followed}

Days that resemble each other tell less than as many days that do not. A permutation of their lag-1
autocorrelation says so beside the verdict, but of few days it finds little: six correlated days
look like six others. What helps is time between sessions.

{twice}

Twenty times as many studies. A host that stood in for a lost one would be two of a kind; it counts
once. Sessions that lie in one boot, less than 8 h apart, count once in the same way; where that
leaves fewer than six, verdicts are said to hold for these few.

{lost}

Here a host on which one system is 2 % slower or more is lost by such a chance, and another one
takes over. Beside the verdict stands the interval that holds if each lost session had been as far
from no difference, either way, as the farthest of the others; the last column has the claims that
it leaves.
"""


SECTION: Final = Section("shared", _simulate, _told, _lines)
