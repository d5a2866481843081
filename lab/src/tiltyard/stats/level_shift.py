"""Where a series steps from one level to another one, and by how much."""

from dataclasses import dataclass

import numpy as np

from tiltyard.stats.types import FloatArray


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
    from ruptures import Pelt
    from scipy.stats import ttest_ind

    n = len(values)
    # Neighbours differ by noise alone, but for the few at a step.
    sigma = float(np.median(np.abs(np.diff(values)))) / (0.6745 * np.sqrt(2))
    if sigma == 0:
        return None
    search = Pelt(model="l2", min_size=3, jump=1).fit(values.reshape(-1, 1))
    places = search.predict(pen=2 * np.log(n) * sigma**2)[:-1]
    if not places:
        return None
    cusum = np.abs(np.cumsum(values - values.mean()))
    place = max(places, key=lambda found: float(cusum[found - 1]))
    before, after = values[:place], values[place:]
    interval = ttest_ind(after, before, equal_var=False).confidence_interval(1 - alpha)
    return LevelShift(
        place=int(place),
        change=float(after.mean() - before.mean()),
        low=float(interval.low),
        high=float(interval.high),
    )
