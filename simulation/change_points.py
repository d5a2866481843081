"""Change detection in a series of runs, as Apache Otava does it.

Sources: Matteson and James, "A nonparametric approach for multiple change point analysis of
multivariate data", JASA 109 (2014): the divergence and its hierarchical search; Fleming et al.,
"Hunter: Using Change Point Detection to Hunt for Performance Regressions", ICPE 2023: windows,
Student's t in the place of permutations, and the two steps. Written from these and from the
project's own description; held against Otava 0.8.0 by recorded series in the tests.
"""

import math
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tiltyard.stats.types import BoolArray, FloatArray, IntArray

WINDOW: Final = 50
MAX_P: Final = 0.001
"""Of a change that is reported; ``WINDOW`` and this are Otava's defaults."""
_WEAK: Final = 10
"""How many times larger p may be in the first step."""


def change_points(series: FloatArray) -> list[int]:
    """Places at which a change is reported: indices of the first run after each.

    Args:
        series: values of shape (runs,), in time order; the least relative change is zero.
    """
    runs = len(series)
    weak: set[int] = set()
    start = 0
    while start < runs:
        window = series[start : start + WINDOW]
        found = [start + place for place in _hierarchy(window)]
        weak.update(found)
        start = max([start + WINDOW // 2, *found[-1:]])
    return _confirmed(series, sorted(weak))


def _confirmed(series: FloatArray, points: list[int]) -> list[int]:
    """The second step: the weakest goes, again and again, until all are strong.

    With one that goes, the parts beside its neighbours grow. Of the neighbours' p-values, Otava
    0.8.0 computes only that of the later one anew.
    """

    def p_value(place: int) -> float:
        before, here, after = [0, *points, len(series)][place : place + 3]
        return _p(series[before:here], series[here:after])

    p_values = [p_value(place) for place in range(len(points))]
    while points and max(p_values) >= MAX_P:
        worst = int(np.argmax(p_values))
        del points[worst], p_values[worst]
        for place in range(worst, min(worst + 2, len(points))):
            p_values[place] = p_value(place)
    return points


def _hierarchy(window: FloatArray) -> list[int]:
    """Splits of one window: the most divergent segment is split as long as t tells its parts."""
    points: list[int] = []
    while True:
        edges = [0, *points, len(window)]
        segments = [(low, high) for low, high in pairwise(edges) if high - low > 1]
        if not segments:
            return points
        best = [(*_most_divergent(window[low:high]), low, high) for low, high in segments]
        _, place, low, high = max(best, key=lambda one: one[0])
        if not _p(window[low : low + place], window[low + place : high]) <= _WEAK * MAX_P:
            return points
        points = sorted([*points, low + place])


class _Grid(NamedTuple):
    """Where a segment of n runs can be split, and where its second part can end: (n − 1, n − 1)."""

    split: IntArray
    end: IntArray
    valid: BoolArray
    of_first: FloatArray
    of_second: FloatArray
    """Weights of the sums of distances within the parts."""


@cache
def _grid(n: int) -> _Grid:
    split, end = np.meshgrid(np.arange(1, n), np.arange(2, n + 1), indexing="ij")
    second = end - split
    return _Grid(
        split,
        end,
        second > 0,
        np.where(split > 1, second / np.maximum(split - 1, 1), 0.0),
        np.where(second > 1, split / np.maximum(second - 1, 1), 0.0),
    )


def _most_divergent(segment: FloatArray) -> tuple[float, int]:
    """The largest divergence of a first part from what follows it up to any end, and its place."""
    n = len(segment)
    at = _grid(n)
    sums = np.zeros((n + 1, n + 1))
    np.abs(segment[:, None] - segment).cumsum(0).cumsum(1, out=sums[1:, 1:])
    diagonal = sums.diagonal()
    first = diagonal[at.split] / 2
    between = sums[at.split, at.end] - diagonal[at.split]
    second = diagonal[at.end] / 2 - first - between
    divergence = 2 / at.end * (between - at.of_first * first - at.of_second * second)
    divergence[~at.valid] = 0.0
    place = int(np.argmax(divergence))
    return float(divergence.flat[place]), place // (n - 1) + 1


def _p(first: FloatArray, second: FloatArray) -> float:
    """Student's t with a common variance, of which each side's is divided by its own number."""
    from scipy.special import stdtr

    n, m = len(first), len(second)
    if n + m <= 2:
        return 1.0
    variance = ((n - 1) * first.var() + (m - 1) * second.var()) / (n + m - 2)
    apart = abs(first.mean() - second.mean())
    if variance == 0:
        return 0.0 if apart else 1.0
    return 2 * float(stdtr(n + m - 2, -apart / math.sqrt(variance * (1 / n + 1 / m))))
