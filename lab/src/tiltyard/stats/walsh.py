"""Order statistics of the Walsh averages of many differences, without forming all of them.

The averages ``(d_i + d_j) / 2``, ``i <= j``, of n differences are n(n+1)/2: 50,000 differences have
10 GB of them. How many lie below a value is counted along the sorted differences, and a rank is
found by bisection.

Source: Johnson and Mizoguchi, "Selecting the kth element in X + Y and X1 + … + Xm", SIAM J. Comput.
7 (1978), of which this is the plain form.
"""

import numpy as np

from tiltyard.stats.types import FloatArray


def walsh_signs(ordered: FloatArray) -> tuple[int, int]:
    """How many averages are not negative, and how many are not positive.

    Args:
        ordered: the differences, shape (n,), ascending.
    """
    n = len(ordered)
    not_negative = n * n - int(np.searchsorted(ordered, -ordered, side="left").sum())
    not_positive = int(np.searchsorted(ordered, -ordered, side="right").sum())
    return (
        (not_negative + int(np.count_nonzero(ordered >= 0))) // 2,
        (not_positive + int(np.count_nonzero(ordered <= 0))) // 2,
    )


def walsh_average(ordered: FloatArray, rank: int) -> float:
    """The average of a rank, as exactly as sums of the differences are.

    Args:
        ordered: the differences, shape (n,), ascending and finite.
        rank: counted from 0, the smallest.
    """
    low, high = float(ordered[0]), float(ordered[-1])
    if _up_to(ordered, low) > rank:
        return low
    # Never more than ``rank`` averages up to ``low``, always more up to ``high``.
    while low < (middle := low + (high - low) / 2) < high:
        if _up_to(ordered, middle) > rank:
            high = middle
        else:
            low = middle
    return high


def _up_to(ordered: FloatArray, value: float) -> int:
    """How many averages are at most so large: pairs in both orders, and each with itself."""
    pairs = int(np.searchsorted(ordered, 2 * value - ordered, side="right").sum())
    return (pairs + int(np.searchsorted(ordered, value, side="right"))) // 2
