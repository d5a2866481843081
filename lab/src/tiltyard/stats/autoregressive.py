"""Is a step or a drift more than noise that lasts from one value to the next?

Permutations take all orders of the values for equally likely. Where noise wanders, none of them is:
a stationary series has levels and slopes that look made. So a step, or a line, must also describe
the series better than an autoregression does (AR(1): each value a share ρ of the one before, and
noise), by more than it would by chance in series of such an autoregression, whatever ρ is.

Source: Davies, "Hypothesis testing when a nuisance parameter is present only under the
alternative", Biometrika 64 (1977), for simulating the law of such a ratio; the p-value is the
largest over ρ, which is not known.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from tiltyard.stats.types import FloatArray

CORRELATIONS: Final = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
"""The ρ that are tried; of a ρ nearer to 1 so short a series is a walk and has no level."""
SERIES: Final = 4_000
"""Series simulated of each."""
_AT_ONCE: Final = 2_000_000
"""Values in memory: of long series a few at a time."""
_LEAST: Final = 3
"""Values on either side of a step, at least."""


def step_p(values: FloatArray) -> float:
    """Chance that an autoregression looks as much like two levels as a series of shape (n,) does.

    Args:
        values: in their order, at least twelve of them.
    """
    return _p(_against_steps, values)


def line_p(values: FloatArray) -> float:
    """The same of a line along the order."""
    return _p(_against_lines, values)


def sizes_p(sizes: FloatArray) -> float:
    """Chance that in an autoregression the distances from the median look as much like a line.

    Args:
        sizes: distances from what is typical, none negative, in their order, shape (n,).
    """
    return _p(_against_lines, sizes, _of_sizes)


def _p(
    statistic: Callable[[FloatArray], FloatArray],
    values: FloatArray,
    of_series: Callable[[FloatArray], FloatArray] | None = None,
) -> float:
    """``of_series``: the statistic of series, where ``values`` are made of one; else the same."""
    observed = float(statistic(values[np.newaxis])[0])
    at_random = _at_random(of_series or statistic, len(values))
    shares = (at_random >= observed * (1 - 1e-9)).mean(axis=1)
    return float(max(shares.max(), 1 / SERIES))


@cache
def _at_random(statistic: Callable[[FloatArray], FloatArray], n: int) -> FloatArray:
    """Its values in normal autoregressions, shape (correlations, series); of any mean and size."""
    rng = np.random.default_rng(n)
    found = np.empty((len(CORRELATIONS), SERIES))
    step = max(1, _AT_ONCE // n)
    for row, rho in enumerate(CORRELATIONS):
        for first in range(0, SERIES, step):
            own = found[row, first : first + step]
            series = rng.normal(size=(len(own), n))
            series[:, 1:] *= np.sqrt(1 - rho**2)
            for place in range(1, n):
                series[:, place] += rho * series[:, place - 1]
            own[:] = statistic(series)
    return found


def _against_steps(series: FloatArray) -> FloatArray:
    """What an autoregression leaves unexplained over what the best two levels leave, shape (m,)."""
    n = series.shape[1]
    sums = np.cumsum(series, axis=1)[:, _LEAST - 1 : n - _LEAST]
    before = np.arange(_LEAST, n - _LEAST + 1)
    totals = series.sum(axis=1, keepdims=True)
    explained = sums**2 / before + (totals - sums) ** 2 / (n - before)
    left = np.square(series).sum(axis=1) - explained.max(axis=1)
    return _over(_left_by_autoregression(series), left)


def _against_lines(series: FloatArray) -> FloatArray:
    """The same of the best line."""
    places = np.arange(series.shape[1]) - (series.shape[1] - 1) / 2
    places /= np.linalg.norm(places)
    centred = series - series.mean(axis=1, keepdims=True)
    left = np.square(centred).sum(axis=1) - (centred @ places) ** 2
    return _over(_left_by_autoregression(series), left)


def _of_sizes(series: FloatArray) -> FloatArray:
    """That of the sizes of distances from the median of each series."""
    return _against_lines(np.abs(series - np.median(series, axis=1, keepdims=True)))


def _left_by_autoregression(series: FloatArray) -> FloatArray:
    """Sum of squares about what the value before lets expect, shape (m,)."""
    centred = series - series.mean(axis=1, keepdims=True)
    before, after = centred[:, :-1], centred[:, 1:]
    power, product = np.square(before).sum(axis=1), (before * after).sum(axis=1)
    explained = np.divide(product**2, power, out=np.zeros_like(power), where=power > 0)
    return np.asarray(np.square(after).sum(axis=1) - explained)


def _over(above: FloatArray, below: FloatArray) -> FloatArray:
    """Their ratio; beyond all others where nothing is left below."""
    return np.divide(above, below, out=np.full_like(above, np.inf), where=below > 0)
