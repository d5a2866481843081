"""A fair few of many."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def sample(items: Sequence[T], most: int) -> tuple[T, ...]:
    """All items, or one at random of each of ``most`` equal stretches; always the same ones.

    Not every so-and-so-many-th: in a grid those would all have one level of the inner axes.
    """
    if len(items) <= most:
        return tuple(items)
    rng = np.random.default_rng(0)
    bounds = np.linspace(0, len(items), most + 1).astype(int)
    return tuple(items[int(place)] for place in rng.integers(bounds[:-1], bounds[1:]))
