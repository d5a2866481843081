"""The ten kinds of noise that a host can make, as log values of equal systems, slot by slot.

A slot is a place in time in which one trial runs. What happens to the host (drift, wander, a step,
a burst) belongs to the slot; which system stands there is for the design to say.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from tiltyard.stats.types import FloatArray

SLOTS: Final = 60
"""Trials of the longest session: two systems in 30 blocks."""

_SHARE_OF_BURST: Final = 4
"""Slots that a burst lasts."""


class Draw(Protocol):
    """Draws sessions of one kind of host."""

    def __call__(self, rng: np.random.Generator, paths: int, slots: int = SLOTS, /) -> FloatArray:
        """Natural logarithms of values around 1, shape (paths, slots)."""


@dataclass(frozen=True)
class Scenario:
    """One kind of noise."""

    name: str
    """As the tables print it."""
    draw: Draw


def gaussian(cv: float) -> Draw:
    """Independent normal noise of the log values."""
    return lambda rng, paths, slots=SLOTS: rng.normal(0, cv, (paths, slots))


def linear_drift(rng: np.random.Generator, paths: int, slots: int = SLOTS) -> FloatArray:
    """Noise of 1 %, and a loss of 0.25 % from each trial to the next."""
    return gaussian(0.01)(rng, paths, slots) - 0.0025 * np.arange(slots)


def wander(rng: np.random.Generator, paths: int, slots: int = SLOTS) -> FloatArray:
    """Noise of 1 % on a level that wanders: AR(1) with a deviation of 3 % and a memory of 0.95."""
    memory, level = 0.95, rng.normal(0, 0.03, paths)
    found = np.empty((paths, slots))
    for slot in range(slots):
        found[:, slot] = level
        level = memory * level + rng.normal(0, 0.03 * np.sqrt(1 - memory**2), paths)
    return found + gaussian(0.01)(rng, paths, slots)


def step(rng: np.random.Generator, paths: int, slots: int = SLOTS) -> FloatArray:
    """Noise of 1 %, and everything 5 % slower from one slot on."""
    begun = np.arange(slots) >= rng.integers(0, slots, (paths, 1))
    return gaussian(0.01)(rng, paths, slots) + float(np.log(0.95)) * begun


def burst(rng: np.random.Generator, paths: int, slots: int = SLOTS) -> FloatArray:
    """Noise of 1 %, and four trials in a row that are 20 % slower."""
    since = np.arange(slots) - rng.integers(0, slots, (paths, 1))
    hit = (since >= 0) & (since < _SHARE_OF_BURST)
    return gaussian(0.01)(rng, paths, slots) + float(np.log(0.8)) * hit


def bimodal(rng: np.random.Generator, paths: int, slots: int = SLOTS) -> FloatArray:
    """Noise of 1 %, and three trials of ten are 10 % slower."""
    slow = rng.random((paths, slots)) < 0.3
    return gaussian(0.01)(rng, paths, slots) + float(np.log(0.9)) * slow


def stalls(rng: np.random.Generator, paths: int, slots: int = SLOTS) -> FloatArray:
    """Noise of 1 %, and one trial of ten is slower by an exponential with a mean of 15 %."""
    stalled = rng.random((paths, slots)) < 0.1
    return gaussian(0.01)(rng, paths, slots) - rng.exponential(0.15, (paths, slots)) * stalled


def heavy_tails(rng: np.random.Generator, paths: int, slots: int = SLOTS) -> FloatArray:
    """Student's t with two degrees of freedom, scale 1 %: no variance at all."""
    return 0.01 * rng.standard_t(2, (paths, slots))


NOISIEST: Final = Scenario("normal, CV 10 %", gaussian(0.10))
SCENARIOS: Final = (
    Scenario("normal, CV 1 %", gaussian(0.01)),
    Scenario("normal, CV 3 %", gaussian(0.03)),
    NOISIEST,
    Scenario("drift, −0.25 % each trial", linear_drift),
    Scenario("wander, AR(1) 3 %", wander),
    Scenario("one step of −5 %", step),
    Scenario("burst, 4 trials −20 %", burst),
    Scenario("bimodal, 30 % of trials −10 %", bimodal),
    Scenario("stalls, 10 % of trials", stalls),
    Scenario("heavy tails, Student t₂", heavy_tails),
)
"""In the order of the tables."""


def paired(slots: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Differences of two equal systems in random order within blocks of two slots.

    Args:
        slots: log values, shape (paths, slots).
        rng: throws one fair coin for each block.

    Returns:
        Second system minus first, shape (paths, slots // 2).
    """
    coin = rng.choice(np.array([-1.0, 1.0]), (slots.shape[0], slots.shape[1] // 2))
    return coin * (slots[:, 1::2] - slots[:, ::2])
