"""Looking at the data more than once without paying for it in false claims.

At fixed numbers of blocks (the looks) the signed-rank interval is computed with constants so small
that all intervals together cover with 95 %: repeated confidence intervals. The interval printed at
the end then covers whatever the reason for stopping was, a budget or an impatient person included.

Constants: the two-sided levels of the looks are as equal as the discrete statistic allows, and the
joint error rate is at most 5 % (Monte Carlo, :mod:`tiltyard.stats.sequential_table`). The joint
rate assumes that the noise level does not move during the session; the *strict* constants need no
assumption, because the levels of their looks add up to less than 5 % (Bonferroni).

Sources: Jennison and Turnbull, "Repeated confidence intervals for group sequential clinical
trials", Controlled Clinical Trials 5 (1984); Pocock, Biometrika 64 (1977).
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np

from tiltyard.stats.signed_rank import largest_c, nominal_p, signed_rank
from tiltyard.stats.types import FloatArray

Looks = tuple[tuple[int, int], ...]

LEVEL: Final = 0.05
"""Two-sided error rate of one comparison over all its looks."""

FIXED: Final = "fixed"
"""The profile with one look, after a number of blocks that the study names."""

LOOKS: Final[dict[str, Looks]] = {
    "quick": ((7, 1), (10, 6)),
    "standard": ((7, 0), (10, 5), (14, 15), (20, 43)),
    "rigorous": ((7, 0), (10, 4), (14, 14), (20, 41), (30, 116)),
}
"""Profile → looks, each (blocks, Walsh averages cut off at either end)."""

STRICT_LOOKS: Final[dict[str, Looks]] = {
    "quick": ((7, 0), (10, 6)),
    "standard": ((7, 0), (10, 4), (14, 12), (20, 38)),
    "rigorous": ((7, 0), (10, 3), (14, 11), (20, 35), (30, 109)),
}
"""The same with levels that add up to at most 5 %."""


@dataclass(frozen=True)
class RepeatedInterval:
    """What a comparison rests on at its latest look; estimates in the unit of the differences."""

    blocks: int
    estimate: float
    low: float
    high: float
    p: float
    """Sequential p-value: valid whenever one stops, and never growing from look to look."""


@dataclass(frozen=True)
class SequentialTable:
    """Null distribution of the smallest p-value over all looks of one profile."""

    alpha: float
    """Joint error rate of the profile's constants."""
    minimum_p: FloatArray
    """Attainable values of the smallest p-value, ascending."""
    sequential_p: FloatArray
    """Probability under the null of a smallest p-value at most that."""


def looks(profile: str, strict: bool, blocks: int | None) -> Looks:
    """The looks of a profile: pairs of (blocks, Walsh averages cut off at either end).

    Args:
        profile: ``quick``, ``standard``, ``rigorous`` or ``fixed``.
        strict: use the constants that hold even if the noise level moves.
        blocks: number of blocks of the ``fixed`` profile, at least 6; ignored by the others.

    Raises:
        ValueError: if the profile is unknown, or the blocks cannot reach the level.
    """
    if profile == FIXED:
        if blocks is None:
            raise ValueError("the fixed profile needs a number of blocks")
        return ((blocks, largest_c(blocks, LEVEL)),)
    table = STRICT_LOOKS if strict else LOOKS
    if profile not in table:
        known = ", ".join((*table, FIXED))
        raise ValueError(f'"{profile}" is not a profile. One of: {known}')
    return table[profile]


def overall_alpha(profile: str, strict: bool, blocks: int | None) -> float:
    """Two-sided error rate of one comparison over all looks; for strict constants a bound."""
    levels = [nominal_p(n, c) for n, c in looks(profile, strict, blocks)]
    if strict or len(levels) == 1:
        return sum(levels)
    return table_of(profile).alpha


@cache
def table_of(profile: str) -> SequentialTable:
    """The stored table of a profile with more than one look."""
    text = files("tiltyard.stats").joinpath("sequential_table.json").read_text("utf-8")
    stored = json.loads(text)["profiles"][profile]
    return SequentialTable(
        alpha=stored["alpha"],
        minimum_p=np.array(stored["minimum_p"]),
        sequential_p=np.array(stored["sequential_p"]),
    )


def sequential_p(profile: str, smallest_p: float) -> float:
    """Probability under the null that any look of the profile gives a p-value this small.

    ``smallest_p`` is the smallest exact p-value at the looks so far. Because the distribution is
    that over *all* looks, the result is a valid p-value at whichever look one stops.
    """
    if profile == FIXED:
        return smallest_p
    table = table_of(profile)
    # Stored values are rounded in the last digits; an attained value must find its own entry.
    place = int(np.searchsorted(table.minimum_p, smallest_p * (1 + 1e-9), side="right")) - 1
    return float(table.sequential_p[place])


def repeated_interval(
    differences: FloatArray, profile: str, looks: Looks
) -> RepeatedInterval | None:
    """The interval at the latest look that the differences reach; ``None`` before the first.

    Args:
        differences: paired differences, one a block, shape (blocks,), in the order in which they
            were made. Those beyond the look wait for the next one.
        profile: names the table of sequential p-values.
        looks: as :func:`looks` gives them.
    """
    reached = [
        signed_rank(differences[:blocks], c) for blocks, c in looks if blocks <= len(differences)
    ]
    if not reached:
        return None
    latest = reached[-1]
    return RepeatedInterval(
        blocks=latest.n,
        estimate=latest.estimate,
        low=latest.low,
        high=latest.high,
        p=sequential_p(profile, min(look.p for look in reached)),
    )
