"""When has a trial warmed up, and does it ever settle? Both from its series of time slices.

How much to cut off is decided once, in a pilot, and frozen: a cut that is chosen trial by trial,
or a measurement that goes on until it looks steady, stops on the very value it measures. Trials of
the study are only checked.

Sources: White, "An effective truncation heuristic for bias reduction in simulation output",
Simulation 69 (1997), batches of five: Spratt, M.S. thesis, Univ. of Virginia (1998);
SNIA, "Solid State Storage Performance Test Specification", steady state.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tiltyard.stats.types import FloatArray
from tiltyard.stats.welch import welch_terms

BATCH: Final = 5
"""Slices in one batch of MSER-5."""
LEAST_SLICES: Final = 4 * BATCH
"""A shorter series has no half to search a warm-up in."""
WINDOWS: Final = 6
"""Parts of the second half that are held against each other."""
RANGE: Final = 0.20
"""Largest difference between two of them, as a share of their mean."""
SLOPE: Final = 0.10
"""Largest excursion of the line through them, as a share of their mean."""
HALVES_LEVEL: Final = 0.01
"""Level of the test of the two halves of the second half against each other."""
MEANS_S: Final = 5.0
"""It is made on means over so many seconds, which are nearly independent of each other."""


@dataclass(frozen=True)
class SteadyState:
    """What the second half of a series looks like."""

    spread: float
    """Largest less smallest of six windows, as a share of their mean."""
    excursion: float
    """How far the line through them rises or falls, as a share of their mean, unsigned."""
    p: float | None
    """Welch's t of its two halves; ``None`` where they have less than two 5 s means each, or no
    noise at all."""

    @property
    def steady(self) -> bool:
        """No criterion is broken."""
        moved = self.p is not None and self.p < HALVES_LEVEL
        return not (self.spread > RANGE or self.excursion > SLOPE or moved)


def mser5(series: FloatArray) -> int:
    """How many leading slices to leave out: MSER-5.

    The cut that makes the squared standard error of the rest smallest, over means of five slices;
    it is searched for in the first half only, where the rest is still long enough to tell.
    Source: White, Simulation 69 (1997).

    Args:
        series: values of equally long slices, shape (n,).

    Raises:
        ValueError: if there are fewer than 20.
    """
    if len(series) < LEAST_SLICES:
        raise ValueError(f"{len(series)} slices are too few: {LEAST_SLICES} are needed")
    batches = series[: len(series) // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)
    cuts = range(len(batches) // 2 + 1)
    errors = [float(np.var(batches[cut:])) / (len(batches) - cut) for cut in cuts]
    return BATCH * int(np.argmin(errors))


def steady_state(series: FloatArray, slice_s: float) -> SteadyState:
    """The second half of a series, held against the criteria of steady state.

    Source: SNIA, "Solid State Storage Performance Test Specification" (range and slope); Welch,
    Biometrika 34 (1947).

    Args:
        series: positive values of equally long slices, shape (n,).
        slice_s: their length.

    Raises:
        ValueError: if there are fewer than 20.
    """
    if len(series) < LEAST_SLICES:
        raise ValueError(f"{len(series)} slices are too few: {LEAST_SLICES} are needed")
    half = series[len(series) // 2 :]
    windows = np.array([part.mean() for part in np.array_split(half, WINDOWS)])
    slope = np.polyfit(np.arange(WINDOWS), windows, 1)[0]
    return SteadyState(
        spread=float(np.ptp(windows) / windows.mean()),
        excursion=float(abs(slope) * WINDOWS / windows.mean()),
        p=_halves_p(half, max(1, round(MEANS_S / slice_s))),
    )


def _halves_p(half: FloatArray, each: int) -> float | None:
    """Welch's t between the halves of a series, on means over ``each`` slices."""
    means = half[: len(half) // each * each].reshape(-1, each).mean(axis=1)
    first, second = means[: len(means) // 2], means[(len(means) + 1) // 2 :]
    if len(first) < 2 or np.ptp(first) == np.ptp(second) == 0:
        return None
    from scipy.special import stdtr

    parts = [(len(part), float(np.square(part.std(ddof=1)))) for part in (first, second)]
    error, freedom = welch_terms(*parts[0], *parts[1])
    return float(2 * stdtr(freedom, -abs(float(first.mean() - second.mean()) / error)))
