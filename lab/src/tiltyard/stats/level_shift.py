"""Where a series steps from one level to another one, and by how much."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import welch_terms

_LEAST: Final = 3
"""Values in each piece, at least."""


@dataclass(frozen=True)
class LevelShift:
    """A step, in the unit of the values."""

    place: int
    """Place of the first value after it."""
    change: float
    """Mean after it less mean before it."""
    low: float
    high: float


def level_shift(values: FloatArray, alpha: float) -> LevelShift | None:
    """The largest step of a series of shape (n,); ``None`` where the search finds none.

    Candidates come from the optimal partition into constant pieces, at a cost of ``2 ln(n) s^2`` a
    step. The interval is Welch's, of level ``1 - alpha``; it takes the place as given.

    Sources: Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear
    computational cost" (PELT), J. Am. Stat. Assoc. 107 (2012); Welch, Biometrika 34 (1947).
    """
    from scipy.special import stdtrit

    n = len(values)
    # Neighbours differ by noise alone, but for the few at a step.
    sigma = float(np.median(np.abs(np.diff(values)))) / (0.6745 * np.sqrt(2))
    if sigma == 0:
        return None
    places = _steps(values, float(2 * np.log(n) * sigma**2))
    if not places:
        return None
    cusum = np.abs(np.cumsum(values - values.mean()))
    place = max(places, key=lambda found: float(cusum[found - 1]))
    before, after = values[:place], values[place:]
    sides = [
        (len(part), float(part.var() * (len(part) / (len(part) - 1)))) for part in (after, before)
    ]
    error, freedom = welch_terms(*sides[0], *sides[1])
    change = float(after.mean() - before.mean())
    tail = (1 - (1 - alpha)) / 2
    return LevelShift(
        place=place,
        change=change,
        low=float(stdtrit(freedom, tail)) * error + change,
        high=float(stdtrit(freedom, 1 - tail)) * error + change,
    )


def _steps(values: FloatArray, penalty: float) -> list[int]:
    """Places of the steps of the best partition, ascending.

    A piece costs its sum of squares about its mean, and the penalty. PELT: the last step before a
    place is looked for among those that have not been too expensive for it so far.
    """
    n = len(values)
    cost, before, candidates = {0: 0.0}, dict[int, int](), list[int]()
    for place in (*range(_LEAST, n), n):
        if place - _LEAST in cost:
            candidates.append(place - _LEAST)
        totals = [
            cost[start] + (float(values[start:place].var()) * (place - start) + penalty)
            for start in candidates
        ]
        cost[place] = min(totals)
        before[place] = candidates[totals.index(cost[place])]
        limit = cost[place] + penalty
        candidates = [
            start for start, total in zip(candidates, totals, strict=True) if total <= limit
        ]
    places, place = list[int](), before[n]
    while place:
        places.append(place)
        place = before[place]
    return places[::-1]
