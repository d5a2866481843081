"""Is there something in the order of values? Permutations tell, whatever the noise is.

If the order means nothing, every order of the same values was equally likely. All orders of few
values are tried; of more, random ones.
"""

from collections.abc import Callable
from functools import cache
from itertools import permutations
from typing import Final

import numpy as np
import numpy.typing as npt

from tiltyard.stats.types import FloatArray

IntArray = npt.NDArray[np.intp]

EXACT_MOST: Final = 8
"""Values of which all orders are tried: 40,320."""
ENOUGH: Final = 20
"""Permutations at least as extreme after which a p-value is known well enough to stop."""
_CHUNKS: Final = (100, 900, *(19 * [1000]))
"""Permutations made at once; few at first, because mostly they are enough."""
MOST: Final = sum(_CHUNKS)


def permutation_p(
    statistic: Callable[[FloatArray], FloatArray], values: FloatArray, seed: int
) -> float:
    """Chance that a random order has a statistic at least as large as the given one.

    Exact up to :data:`EXACT_MOST` values. Beyond it stops early where many orders have one: the
    p-value is then their number over that of the permutations made, which is as valid. Source:
    Besag and Clifford, "Sequential Monte Carlo p-values", Biometrika 78 (1991).

    Args:
        statistic: of the rows of an array of shape (m, n), shape (m,).
        values: in their order, shape (n,).
        seed: of the permutations; the same one gives the same p-value.
    """
    observed = statistic(values[None, :])[0]
    if len(values) <= EXACT_MOST:
        return float(np.mean(statistic(values[_orders(len(values))]) >= observed))
    rng = np.random.default_rng(seed)
    exceeding = made = 0
    for chunk in _CHUNKS:
        shuffled = rng.permuted(np.tile(values, (chunk, 1)), axis=1)
        reached = np.cumsum(statistic(shuffled) >= observed) + exceeding
        if reached[-1] >= ENOUGH:
            last = int(np.argmax(reached >= ENOUGH)) + 1
            return ENOUGH / (made + last)
        exceeding, made = int(reached[-1]), made + chunk
    return (exceeding + 1) / (MOST + 1)


@cache
def _orders(n: int) -> IntArray:
    """Every order of n values, shape (n!, n)."""
    return np.array(list(permutations(range(n))))


def largest_cusum(values: FloatArray) -> FloatArray:
    """Largest departure of the cumulative sum of centred rows from zero, shape (m,).

    Source: Page, "Continuous inspection schemes", Biometrika 41 (1954).
    """
    centred = values - values.mean(axis=1, keepdims=True)
    found: FloatArray = np.abs(np.cumsum(centred, axis=1)).max(axis=1)
    return found


def lag_one(values: FloatArray) -> FloatArray:
    """Autocorrelation of each row with itself, one place later, shape (m,)."""
    centred = values - values.mean(axis=1, keepdims=True)
    power = np.sum(centred**2, axis=1)
    product = np.sum(centred[:, 1:] * centred[:, :-1], axis=1)
    found: FloatArray = np.divide(product, power, out=np.zeros_like(power), where=power > 0)
    return found
