"""Few hosts or studies where a kind is rare, and studies whose sessions follow each other.

Two systems are equal on average over all hosts, and on hosts of a rare kind they differ by much.
And one system that has not changed is measured in two studies, the sessions of each of which
resemble the one before.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from simulation.sessions import BLOCK_SD, BLOCKS, at_end
from tiltyard.analysis.estimators import follows
from tiltyard.stats.random_effects import LEVEL, RandomEffects, unmet
from tiltyard.stats.rank_sum import RankSum
from tiltyard.stats.types import FloatArray

SD: Final = 0.03
SHARES: Final = (0.2, 0.1)
"""Of the rare kind."""
UNITS: Final = (6, 8, 12, 20)
CORRELATED: Final = (0.0, 0.5, 0.9)
SESSIONS: Final = (5, 6, 10)
"""Of each study."""


@dataclass(frozen=True)
class RareRates:
    """Shares of studies of equal systems."""

    studies: int
    rare: dict[tuple[float, int], tuple[float, float, float]]
    """Share of the kind and units → it is not met; claims pooled; claims by signed ranks."""
    followed: dict[tuple[float, int], tuple[float, float, float]]
    """Autocorrelation and sessions → claims by ranks; refused a verdict; claims that are left."""


def rare_rates(paths: int, seed: int) -> RareRates:
    """Both.

    Args:
        paths: studies of each kind.
        seed: the same seed gives the same rates.
    """
    rng = np.random.default_rng(seed)
    return RareRates(
        studies=paths,
        rare={(share, k): _rare(rng, paths, share, k) for share in SHARES for k in UNITS},
        followed={(r, k): _followed(rng, paths, r, k) for r in CORRELATED for k in SESSIONS},
    )


def _rare(
    rng: np.random.Generator, paths: int, share: float, units: int
) -> tuple[float, float, float]:
    is_rare = rng.random((paths, units)) < share
    # Of mean zero and deviation SD.
    ends = SD * np.sqrt((1 - share) / share), -SD * np.sqrt(share / (1 - share))
    error = BLOCK_SD / np.sqrt(BLOCKS)
    means = np.where(is_rare, *ends) + rng.normal(0, error, is_rare.shape)
    variances = error**2 * rng.chisquare(BLOCKS - 1, means.shape) / (BLOCKS - 1)
    pooled = [RandomEffects(*own).p <= LEVEL for own in zip(means, variances, strict=True)]
    return (
        float((~is_rare.any(axis=1)).mean()),
        float(np.mean(pooled)),
        float(at_end(means)[0].mean()),
    )


def _followed(
    rng: np.random.Generator, paths: int, correlated: float, sessions: int
) -> tuple[float, float, float]:
    days: FloatArray = rng.normal(0, 1, (paths, 2, sessions))
    for day in range(1, sessions):
        days[..., day] *= np.sqrt(1 - correlated**2)
        days[..., day] += correlated * days[..., day - 1]
    means = SD * days + rng.normal(0, BLOCK_SD / np.sqrt(BLOCKS), days.shape)
    claimed = np.array([RankSum(*own).p <= LEVEL for own in means])
    refused = np.array([follows(*own) for own in means])
    return float(claimed.mean()), float(refused.mean()), float((claimed & ~refused).mean())


def _simulate(paths: int, seed: int) -> RareRates:
    return rare_rates(max(1, paths // 20), seed)


def _lines(found: RareRates) -> tuple[Line, ...]:
    lines = [
        Line(
            f"a kind that {100 * share:g} % of hosts are: six to twelve claim a difference",
            "–",
            span(
                one
                for (own, k), (_, *claims) in found.rare.items()
                if own == share and k <= UNITS[2]
                for one in claims
            ),
        )
        for share in SHARES
    ]
    alike = [refused for (r, _), (_, refused, _) in found.followed.items() if not r]
    left = [claims for (r, _), (*_, claims) in found.followed.items() if r]
    return (
        *lines,
        Line("two studies, days that do not resemble each other: refused a verdict", "12 %",
             span(alike)),
        Line("two studies, days that do: a difference is claimed all the same", "–", span(left)),
    )  # fmt: skip


def _told(found: RareRates) -> str:
    rare = table(
        ("of the rare kind", "number", "said beside the verdict", "none met", "pooled", "by ranks"),
        [
            (f"{100 * share:g} %", str(k), f"{100 * unmet(k):.0f} %", *map(percent, own))
            for (share, k), own in found.rare.items()
        ],
    )
    followed = table(
        ("lag-1 autocorrelation", "sessions each", "claims by ranks", "refused", "claims left"),
        [(f"{r:g}", str(k), *map(percent, own)) for (r, k), own in found.followed.items()],
    )
    few, many = (f"{100 * unmet(k):.0f} %" for k in (UNITS[0], UNITS[2]))
    return f"""
## Rare kinds, and sessions that follow each other

Systems that are equal on average over hosts or studies, with a deviation of 3 % between them, of
which a part is of another kind; {found.studies:,} studies of each kind. Share in which that kind is
not among them, and of claims of a difference, %:

{rare}

Where a kind was not met, nothing shows it, and what holds for all others is claimed. The claim is
true of the typical host, and not of the mean over all. So beside it stands which kinds may not have
been met: six miss one that is rarer than {few} in more than one draw of twenty, twelve one that is
rarer than {many}.

One system that has not changed, in two studies of several sessions each, which resemble the session
before in their own study; %:

{followed}

Before two studies are compared, their sessions are looked at: where a permutation of the lag-1
autocorrelation within both studies shows at 10 % that sessions follow each other, there is no
verdict. That refuses a tenth of comparisons for nothing, and of few sessions it finds too little.
Sessions of both studies by turns do not need it.
"""


SECTION: Final = Section("rare", _simulate, _told, _lines)
