"""Forecasts, and how often they come true.

Studies of all kinds: differences up to ±10 %, noises from 0.5 to 10 %, each as likely as any other.
Each has a pilot of five blocks, from which its looks are foreseen.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from tiltyard.stats.looks import LEVEL, LOOKS
from tiltyard.stats.planning import LIKELY, blocks_needed, expected_looks
from tiltyard.stats.sequential import RepeatedInterval, Spending
from tiltyard.stats.signed_rank import largest_c, signed_ranks
from tiltyard.stats.types import BoolArray, FloatArray

SPENDING: Final = Spending("standard", False, LOOKS["standard"])
LAST: Final = SPENDING.looks[-1][0]
ROPE: Final = math.log1p(0.02)
FAMILIES: Final = (1, 6, 15)
"""Comparisons of headlines that are corrected together."""
_PILOT: Final = 5
_AGAIN: Final = 10
"""Studies that follow each pilot."""
_DRAWS: Final = 40
"""Of each forecast: many forecasts average what few draws each leave open."""
_FARTHEST: Final = 400
"""Blocks beyond which a forecast is not waited for."""

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]
NOISES: Final[dict[str, Draw]] = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "Student t₃": lambda rng, shape: rng.standard_t(3, shape) / 1.7,
    "lognormal": lambda rng, shape: np.exp(0.5 * rng.normal(size=shape)),
    "bimodal": lambda rng, shape: -2.0 * (rng.random(shape) < 0.35) + 0.2 * rng.normal(size=shape),
}
"""Log values of one system, in deviations, by and large."""


@dataclass(frozen=True)
class ForecastRates:
    """One law of the noise and one size of the family; shares of studies."""

    noise: str
    family: int
    pilots: int
    foreseen: tuple[float, ...]
    """Decided by each look, as foreseen, on average."""
    true: tuple[float, ...]
    """Decided by each look."""

    @property
    def off(self) -> float:
        """The farthest that a forecast is off."""
        return max(abs(a - b) for a, b in zip(self.foreseen, self.true, strict=True))


@dataclass(frozen=True)
class LikelyRates:
    """Where it was said that so many more blocks would likely decide: how often they did."""

    noise: str
    family: int
    said: int
    """How often it was said."""
    came_true: float


@dataclass(frozen=True)
class Forecasts:
    """Both kinds of forecasts, in the same order."""

    looks: tuple[ForecastRates, ...]
    likely: tuple[LikelyRates, ...]


def look_forecast(noise: str, family: int, pilots: int, rng: np.random.Generator) -> ForecastRates:
    """What pilots foresee of every look, beside what then happens."""
    level = LEVEL / family
    sizes = np.exp(rng.uniform(math.log(0.005), math.log(0.1), (pilots, 1)))
    truths = rng.uniform(-0.1, 0.1, (pilots, 1))
    made = truths + sizes * _paired(noise, rng, (pilots, _PILOT))
    seeds = rng.integers(0, 2**32, pilots)
    foreseen = [
        [
            look.decided
            for look in expected_looks(
                own, SPENDING, rope=ROPE, level=level, power=0.9, seed=int(seed), draws=_DRAWS
            )
        ]
        for own, seed in zip(made, seeds, strict=True)
    ]
    later = sizes[:, None] * _paired(noise, rng, (pilots, _AGAIN, LAST))
    true = decided_by((truths[:, None] + later).reshape(-1, LAST), level).mean(axis=0)
    return ForecastRates(
        noise, family, pilots, tuple(np.mean(foreseen, axis=0).tolist()), tuple(true.tolist())
    )


def likely_forecast(noise: str, family: int, studies: int, rng: np.random.Generator) -> LikelyRates:
    """At every look that leaves a comparison open: whether the blocks that it names decide."""
    level = LEVEL / family
    came_true: list[bool] = []
    for _ in range(studies):
        truth = rng.uniform(-0.05, 0.05)
        size = np.exp(rng.uniform(math.log(0.01), math.log(0.06)))
        path = truth + size * _paired(noise, rng, (1, _FARTHEST))
        done = decided_by(path[:, :LAST], level)[0]
        for place, (blocks, _) in enumerate(SPENDING.looks):
            if done[place]:
                break
            if SPENDING.has_interval(place, level):
                needed = _needed(path[:, :blocks], place, level)
                if needed is not None:
                    came_true.append(_decides(path[:, :needed], done, level))
    return LikelyRates(
        noise, family, len(came_true), float(np.mean(came_true)) if came_true else math.nan
    )


def decided_by(differences: FloatArray, level: float) -> BoolArray:
    """Decided at each look or before, shape (paths, looks)."""
    decided = np.zeros((len(differences), len(SPENDING.looks)), dtype=np.bool_)
    for place, (blocks, _) in enumerate(SPENDING.looks):
        if SPENDING.has_interval(place, level):
            evidence = SPENDING.evidence(place, differences[:, :blocks], level)
            decided[:, place] = _is_decided(evidence.low, evidence.high)
    return np.logical_or.accumulate(decided, axis=1)


def _needed(path: FloatArray, place: int, level: float) -> int | None:
    """Blocks in all that are said to decide; ``None`` where they are too many to be waited for."""
    evidence = SPENDING.evidence(place, path, level)
    blocks = path.shape[1]
    low, high = float(evidence.low[0]), float(evidence.high[0])
    now = RepeatedInterval(blocks, float(evidence.estimate[0]), low, high, 0.5, 1 - level)
    total = blocks_needed(SPENDING, [now], ROPE, level)[0]
    return None if total is None or total > _FARTHEST else total


def _decides(path: FloatArray, done: BoolArray, level: float) -> bool:
    """Whether so many blocks decide: at a look of the design, or at the last one, moved there."""
    total = path.shape[1]
    if total <= LAST:
        return bool(done[[blocks for blocks, _ in SPENDING.looks].index(total)])
    nominal = SPENDING.nominal_level(len(SPENDING.looks) - 1, level)
    late = signed_ranks(path, largest_c(total, nominal))
    return bool(done[-1]) or bool(_is_decided(late.low, late.high)[0])


def _is_decided(low: FloatArray, high: FloatArray) -> BoolArray:
    return (low > 0) | (high < 0) | ((low > -ROPE) & (high < ROPE))


def _paired(noise: str, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    return NOISES[noise](rng, shape) - NOISES[noise](rng, shape)


def _simulate(paths: int, seed: int) -> Forecasts:
    """A forecast draws whole studies: there are fewer of them than of paths."""
    kinds = [(noise, family) for noise in NOISES for family in FAMILIES]
    streams = [np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(len(kinds))]
    pilots = max(2, paths // 25)
    return Forecasts(
        tuple(look_forecast(*kind, pilots, rng) for kind, rng in zip(kinds, streams, strict=True)),
        tuple(
            likely_forecast(*kind, pilots, rng) for kind, rng in zip(kinds, streams, strict=True)
        ),
    )


def _lines(found: Forecasts) -> list[Line]:
    return [
        Line("forecasts of a pilot: decided by a look, off by", "5 points",
             f"{percent(max(look.off for look in found.looks))} points"),
        Line('"so many more blocks needed (80 % chance)", and they decided', "75–95 %",
             span(one.came_true for one in found.likely)),
    ]  # fmt: skip


def _told(found: Forecasts) -> str:
    head = ("noise", "headlines", *(f"by {blocks}, %" for blocks, _ in SPENDING.looks),
            "farthest off, points", "likely, and it came true, %")  # fmt: skip
    rows = [
        (
            look.noise,
            f"{look.family}",
            *(
                f"{percent(a, 0)} ({percent(b, 0)})"
                for a, b in zip(look.foreseen, look.true, strict=True)
            ),
            percent(look.off),
            percent(likely.came_true, 0),
        )
        for look, likely in zip(found.looks, found.likely, strict=True)
    ]
    return f"""
## Forecasts

Studies with differences up to ±10 % and noises of 0.5 to 10 %, corrected for so many headlines.
From a pilot of {_PILOT} blocks: the chance that a comparison is decided by each look, as foreseen
and, in brackets, as it was; {found.looks[0].pilots} pilots of each kind. Last: how often the
blocks that would "likely" decide did so.

{table(head, rows)}

A forecast is made at the level that will judge, with difference and noise drawn from what so few
blocks leave open. It is right on average over studies, not in each of them. "Likely" means
{percent(LIKELY, 0)} %.
"""


SECTION: Final = Section("forecasts", _simulate, _told, _lines)
